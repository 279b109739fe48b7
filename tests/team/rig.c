/* SPDX-License-Identifier: BSD-2-Clause */
/* rig.c - see rig.h. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processes. */

struct start {
	uint32_t ranks, rank;
	uint64_t name;
	void (*body)(struct rig_member *, const void *);
	const void *arg;
};

static void turn(void *owner)
{
	((struct rig_member *)owner)->turns++;
}

static void live(int fd, const void *arg)
{
	const struct start *s = arg;
	struct rig_member m = {.rank = s->rank, .ranks = s->ranks, .fd = fd};
	const struct qv_team_spec spec = {.name = s->name,
					  .rank = s->rank,
					  .ranks = s->ranks,
					  .oversubscribed =
						  s->ranks > sysconf(_SC_NPROCESSORS_ONLN),
					  .progress = turn,
					  .owner = &m};

	QV_NEED(!qv_team_open(&spec, &m.team));
	kin_say(fd, 1);
	kin_hear(fd);
	if (!m.rank)
		QV_NEED(!qv_team_give(m.team));
	kin_say(fd, 2);
	kin_hear(fd);
	if (m.rank)
		QV_NEED(!qv_team_take(m.team));
	kin_say(fd, 3);
	kin_hear(fd);
	s->body(&m, s->arg);
	qv_team_close(m.team);
}

void rig_start(struct rig *r, uint32_t ranks, void (*body)(struct rig_member *, const void *),
	       const void *arg)
{
	struct start s = {ranks, 0, qv_proc_random(), body, arg};

	r->ranks = ranks;
	for (s.rank = 0; s.rank < ranks; s.rank++)
		kin_start(&r->kin[s.rank], live, &s);
	for (unsigned step = 0; step < 3; step++) {
		for (uint32_t i = 0; i < ranks; i++)
			kin_hear(r->kin[i].fd);
		for (uint32_t i = 0; i < ranks; i++)
			kin_say(r->kin[i].fd, step);
	}
}

void rig_end(struct rig *r)
{
	for (uint32_t i = 0; i < r->ranks; i++)
		kin_end(&r->kin[i]);
}

/* Calls. An element is a map x -> ax + b of numbers modulo 2^32; one after the other does not
 * commute. Else both parts are added. */

struct map {
	uint32_t a, b;
};

static void combine(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const bool ordered = *(const bool *)context;
	const struct map *x = a, *y = b;
	struct map *z = dst;

	for (size_t i = 0; i < count; i++) {
		const struct map p = x[i], q = y[i];

		z[i] = ordered ? (struct map){p.a * q.a, p.a * q.b + p.b}
			       : (struct map){p.a + q.a, p.b + q.b};
	}
}

/* What a rank says to another one, or to all. */
static struct map value(const struct rig_call *call, uint32_t from, uint32_t to, size_t i)
{
	const uint32_t x = call->number * 2654435761u + from * 40503u + to * 65599u + (uint32_t)i;

	return (struct map){2 * (x * 2246822519u) + 1, x * 3266489917u};
}

static struct map answer(const struct rig_call *call, const struct rig_member *m, size_t i)
{
	const size_t block = i / call->count, at = i % call->count;
	struct map all = value(call, m->ranks - 1, 0, i);

	switch (call->kind) {
	case QV_TEAM_BROADCAST: return value(call, call->root, 0, i);
	case QV_TEAM_ALLGATHER: return value(call, (uint32_t)block, 0, at);
	case QV_TEAM_ALLTOALL: return value(call, (uint32_t)block, m->rank, at);
	default: break;
	}
	for (uint32_t r = m->ranks - 1; r-- > 0;) {
		const struct map one = value(call, r, 0, i);

		combine((void *)(uintptr_t)&call->ordered, &all, &one, &all, 1);
	}
	return all;
}

static bool has_result(const struct rig_call *call, const struct rig_member *m)
{
	return call->kind != QV_TEAM_REDUCE || m->rank == call->root;
}

static void fill(const struct rig_call *call, const struct rig_member *m, struct map *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		in[i] = call->kind == QV_TEAM_ALLTOALL
				? value(call, m->rank, (uint32_t)(i / call->count), i % call->count)
				: value(call, m->rank, 0, i);
}

int rig_run(struct rig_member *m, const struct rig_call *call)
{
	const bool blocks = call->kind == QV_TEAM_ALLGATHER || call->kind == QV_TEAM_ALLTOALL;
	const size_t n_out = call->count * (blocks ? m->ranks : 1);
	const size_t n_in = call->kind == QV_TEAM_ALLTOALL ? n_out : call->count;
	struct map *out = malloc((n_out + 1) * sizeof *out), *in = malloc((n_in + 1) * sizeof *in);
	struct map *from = in;
	struct qv_team_call made = {.kind = call->kind,
				    .root = call->root,
				    .count = call->count,
				    .item = sizeof(struct map),
				    .combine = combine,
				    .context = (void *)(uintptr_t)&call->ordered};
	int rc;

	QV_NEED(out && in);
	memset(out, 0xa5, (n_out + 1) * sizeof *out);
	if (call->in_place || call->kind == QV_TEAM_BROADCAST)
		from = call->kind == QV_TEAM_ALLGATHER ? out + m->rank * call->count : out;
	if (call->kind != QV_TEAM_BROADCAST || m->rank == call->root)
		fill(call, m, from, n_in);
	made.in = from;
	made.out = out;
	rc = qv_team_start(m->team, &made);
	if (!rc)
		rc = qv_team_wait(m->team);
	for (size_t i = 0; !rc && has_result(call, m) && i < n_out && call->kind != QV_TEAM_BARRIER;
	     i++) {
		const struct map right = answer(call, m, i);

		QV_NEED(out[i].a == right.a && out[i].b == right.b);
	}
	QV_NEED(out[n_out].a == 0xa5a5a5a5u && out[n_out].b == 0xa5a5a5a5u);
	free(out);
	free(in);
	return rc;
}
