/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.c - traces of posts and arrivals, and their answers. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

struct qv_pp_trace qv_pp_trace_new(const char *const *class_names, size_t n)
{
	struct qv_pp_trace t = {.seed = 1};

	for (size_t c = 0; c < n; c++)
		t.class_name[c] = class_names[c];
	qv_match_settings_default(&t.settings);
	return t;
}

void qv_pp_phase(struct qv_pp_trace *t, enum qv_pp_op op, uint32_t classes)
{
	if (t->phases == QV_PP_PHASES)
		abort();
	t->phase[t->phases++] = (struct qv_pp_phase){op, 0, classes};
}

void qv_pp_op(struct qv_pp_trace *t, uint64_t tag, uint64_t ignore, uint32_t src)
{
	if (t->ops == t->room) {
		t->room = t->room ? 2 * t->room : 1024;
		t->key = realloc(t->key, t->room * sizeof(*t->key));
		t->answer = realloc(t->answer, t->room * sizeof(*t->answer));
		if (!t->key || !t->answer)
			abort();
	}
	t->key[t->ops++] = (struct qv_pp_key){tag, ignore, src};
	t->phase[t->phases - 1].n++;
}

/* Operations whose nodes wait, oldest first. */
struct queue {
	uint32_t *v;
	uint32_t first, n;
};

static bool accepts(const struct qv_pp_key *recv, const struct qv_pp_key *msg)
{
	return ((recv->tag ^ msg->tag) & ~recv->ignore) == 0 &&
	       (recv->src == msg->src || recv->src == QV_SRC_ANY);
}

/* The oldest that fits operation i, taken out, or QV_PP_NONE. */
static uint32_t take(struct queue *q, const struct qv_pp_trace *t, uint32_t i, enum qv_pp_op op)
{
	for (uint32_t j = q->first; j < q->n; j++) {
		uint32_t other = q->v[j];
		const struct qv_pp_key *recv = op == QV_PP_POST ? &t->key[i] : &t->key[other];
		const struct qv_pp_key *msg = op == QV_PP_POST ? &t->key[other] : &t->key[i];

		if (!accepts(recv, msg))
			continue;
		/* Move the shorter side. */
		if (j - q->first < q->n - j) {
			memmove(q->v + q->first + 1, q->v + q->first,
				(j - q->first) * sizeof(*q->v));
			q->first++;
		} else {
			memmove(q->v + j, q->v + j + 1, (q->n - j - 1) * sizeof(*q->v));
			q->n--;
		}
		return other;
	}
	return QV_PP_NONE;
}

void qv_pp_solve(struct qv_pp_trace *t)
{
	struct queue q[2] = {{0}};
	uint32_t i = 0;

	for (int k = 0; k < 2; k++) {
		q[k].v = malloc((t->ops + 1) * sizeof(*q[k].v));
		if (!q[k].v)
			abort();
	}
	for (uint32_t p = 0; p < t->phases; p++) {
		enum qv_pp_op op = t->phase[p].op;

		for (uint32_t k = 0; k < t->phase[p].n; k++, i++) {
			t->answer[i] = take(&q[!op], t, i, op);
			if (t->answer[i] == QV_PP_NONE)
				q[op].v[q[op].n++] = i;
		}
	}
	if (q[0].first != q[0].n || q[1].first != q[1].n) {
		fprintf(stderr, "quiver: a trace leaves entries behind\n");
		abort();
	}
	free(q[0].v);
	free(q[1].v);
}

void qv_pp_trace_free(struct qv_pp_trace *t)
{
	free(t->key);
	free(t->answer);
}

uint32_t qv_pp_draw(struct qv_pp_trace *t, uint32_t below)
{
	uint64_t z = t->seed += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return (uint32_t)(((z ^ z >> 31) >> 32) * below >> 32);
}

uint32_t *qv_pp_shuffled(struct qv_pp_trace *t, uint32_t n)
{
	uint32_t *v = malloc((n + 1) * sizeof(*v));

	if (!v)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = qv_pp_draw(t, i + 1);

		v[i] = v[j];
		v[j] = i;
	}
	return v;
}
