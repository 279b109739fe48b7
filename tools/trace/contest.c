/* SPDX-License-Identifier: BSD-2-Clause */
/* contest.c - implementations on all lanes. */
#include "contest.h"
#include "engine/base/clock.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_OPS 4096 /* of a lane: shorter ones are repeated in a turn */
#define REPEATS   64   /* at most */

void *qv_measure_need(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "quiver: no memory to measure this trace; --rank and --lane load less\n");
	exit(1);
}

static void drop(struct qv_contestant *one, const char *why)
{
	one->in = false;
	one->rounds = one->samples_n = 0; /* half a set of figures would look like a result */
	snprintf(one->answer, sizeof(one->answer), "%s", why);
}

static bool needs_collective(const struct qv_bm_impl *impl)
{
	return impl->own && strncmp(impl->structure, "col", 3) == 0;
}

void qv_contest_begin(struct qv_contest *c, struct qv_tag_bits collective)
{
	size_t stride = QV_BM_LINE;

	c->n = c->impls.n;
	c->at = qv_measure_need(calloc(c->n, sizeof(*c->at)));
	c->sources = qv_measure_need(calloc(c->load->lanes_n, sizeof(*c->sources)));
	for (size_t i = 0; i < c->load->lanes_n; i++)
		if (!qv_lane_sources(&c->sources[i], &c->load->lanes[i]))
			qv_measure_need(NULL);
	for (size_t i = 0; i < c->n; i++) {
		struct qv_contestant *one = &c->at[i];
		struct qv_bm_impl *impl = &c->impls.at[i];

		one->impl = impl;
		impl->settings.collective_mask = collective.mask;
		impl->settings.collective_op = collective.op;
		while (stride < impl->ops.node_size)
			stride += QV_BM_LINE;
	}
	c->arena.stride = stride;
}

void qv_contest_end(struct qv_contest *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->at[i].means);
		free(c->at[i].process_ns);
		free(c->at[i].samples);
	}
	for (size_t i = 0; i < c->load->lanes_n; i++)
		free(c->sources[i].at);
	free(c->at);
	free(c->sources);
	qv_pass_arena_free(&c->arena);
}

size_t qv_contest_ops(const struct qv_contest *c, const struct qv_load_lane *lane)
{
	size_t ops = (size_t)(c->share * (double)lane->ops_n);

	return ops > lane->ops_n ? lane->ops_n : ops ? ops : 1;
}

/* A fresh engine for a lane. False: there is none, and the contestant is out. */
static bool begin(struct qv_contest *c, struct qv_contestant *one, size_t lane, struct qv_pass *p)
{
	struct qv_bm_impl *impl = &c->impls.at[one - c->at];

	*p = (struct qv_pass){.impl = impl, .lane = &c->load->lanes[lane]};
	p->ops_n = qv_contest_ops(c, p->lane);
	impl->settings.sources = c->sources[lane].n;
	if (!qv_pass_arena_fits(&c->arena, c->arena.stride, p->lane))
		qv_measure_need(NULL);
	if (impl->own && impl->settings.profile &&
	    !qv_lane_sources_write(&c->sources[lane], impl->settings.profile)) {
		drop(one, "no profile can be written");
		return false;
	}
	if (qv_pass_begin(p, &c->arena))
		return true;
	drop(one, "cannot be created");
	return false;
}

static void say_wrong(struct qv_contest *c, struct qv_contestant *one, size_t lane, size_t op)
{
	const struct qv_load_lane *l = &c->load->lanes[lane];
	char why[sizeof(one->answer)], name[64], src[16] = "any";

	if (l->ops[op].src != QV_SRC_ANY)
		snprintf(src, sizeof(src), "%u", l->ops[op].src);
	snprintf(why, sizeof(why), "wrong: %s, event %u, tag 0x%llx, source %s",
		 qv_load_lane_name(c->load, l, name, sizeof(name)), l->event[op],
		 (unsigned long long)l->ops[op].tag, src);
	drop(one, why);
	one->wrong = true;
}

static const char *unfit(const struct qv_contest *c, const struct qv_contestant *one)
{
	const char *why = NULL;

	if (needs_collective(one->impl) && !one->impl->settings.collective_mask)
		return "a trace does not tell which messages are collective; --collective does";
	for (size_t i = 0; i < c->load->lanes_n && !why; i++)
		why = qv_pass_unfit(one->impl, &c->load->lanes[i]);
	return why;
}

double qv_contest_check(struct qv_contest *c, struct qv_contestant *one, double ns)
{
	const double begun = (double)qv_clock_cpu_ns();
	const char *why = unfit(c, one);
	size_t all = 0, before = 0;
	char text[sizeof(one->answer)];

	one->in = !why;
	one->counts = (struct qv_pass_counts){.done = 0};
	if (why) {
		drop(one, why);
		return 1;
	}
	snprintf(one->answer, sizeof(one->answer), "checked");
	for (size_t i = 0; i < c->load->lanes_n; i++)
		all += qv_contest_ops(c, &c->load->lanes[i]);
	for (size_t i = 0; i < c->load->lanes_n; i++) {
		const uint64_t memory = one->counts.memory;
		struct qv_pass p;
		int rc;

		if (!begin(c, one, i, &p))
			return 1;
		one->counts.memory = 0;
		rc = qv_pass_check(&p, ns - ((double)qv_clock_cpu_ns() - begun), &one->counts);
		qv_pass_end(&p);
		one->counts.memory += memory;
		if (rc < 0) {
			say_wrong(c, one, i, one->counts.done - before);
			return 1;
		}
		if (rc > 0) {
			snprintf(text, sizeof(text), "too slow: %zu of %zu operations in %.1f s",
				 one->counts.done, all, ns / 1e9);
			drop(one, text);
			return (double)one->counts.done / (double)all;
		}
		before = one->counts.done;
	}
	return 1;
}

/* Turns. */

static float *room_for(struct qv_contestant *one, size_t pieces)
{
	if (one->samples_n + pieces > one->samples_room) {
		one->samples_room = 2 * one->samples_room + pieces;
		one->samples = qv_measure_need(
			realloc(one->samples, one->samples_room * sizeof(*one->samples)));
	}
	return one->samples + one->samples_n;
}

/* ns of a lane, or -1: the contestant is out. */
static double time_lane(struct qv_contest *c, struct qv_contestant *one, size_t lane)
{
	size_t ops = qv_contest_ops(c, &c->load->lanes[lane]), repeats = SHORT_OPS / ops;
	double ns = 0;

	repeats = repeats > REPEATS ? REPEATS : repeats ? repeats : 1;
	for (size_t i = 0; i < repeats; i++) {
		struct qv_pass p;
		double mine;

		if (!begin(c, one, lane, &p))
			return -1;
		mine = qv_pass_time(&p, room_for(one, qv_pass_pieces(ops)));
		qv_pass_end(&p);
		if (mine < 0) {
			drop(one, "wrong answer while timed");
			one->wrong = true;
			return -1;
		}
		one->samples_n += qv_pass_pieces(ops);
		ns += mine;
	}
	return ns / (double)repeats;
}

void qv_contest_turn(struct qv_contest *c, struct qv_contestant *one)
{
	const size_t processes = c->load->processes_n, round = one->rounds;
	double *mine, ns = 0;
	size_t ops = 0;

	if (!one->in)
		return;
	one->means = qv_measure_need(realloc(one->means, (round + 1) * sizeof(*one->means)));
	one->process_ns = qv_measure_need(
		realloc(one->process_ns, (round + 1) * processes * sizeof(*one->process_ns)));
	mine = one->process_ns + round * processes;
	memset(mine, 0, processes * sizeof(*mine));
	for (size_t i = 0; i < c->load->lanes_n; i++) {
		const double lane = time_lane(c, one, i);

		if (lane < 0)
			return;
		mine[c->load->lanes[i].info.process] += lane;
		ns += lane;
		ops += qv_contest_ops(c, &c->load->lanes[i]);
	}
	one->means[one->rounds++] = ns / (double)ops;
}
