/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calibrate.c - from which size on the device gains, on this machine: both ways are
 * timed as they are used, from queues and arrays in memory back to them. A device that is this CPU
 * is not tried on the largest sizes, which take it long and the CPU not.
 */
#include "internal.h"
#include "engine/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 3
/* The device has to be faster by so much. */
#define GAIN 0.9

static double now_us(void)
{
	return 1e6 * qv_clock_seconds();
}

/* Match. */

struct nodes {
	struct qv_recv *recvs, **took;
	struct qv_msg *msgs, **pmsgs;
};

static int get_nodes(struct nodes *x, size_t n)
{
	x->recvs = calloc(n, sizeof(*x->recvs));
	x->msgs = calloc(n, sizeof(*x->msgs));
	x->took = calloc(n, sizeof(*x->took));
	x->pmsgs = calloc(n, sizeof(*x->pmsgs));
	return x->recvs && x->msgs && x->took && x->pmsgs ? QV_OK : QV_ENOMEM;
}

static void free_nodes(struct nodes *x)
{
	free(x->recvs);
	free(x->msgs);
	free(x->took);
	free(x->pmsgs);
}

/* n receives with tags of their own are posted; how long their messages, in another order, take. */
static double time_match(struct qv_offload *o, struct qv_match *engine, struct nodes *x, size_t n,
			 int device)
{
	double start;

	for (size_t i = 0; i < n; i++) {
		struct qv_msg *none;

		x->recvs[i] = (struct qv_recv){.tag = i};
		x->msgs[i] = (struct qv_msg){.tag = (i * 7919 + 13) % n};
		x->pmsgs[i] = &x->msgs[i];
		if (qv_match_post(engine, &x->recvs[i], &none))
			return 0;
	}
	start = now_us();
	if (device)
		qv_offload_arrive_many(o, engine, x->pmsgs, n, x->took);
	else
		qv_match_arrive_many(engine, x->pmsgs, n, x->took);
	return now_us() - start;
}

/* The better of some turns each; CPU and device in turn. */
static void measure_match(struct qv_offload *o, size_t n, double *cpu, double *device)
{
	struct qv_match *engine = NULL;
	struct nodes x = {NULL, NULL, NULL, NULL};

	*cpu = *device = 0;
	if (get_nodes(&x, n) == QV_OK && qv_match_create(NULL, &engine) == QV_OK) {
		for (int turn = 0; turn < TURNS; turn++) {
			const double c = time_match(o, engine, &x, n, 0);
			const double d = time_match(o, engine, &x, n, 1);

			*cpu = turn && *cpu < c ? *cpu : c;
			*device = turn && *device < d ? *device : d;
		}
	}
	qv_match_destroy(engine);
	free_nodes(&x);
}

/* Combine. */

static double time_combine(struct qv_offload *o, const struct qv_combine *combine, float *a,
			   const float *b, size_t count, int device)
{
	const double start = now_us();

	if (device)
		qv_offload_combine(o, combine, QV_OP_SUM, QV_TYPE_FLOAT, a, a, b, count);
	else
		qv_combine(combine, QV_OP_SUM, QV_TYPE_FLOAT, a, b, count);
	return now_us() - start;
}

static void measure_combine(struct qv_offload *o, size_t bytes, double *cpu, double *device)
{
	float *a = calloc(1, bytes), *b = calloc(1, bytes);
	const struct qv_combine *combine;

	*cpu = *device = 0;
	qv_combine_open(QV_ISA_AUTO, &combine);
	for (int turn = 0; a && b && turn < TURNS; turn++) {
		const size_t count = bytes / sizeof(*a);
		const double c = time_combine(o, combine, a, b, count, 0);
		const double d = time_combine(o, combine, a, b, count, 1);

		*cpu = turn && *cpu < c ? *cpu : c;
		*device = turn && *device < d ? *device : d;
	}
	free(a);
	free(b);
}

/* Both. */

/* What was found: from which size on the device gains, and the figures of the largest that was
 * tried. */
struct found {
	size_t from, at;
	double cpu, device;
};

static void find(struct qv_offload *o, int bytes, struct found *f)
{
	static const size_t batches[] = {64, 512, 4096, 32768};
	static const size_t lengths[] = {(size_t)64 << 10, (size_t)1 << 20, (size_t)16 << 20};
	const int is_cpu = o->set.ops->caps(o->dev)->is_cpu != 0;
	const size_t *sizes = bytes ? lengths : batches, n = is_cpu ? 2 : bytes ? 3 : 4;

	for (size_t i = 0; i < n && o->stats.state == QV_OFFLOAD_OPEN; i++) {
		const uint64_t failed = o->stats.failed;

		f->at = sizes[i];
		if (o->set.measure)
			o->set.measure(o->set.context, bytes, sizes[i], &f->cpu, &f->device);
		else if (bytes)
			measure_combine(o, sizes[i], &f->cpu, &f->device);
		else
			measure_match(o, sizes[i], &f->cpu, &f->device);
		/* No memory to measure with, or some of it was done by the CPU: no gain is seen. */
		if (!(f->device > 0) || f->device > GAIN * f->cpu || o->stats.failed != failed)
			f->from = SIZE_MAX;
		else if (f->from == SIZE_MAX)
			f->from = sizes[i];
	}
}

/* "12 us for 64 messages, the CPU 3; " */
static void describe(char *text, size_t room, const struct found *f, const char *what)
{
	text[0] = 0;
	if (f->at)
		snprintf(text, room, "%.0f us for %zu %s, the CPU %.0f; ", f->device, f->at, what,
			 f->cpu);
}

void qv_offload_calibrate(struct qv_offload *o)
{
	struct found batch = {.from = o->set.min_batch}, bytes = {.from = o->set.min_bytes};
	const uint32_t check_every = o->set.check_every;
	char name[128], text[2][128];
	int matches, combines;

	memcpy(name, o->set.ops->caps(o->dev)->name, sizeof(name));
	o->set.calibrate = 0;
	o->set.min_batch = o->set.min_bytes = 1;
	/* What the CPU does to check is not the device's time. */
	o->set.check_every = UINT32_MAX;
	o->tried = QV_OFFLOAD_CHECK_FIRST;
	if (batch.from == SIZE_MAX)
		find(o, 0, &batch);
	if (bytes.from == SIZE_MAX)
		find(o, 1, &bytes);
	o->set.min_batch = batch.from;
	o->set.min_bytes = bytes.from;
	o->set.check_every = check_every;
	o->tried = 0;
	if (o->stats.state != QV_OFFLOAD_OPEN)
		return;
	o->stats = (struct qv_offload_stats){.state = QV_OFFLOAD_OPEN};
	describe(text[0], sizeof(text[0]), &batch, "messages");
	describe(text[1], sizeof(text[1]), &bytes, "bytes");
	matches = batch.from < QV_OFFLOAD_NEVER;
	combines = bytes.from < QV_OFFLOAD_NEVER;
	qv_offload_say(o, 0, "offload auto: %s: %s%sthe %s", name, text[0], text[1],
		       matches && combines ? "device does what is large"
		       : matches           ? "device matches large batches"
		       : combines          ? "device combines long arrays"
					   : "CPU does everything");
	if (!matches && !combines)
		qv_offload_give_up(o);
}
