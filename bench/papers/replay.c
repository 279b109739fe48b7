/* SPDX-License-Identifier: BSD-2-Clause */
/* replay.c - a trace in memory, run over one engine, its answers compared. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#define NODE 128 /* room of a node, and the distance of nodes in order */
#define FAR  256 /* distance of scattered ones */

void qv_pp_lay_out(struct qv_pp_layout *l, const struct qv_pp_trace *t, bool scatter)
{
	size_t step = scatter ? FAR : NODE;
	struct qv_pp_trace drawn = {.seed = 17};
	uint32_t *order = qv_pp_shuffled(&drawn, t->ops);

	l->arena = aligned_alloc(4096, ((size_t)t->ops * (step + NODE) + 4095) & ~(size_t)4095);
	l->node = malloc((t->ops + 1) * sizeof(*l->node));
	l->want = malloc((t->ops + 1) * sizeof(*l->want));
	if (!l->arena || !l->node || !l->want)
		abort();
	memset(l->arena, 0, (size_t)t->ops * (step + NODE));
	for (uint32_t i = 0; i < t->ops; i++) {
		bool queued = t->answer[i] == QV_PP_NONE;

		l->node[i] = l->arena + (queued ? step * (scatter ? order[i] : i)
						: step * t->ops + (size_t)NODE * i);
	}
	for (uint32_t i = 0; i < t->ops; i++)
		l->want[i] = t->answer[i] == QV_PP_NONE ? NULL : l->node[t->answer[i]];
	free(order);
}

void qv_pp_layout_free(struct qv_pp_layout *l)
{
	free(l->arena);
	free(l->node);
	free(l->want);
}

static void fill_nodes(const struct qv_pp_layout *l, const struct qv_pp_trace *t)
{
	uint32_t i = 0;

	for (uint32_t p = 0; p < t->phases; p++) {
		for (uint32_t k = 0; k < t->phase[p].n; k++, i++) {
			const struct qv_pp_key *key = &t->key[i];

			if (t->phase[p].op == QV_PP_POST)
				*(struct qv_recv *)l->node[i] = (struct qv_recv){
					.tag = key->tag, .ignore = key->ignore, .src = key->src};
			else
				*(struct qv_msg *)l->node[i] =
					(struct qv_msg){.tag = key->tag, .src = key->src};
		}
	}
}

static uintptr_t post(struct qv_pp_run *r, uint32_t i, uint32_t n)
{
	uintptr_t sum = 0;

	for (; n; n--, i++) {
		struct qv_msg *msg = NULL;

		r->failed |= qv_match_post(r->m, r->l->node[i], &msg) != QV_OK;
		sum = sum * 31 + (uintptr_t)msg;
	}
	return sum;
}

static uintptr_t arrive(struct qv_pp_run *r, uint32_t i, uint32_t n)
{
	const struct qv_pp_key *key = r->t->key;
	uintptr_t sum = 0;

	for (; n; n--, i++) {
		struct qv_recv *recv = qv_match_arrive(r->m, key[i].tag, key[i].src);

		if (!recv)
			r->failed |= qv_match_queue(r->m, r->l->node[i]) != QV_OK;
		sum = sum * 31 + (uintptr_t)recv;
	}
	return sum;
}

static uintptr_t wanted(const struct qv_pp_layout *l, uint32_t i, uint32_t n)
{
	uintptr_t sum = 0;

	for (; n; n--, i++)
		sum = sum * 31 + (uintptr_t)l->want[i];
	return sum;
}

/* The trace once. false: an answer was wrong, or memory was short. */
bool qv_pp_run_trace(struct qv_pp_run *r)
{
	const struct qv_pp_trace *t = r->t;
	struct qv_match_stats s;
	uint32_t i = 0;

	for (uint32_t p = 0; p < t->phases; p++) {
		uint32_t n = t->phase[p].n;
		uint64_t before, start;
		uintptr_t sum;

		qv_match_get_stats(r->m, &s);
		before = s.inspected;
		start = qv_ticks();
		sum = t->phase[p].op == QV_PP_POST ? post(r, i, n) : arrive(r, i, n);
		r->ns[p] = (double)(qv_ticks() - start) * qv_bench_tick_ns();
		qv_match_get_stats(r->m, &s);
		r->seen[p] = s.inspected - before;
		if (sum != wanted(r->l, i, n) || r->failed)
			return false;
		i += n;
	}
	return true;
}

bool qv_pp_create(struct qv_pp_run *r, const char *structure)
{
	struct qv_match_settings s = r->t->settings;

	s.structure = structure;
	fill_nodes(r->l, r->t);
	r->failed = false;
	return qv_match_create(&s, &r->m) == QV_OK;
}

size_t qv_pp_classes(const struct qv_pp_trace *t)
{
	size_t n = 0;

	while (n < QV_PP_CLASSES && t->class_name[n])
		n++;
	return n;
}

uint32_t qv_pp_class_ops(const struct qv_pp_trace *t, size_t c)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < t->phases; p++)
		if (t->phase[p].classes >> c & 1)
			n += t->phase[p].n;
	return n;
}

double qv_pp_inspected(struct qv_pp *pp, const struct qv_pp_trace *t, const char *structure)
{
	struct qv_pp_layout l;
	struct qv_pp_run r = {.t = t, .l = &l};
	double seen = 0;

	qv_pp_lay_out(&l, t, false);
	if (!qv_pp_create(&r, structure)) {
		pp->wrong = true;
	} else {
		if (!qv_pp_run_trace(&r) || !qv_pp_run_trace(&r))
			pp->wrong = true;
		qv_match_destroy(r.m);
		for (uint32_t p = 0; p < t->phases; p++)
			if (t->phase[p].classes & 1)
				seen += (double)r.seen[p];
	}
	qv_pp_layout_free(&l);
	return seen / qv_pp_class_ops(t, 0);
}

const char *qv_pp_profile(struct qv_pp *pp, const uint32_t *counts, uint32_t n)
{
	FILE *file;

	if (!*pp->profile)
		qv_bench_memory_file(pp->profile, sizeof(pp->profile));
	file = fopen(pp->profile, "w");
	if (!file) {
		fprintf(stderr, "quiver: cannot write a profile to %s\n", pp->profile);
		exit(1);
	}
	for (uint32_t i = 0; i < n; i++)
		fprintf(file, "%u %u\n", i, counts[i]);
	if (fclose(file)) {
		fprintf(stderr, "quiver: cannot write %s\n", pp->profile);
		exit(1);
	}
	return pp->profile;
}
