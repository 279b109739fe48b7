/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair.c - which message a call got. Messages do not overtake each other where the same receive accepts
 * both, so of those with one sender, communicator and tag the first one sent went to the first receive
 * posted of those that got such a one.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/types.h>

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Sender, communicator and tag. */
struct key {
	uint32_t src, comm, tag;
};

static int compare_keys(struct key a, struct key b)
{
	const int by_src = compare(a.src, b.src), by_comm = compare(a.comm, b.comm);

	return by_src ? by_src : by_comm ? by_comm : compare(a.tag, b.tag);
}

static struct key key_of_message(const struct qv_calls_message *m)
{
	return (struct key){m->src, m->comm, m->tag};
}

/* What a call got, or must have got: the one without an end that accepts nothing else. */
static struct key key_of_call(const struct qv_calls_call *c)
{
	const bool got = c->end == QV_CALLS_MESSAGE;

	return (struct key){got ? c->got_src : c->src, c->comm, got ? c->got_tag : c->tag};
}

static bool gets_one(const struct qv_calls_call *c)
{
	return c->end == QV_CALLS_MESSAGE || (c->end == QV_CALLS_UNKNOWN && !c->any_tag &&
					      c->src != QV_SRC_ANY && c->kind == QV_CALLS_RECEIVE);
}

/* Indices from 1 on. */
static int by_class(const void *a, const void *b, void *ctx)
{
	const struct qv_calls_message *all = ctx;
	const struct qv_calls_message *m = &all[*(const uint32_t *)a - 1];
	const struct qv_calls_message *n = &all[*(const uint32_t *)b - 1];
	const int by_key = compare_keys(key_of_message(m), key_of_message(n));

	return by_key ? by_key : compare(m->order, n->order);
}

static int by_key(const void *a, const void *b, void *ctx)
{
	const struct qv_calls_call *all = ctx;
	const uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	const int keys = compare_keys(key_of_call(&all[m - 1]), key_of_call(&all[n - 1]));

	return keys ? keys : compare(m, n);
}

/* The messages to this rank: they are together, after the sort of command.c. */
static bool take_messages(struct qv_calls_walk *w, const struct qv_calls *calls)
{
	const uint32_t rank = (uint32_t)w->rank->process.rank;
	uint32_t low = 0, high = calls->messages_n, n = 0;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (calls->messages[mid].dst < rank)
			low = mid + 1;
		else
			high = mid;
	}
	while (low + n < calls->messages_n && calls->messages[low + n].dst == rank)
		n++;
	if (!qv_trace_grow(&w->messages, &w->messages_room, n + 1, sizeof(*w->messages)))
		return false;
	if (n)
		memcpy(w->messages, &calls->messages[low], n * sizeof(*w->messages));
	w->messages_n = w->sent = n;
	return true;
}

/* It was received, and nobody has recorded that it was sent: its rank has no file, or a short one. */
static bool add_unknown(struct qv_calls_walk *w, const struct qv_calls_call *c)
{
	if (!qv_trace_grow(&w->messages, &w->messages_room, w->messages_n + 1,
			   sizeof(*w->messages)))
		return false;
	w->messages[w->messages_n++] = (struct qv_calls_message){.ns = c->ns,
								 .order = UINT64_MAX,
								 .src = c->got_src,
								 .comm = c->comm,
								 .tag = c->got_tag,
								 .is_unknown = true};
	return true;
}

static void give(struct qv_calls_walk *w, uint32_t call, uint32_t message)
{
	struct qv_calls_call *c = &w->rank->calls[call - 1];
	struct qv_calls_message *m = &w->messages[message - 1];

	c->message = message;
	c->same = m->calls;
	m->calls = call;
	if (c->kind != QV_CALLS_PROBE)
		m->taker = call;
}

/* Calls [first, last) got messages of one class, of which there are n. */
static bool pair_class(struct qv_calls_walk *w, const uint32_t *first, const uint32_t *last,
		       const uint32_t *messages, uint32_t n)
{
	uint32_t used = 0, next = 0; /* next: the one that waits, or comes next; 0: not known */

	for (const uint32_t *at = first; at < last; at++) {
		const struct qv_calls_call *c = &w->rank->calls[*at - 1];

		if (!next && used < n)
			next = messages[used];
		if (!next && c->end == QV_CALLS_MESSAGE) {
			if (!add_unknown(w, c))
				return false;
			next = w->messages_n;
		}
		if (next)
			give(w, *at, next);
		if (next && c->kind != QV_CALLS_PROBE) {
			used++;
			next = 0;
		}
	}
	return true;
}

static bool pair_all(struct qv_calls_walk *w, uint32_t *calls, uint32_t calls_n, uint32_t *messages)
{
	const uint32_t sent = w->messages_n;
	uint32_t at = 0, end;

	for (uint32_t i = 0; i < sent; i++)
		messages[i] = i + 1;
	qsort_r(messages, sent, sizeof(*messages), by_class, w->messages);
	qsort_r(calls, calls_n, sizeof(*calls), by_key, w->rank->calls);
	for (uint32_t i = 0; i < calls_n; i = end) {
		const struct key key = key_of_call(&w->rank->calls[calls[i] - 1]);
		uint32_t n = 0;

		for (end = i; end < calls_n; end++)
			if (compare_keys(key_of_call(&w->rank->calls[calls[end] - 1]), key))
				break;
		while (at < sent &&
		       compare_keys(key_of_message(&w->messages[messages[at] - 1]), key) < 0)
			at++;
		while (at + n < sent &&
		       !compare_keys(key_of_message(&w->messages[messages[at + n] - 1]), key))
			n++;
		if (!pair_class(w, calls + i, calls + end, messages + at, n))
			return false;
	}
	return true;
}

bool qv_calls_pair(struct qv_calls_walk *w, const struct qv_calls *all)
{
	uint32_t *calls, *messages, n = 0;
	bool done;

	if (!take_messages(w, all))
		return false;
	calls = malloc((w->rank->calls_n + 1) * sizeof(*calls));
	messages = malloc((w->messages_n + 1) * sizeof(*messages));
	for (uint32_t i = 0; calls && i < w->rank->calls_n; i++)
		if (gets_one(&w->rank->calls[i]))
			calls[n++] = i + 1;
	done = calls && messages ? pair_all(w, calls, n, messages) : qv_trace_no_memory();
	free(calls);
	free(messages);
	return done;
}
