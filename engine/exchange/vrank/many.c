/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many.c - items for many vranks: once to each home, from the sender's home, so that those that go by
 * the stream's way stay in order with the items that the sender has for one. What all homes get goes as
 * one item of the stream for many ranks.
 */
#include "vrank.h"

#include <stdlib.h>

#define NUMBER 5 /* bytes at most, of a vrank */

struct receiver {
	uint32_t home, vrank;
	size_t place; /* in the user's list, whose order is kept */
};

static int by_home(const void *x, const void *y)
{
	const struct receiver *a = x, *b = y;

	if (a->home != b->home)
		return a->home > b->home ? 1 : -1;
	return a->place > b->place ? 1 : -1;
}

/* What is sent. */

/* How many vranks an item of the stream has room for, beside its data. */
static size_t room_for(const struct qv_vranks *v, const struct qv_vrank_item *item)
{
	return (v->longest - item->bytes) / NUMBER - 3;
}

/* To the sender's home, in as many pieces as the list needs. */
static int emit_spread(struct qv_vranks *v, const struct qv_vrank_item *item, enum qv_section by,
		       const struct receiver *to, size_t n)
{
	const struct qv_vrank_envelope envelope = {.kind = QV_VRANK_SPREAD, .entry = item->entry};
	const size_t room = room_for(v, item);
	int rc = QV_OK;

	for (size_t at = 0; at < n && !rc;) {
		const size_t piece = n - at < room ? n - at : room;
		uint64_t *numbers = malloc((piece + 3) * sizeof(*numbers));

		if (!numbers)
			return QV_ENOMEM;
		numbers[0] = by;
		numbers[1] = item->from;
		numbers[2] = piece;
		for (size_t i = 0; i < piece; i++)
			numbers[3 + i] = to[at + i].vrank;
		rc = qv_vrank_emit(v, v->homes[item->from], envelope, numbers, piece + 3,
				   item->data, item->bytes);
		free(numbers);
		at += piece;
	}
	return rc;
}

/* To those whose home is here. */
static int reach_all(struct qv_vranks *v, struct qv_vrank_item item, const struct receiver *to,
		     size_t n)
{
	int rc = QV_OK;

	for (size_t i = 0; i < n && !rc; i++) {
		item.to = to[i].vrank;
		rc = qv_vrank_reach(v, &item);
	}
	return rc;
}

/* What a home gets before the data. Returns its end. */
static char *write_own(const struct qv_vrank_item *item, const struct receiver *to, size_t n,
		       struct qv_stream_receiver *rank, char *at)
{
	*rank = (struct qv_stream_receiver){.to = to->home, .own = at};
	at += qv_put_number(at, item->from);
	at += qv_put_number(at, n);
	for (size_t i = 0; i < n; i++)
		at += qv_put_number(at, to[i].vrank);
	rank->own_bytes = (size_t)(at - rank->own);
	return at;
}

static int emit_to_homes(struct qv_vranks *v, const struct qv_vrank_item *item, enum qv_section by,
			 struct qv_stream_receiver *homes, size_t n)
{
	const struct qv_vrank_envelope envelope = {
		.kind = QV_VRANK_MANY, .fences = (uint8_t)v->stats.fences, .entry = item->entry};
	const struct qv_stream_item all = {.from = v->rank,
					   .data = item->data,
					   .bytes = item->bytes,
					   .envelope_bytes = sizeof(envelope),
					   .envelope = (const char *)&envelope};
	const int rc = n ? qv_stream_take_many(v->stream, &all, by, homes, n, v->now) : QV_OK;

	v->sent += rc ? 0 : n;
	return rc;
}

/* Pieces of the list of one home, as long as they do not fit into one item. Sets how many vranks are
 * left. */
static int emit_pieces(struct qv_vranks *v, const struct qv_vrank_item *item, enum qv_section by,
		       const struct receiver *to, size_t *n, char *own)
{
	const size_t room = room_for(v, item);
	struct qv_stream_receiver home;
	int rc = QV_OK;

	for (; *n > room && !rc; *n -= room) {
		write_own(item, to + *n - room, room, &home, own);
		rc = emit_to_homes(v, item, by, &home, 1);
	}
	return rc;
}

/* To those of each home; homes and own: room for n of them and their lists. */
static int reach_homes(struct qv_vranks *v, const struct qv_vrank_item *item, enum qv_section by,
		       const struct receiver *to, size_t n, struct qv_stream_receiver *homes,
		       char *own)
{
	size_t n_homes = 0;
	int rc = QV_OK;

	for (size_t at = 0, end, left; at < n && !rc; at = end) {
		for (end = at + 1; end < n && to[end].home == to[at].home;)
			end++;
		left = end - at;
		if (to[at].home == v->rank) {
			rc = reach_all(v, *item, to + at, left);
			continue;
		}
		rc = emit_pieces(v, item, by, to + at, &left, own);
		if (!rc)
			own = write_own(item, to + at, left, &homes[n_homes++], own);
	}
	return rc ? rc : emit_to_homes(v, item, by, homes, n_homes);
}

/* At the sender's home. Nobody is given it before it is on its way to all: what the sender says to
 * that must not overtake it. */
static int spread(struct qv_vranks *v, const struct qv_vrank_item *item, enum qv_section by,
		  struct receiver *to, size_t n)
{
	const size_t most = n < v->ranks ? n : v->ranks; /* homes */
	struct qv_stream_receiver *homes =
		calloc(1, most * (sizeof(*homes) + 2 * NUMBER) + n * NUMBER);
	const int giving = v->giving;
	int rc;

	if (!homes)
		return QV_ENOMEM;
	v->giving = 1;
	qsort(to, n, sizeof(*to), by_home);
	rc = reach_homes(v, item, by, to, n, homes, (char *)(homes + most));
	v->giving = giving;
	free(homes);
	return rc;
}

int qv_vranks_multicast(struct qv_vranks *v, const struct qv_vrank_item *item, enum qv_section by,
			const uint32_t *to, size_t n, uint64_t now)
{
	struct receiver *list;
	int rc;

	if ((unsigned int)by >= QV_N_SECTIONS || !n || !to || n > SIZE_MAX / sizeof(*list))
		return QV_EINVAL;
	for (size_t i = 0; i < n; i++)
		if (to[i] >= v->spec.vranks)
			return QV_EINVAL;
	list = malloc(n * sizeof(*list));
	rc = list ? qv_vrank_begin_insert(v, item, now) : QV_ENOMEM;
	if (rc) {
		free(list);
		return rc;
	}
	for (size_t i = 0; i < n; i++)
		list[i] = (struct receiver){v->homes[to[i]], to[i], i};
	rc = qv_vrank_room(v);
	if (!rc) {
		rc = v->homes[item->from] == v->rank ? spread(v, item, by, list, n)
						     : emit_spread(v, item, by, list, n);
		if (rc) /* some have got it */
			v->failed = rc;
	}
	free(list);
	return qv_vrank_end_insert(v, n, rc);
}

/* What comes. */

/* The list of one, allocated. QV_EPROTO, QV_ENOMEM. */
static int read_list(struct qv_vranks *v, struct qv_vrank_in *in, struct qv_vrank_item *item,
		     struct receiver **list, size_t *n)
{
	uint64_t from, count, to = 0;
	struct receiver *r;

	if (qv_vrank_number(in, v->spec.vranks, &from) || qv_vrank_number(in, in->bytes, &count) ||
	    !count)
		return QV_EPROTO;
	r = malloc((size_t)count * sizeof(*r));
	if (!r)
		return QV_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (qv_vrank_number(in, v->spec.vranks, &to)) {
			free(r);
			return QV_EPROTO;
		}
		r[i] = (struct receiver){v->homes[to], (uint32_t)to, i};
	}
	*item = (struct qv_vrank_item){.from = (uint32_t)from, .entry = in->envelope.entry};
	item->data = qv_vrank_rest(in, &item->bytes);
	*list = r;
	*n = (size_t)count;
	return QV_OK;
}

int qv_vrank_take_spread(struct qv_vranks *v, struct qv_vrank_in *in)
{
	struct qv_vrank_item item;
	struct receiver *list;
	uint64_t by;
	size_t n;
	int rc = qv_vrank_number(in, QV_N_SECTIONS, &by) ? QV_EPROTO
							 : read_list(v, in, &item, &list, &n);

	if (rc)
		return rc;
	if (v->homes[item.from] == v->rank && item.bytes <= qv_vranks_longest(v)) {
		v->stats.forwarded += n;
		rc = spread(v, &item, (enum qv_section)by, list, n);
	} else {
		rc = QV_EPROTO;
	}
	free(list);
	return rc;
}

int qv_vrank_take_many(struct qv_vranks *v, struct qv_vrank_in *in)
{
	struct qv_vrank_item item;
	struct receiver *list;
	size_t n;
	int rc = read_list(v, in, &item, &list, &n);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (list[i].home != v->rank || !qv_vrank_look(v, list[i].vrank))
			rc = QV_EPROTO;
	if (!rc)
		rc = reach_all(v, item, list, n);
	free(list);
	return rc;
}
