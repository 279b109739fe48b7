/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_offload_calibrate.c - from which size on the device gains, on this machine: both ways are
 * timed as they are used, from queues and arrays in memory back to them. A device that is this CPU
 * is not tried on the largest sizes, which take it long and the CPU not.
 */
#include "qv_offload_i.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 3
/* The device has to be faster by so much. */
#define GAIN 0.9

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* ---- match ----------------------------------------------------------------------------------- */
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

/* The better of some turns each; cpu and device in turn. */
static void best_match(struct qv_offload *o, size_t n, double *cpu, double *device)
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

/* *cpu and *device: at the largest size that was tried. */
static size_t find_batch(struct qv_offload *o, double *cpu, double *device, size_t *at)
{
	static const size_t sizes[] = {64, 512, 4096, 32768};
	const size_t n = o->set.ops->caps(o->dev)->is_cpu ? 2 : 4;
	size_t from = SIZE_MAX;

	for (size_t i = 0; i < n && o->stats.state == QV_OFFLOAD_OPEN; i++) {
		best_match(o, sizes[i], cpu, device);
		*at = sizes[i];
		if (*device > GAIN * *cpu)
			from = SIZE_MAX;
		else if (from == SIZE_MAX)
			from = sizes[i];
	}
	return from;
}

/* ---- combine --------------------------------------------------------------------------------- */
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

static size_t find_bytes(struct qv_offload *o, double *cpu, double *device, size_t *at)
{
	static const size_t sizes[] = {(size_t)64 << 10, (size_t)1 << 20, (size_t)16 << 20};
	const size_t n = o->set.ops->caps(o->dev)->is_cpu ? 2 : 3;
	const struct qv_combine *combine;
	float *a = calloc(1, sizes[n - 1]), *b = calloc(1, sizes[n - 1]);
	size_t from = SIZE_MAX;

	qv_combine_open(QV_ISA_AUTO, &combine);
	for (size_t i = 0; a && b && i < n && o->stats.state == QV_OFFLOAD_OPEN; i++) {
		for (int turn = 0; turn < TURNS; turn++) {
			const size_t count = sizes[i] / sizeof(*a);
			const double c = time_combine(o, combine, a, b, count, 0);
			const double d = time_combine(o, combine, a, b, count, 1);

			*cpu = turn && *cpu < c ? *cpu : c;
			*device = turn && *device < d ? *device : d;
		}
		*at = sizes[i];
		if (*device > GAIN * *cpu)
			from = SIZE_MAX;
		else if (from == SIZE_MAX)
			from = sizes[i];
	}
	free(a);
	free(b);
	return from;
}

/* ---- both ------------------------------------------------------------------------------------ */
void qv_offload_calibrate(struct qv_offload *o)
{
	const size_t batch = o->set.min_batch, bytes = o->set.min_bytes;
	double cpu[2] = {0, 0}, device[2] = {0, 0};
	size_t at[2] = {0, 0}, found[2];
	char name[128];

	memcpy(name, o->set.ops->caps(o->dev)->name, sizeof(name));
	o->set.calibrate = 0;
	o->set.min_batch = o->set.min_bytes = 1;
	found[0] = find_batch(o, &cpu[0], &device[0], &at[0]);
	found[1] = find_bytes(o, &cpu[1], &device[1], &at[1]);
	o->set.min_batch = batch != SIZE_MAX ? batch : found[0];
	o->set.min_bytes = bytes != SIZE_MAX ? bytes : found[1];
	if (o->stats.state != QV_OFFLOAD_OPEN)
		return;
	o->stats = (struct qv_offload_stats){.state = QV_OFFLOAD_OPEN};
	o->tried = 0;
	qv_offload_say(o, 0,
		       "offload auto: %s takes %.0f us for %zu messages, the CPU %.0f; %.0f us for "
		       "%zu bytes, the CPU %.0f: %s",
		       name, device[0], at[0], cpu[0], device[1], at[1], cpu[1],
		       o->set.min_batch == SIZE_MAX && o->set.min_bytes == SIZE_MAX
			       ? "the CPU does everything"
		       : o->set.min_bytes == SIZE_MAX ? "the device matches large batches"
		       : o->set.min_batch == SIZE_MAX ? "the device combines long arrays"
						      : "the device does what is large");
	if (o->set.min_batch == SIZE_MAX && o->set.min_bytes == SIZE_MAX)
		qv_offload_give_up(o);
}
