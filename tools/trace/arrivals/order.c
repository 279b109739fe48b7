/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.c - when a message may arrive. Not before the one that its sender has sent before it; and not
 * before a call has its own message, or has ended without one, that was posted earlier than the
 * receive of this message and accepts it, too: it would have got this one.
 */
#include "calls.h"

#include <stdlib.h>

#include <quiver/types.h>

#define ANY UINT32_MAX /* as a tag of a group; QV_SRC_ANY is the same as a source */

struct key {
	uint32_t src, comm, tag;
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_keys(struct key a, struct key b)
{
	const int by_src = compare(a.src, b.src), by_comm = compare(a.comm, b.comm);

	return by_src ? by_src : by_comm ? by_comm : compare(a.tag, b.tag);
}

/* What a call accepts. */
static struct key key_of(const struct qv_calls_call *c)
{
	return (struct key){c->src, c->comm, c->any_tag ? ANY : c->tag};
}

static int by_time(const void *a, const void *b, void *ctx)
{
	const struct qv_calls_message *all = ctx;
	const struct qv_calls_message *m = &all[*(const uint32_t *)a - 1];
	const struct qv_calls_message *n = &all[*(const uint32_t *)b - 1];

	return m->ns != n->ns         ? compare(m->ns, n->ns)
	       : m->order != n->order ? compare(m->order, n->order)
				      : compare((uintptr_t)m, (uintptr_t)n);
}

static int by_stream(const void *a, const void *b, void *ctx)
{
	const struct qv_calls_message *all = ctx;
	const struct qv_calls_message *m = &all[*(const uint32_t *)a - 1];
	const struct qv_calls_message *n = &all[*(const uint32_t *)b - 1];
	const int keys =
		compare_keys((struct key){m->src, m->comm, 0}, (struct key){n->src, n->comm, 0});

	return keys ? keys : compare(m->order, n->order);
}

static int by_key(const void *a, const void *b, void *ctx)
{
	const struct qv_calls_call *all = ctx;
	const uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	const int keys = compare_keys(key_of(&all[m - 1]), key_of(&all[n - 1]));

	return keys ? keys : compare(m, n);
}

/* Messages. */

static void find_before(struct qv_calls_walk *w)
{
	uint32_t *order = w->by_time; /* for the while */

	for (uint32_t i = 0; i < w->sent; i++)
		order[i] = i + 1;
	qsort_r(order, w->sent, sizeof(*order), by_stream, w->messages);
	for (uint32_t i = 1; i < w->sent; i++) {
		struct qv_calls_message *m = &w->messages[order[i] - 1];
		const struct qv_calls_message *before = &w->messages[order[i - 1] - 1];

		if (before->src == m->src && before->comm == m->comm)
			m->before = order[i - 1];
	}
}

/* The groups. */

static void make_groups(struct qv_calls_walk *w)
{
	const struct qv_calls_call *calls = w->rank->calls;

	for (uint32_t i = 0; i < w->rank->calls_n; i++)
		if (!calls[i].is_left_out)
			w->grouped[w->grouped_n++] = i + 1;
	qsort_r(w->grouped, w->grouped_n, sizeof(*w->grouped), by_key, w->rank->calls);
	for (uint32_t i = 0; i < w->grouped_n; i++) {
		const struct qv_calls_call *c = &calls[w->grouped[i] - 1];

		if (!i || compare_keys(key_of(c), key_of(&calls[w->grouped[i - 1] - 1])))
			w->groups[w->groups_n++] = (struct qv_calls_group){.first = i};
		w->groups[w->groups_n - 1].n++;
	}
}

/* Its number from 1 on; 0: there is none. */
static uint32_t find_group(const struct qv_calls_walk *w, struct key key)
{
	uint32_t low = 0, high = w->groups_n;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		const uint32_t call = w->grouped[w->groups[mid].first];
		const int order = compare_keys(key_of(&w->rank->calls[call - 1]), key);

		if (!order)
			return mid + 1;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return 0;
}

bool qv_calls_order(struct qv_calls_walk *w)
{
	w->by_time = malloc((w->messages_n + 1) * sizeof(*w->by_time));
	w->stack = malloc((w->messages_n + 1) * sizeof(*w->stack));
	w->grouped = malloc((w->rank->calls_n + 1) * sizeof(*w->grouped));
	w->groups = malloc((w->rank->calls_n + 1) * sizeof(*w->groups));
	if (!w->by_time || !w->stack || !w->grouped || !w->groups)
		return qv_trace_no_memory();
	find_before(w);
	for (uint32_t i = 0; i < w->messages_n; i++)
		w->by_time[i] = i + 1;
	qsort_r(w->by_time, w->messages_n, sizeof(*w->by_time), by_time, w->messages);
	make_groups(w);
	for (uint32_t i = 0; i < w->messages_n; i++) {
		struct qv_calls_message *m = &w->messages[i];

		for (int wild = 0; wild < 4; wild++)
			m->group[wild] =
				find_group(w, (struct key){wild & 1 ? QV_SRC_ANY : m->src, m->comm,
							   wild & 2 ? ANY : m->tag});
	}
	return true;
}

static const struct qv_calls_call *call_of(const struct qv_calls_walk *w, uint32_t index)
{
	return &w->rank->calls[index - 1];
}

/* An open call of the group that was posted before `taker`, and neither takes nor sees the message: the
 * last one if that is open, for as long as it is nothing changes, or else the first one; 0: none. */
static uint32_t open_before(const struct qv_calls_walk *w, struct qv_calls_group *g, uint32_t taker,
			    uint32_t message)
{
	const uint32_t *calls = w->grouped + g->first;
	uint32_t low = g->open, high = g->n;

	while (low < g->n && call_of(w, calls[low])->is_closed)
		low++;
	g->open = low;
	if (low == g->n || calls[low] >= taker)
		return 0;
	while (high - low > 1) { /* calls[low] < taker, calls[high] is not */
		const uint32_t mid = low + (high - low) / 2;

		if (calls[mid] < taker)
			low = mid;
		else
			high = mid;
	}
	while (low > g->open && call_of(w, calls[low])->message == message)
		low--;
	if (!call_of(w, calls[low])->is_closed && call_of(w, calls[low])->message != message)
		return calls[low];
	for (low = g->open; low < g->n && calls[low] < taker; low++)
		if (!call_of(w, calls[low])->is_closed &&
		    call_of(w, calls[low])->message != message)
			return calls[low];
	return 0;
}

struct qv_calls_blocker qv_calls_blocker(const struct qv_calls_walk *w, uint32_t message)
{
	const struct qv_calls_message *m = &w->messages[message - 1];
	const uint32_t taker = m->taker ? m->taker : UINT32_MAX;
	struct qv_calls_blocker by = {.message = 0};

	if (m->before && !w->messages[m->before - 1].has_come)
		by.message = m->before;
	for (int i = 0; i < 4 && !by.message && !by.call; i++)
		if (m->group[i])
			by.call = open_before(w, &w->groups[m->group[i] - 1], taker, message);
	return by;
}

void qv_calls_walk_free(struct qv_calls_walk *w)
{
	free(w->messages);
	free(w->by_time);
	free(w->stack);
	free(w->grouped);
	free(w->groups);
}
