/* SPDX-License-Identifier: BSD-2-Clause */
/* way.c - structure "auto": which indexes are in use, and so which short ways serve. */
#include "hash.h"

/* So many ticks at which the receive has others of its key before it make a stream. */
#define STREAMS_MIN  4
#define STREAMS_MAX  8
#define STREAMS_FALL 2
/* So many wrong guesses in a tick cost more than the right ones gain. */
#define STRAYS_MANY   (QV_TICK / 4)
#define UNGUESSED_MAX 1023

void qv_line_set_active(struct qv_line *q, uint32_t active)
{
	uint32_t indexes = active & QV_INDEXES;

	active &= ~QV_STRONG_ACTIVE;
	q->n_in_use = 0;
	for (uint32_t rest = indexes; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];

		q->in_use[q->n_in_use++] = ix;
		if (ix->strong)
			active |= QV_STRONG_ACTIVE;
	}
	if (q->only)
		q->only->used = q->tail;
	q->active = active;
	q->only = NULL;
	if (indexes && indexes == active && !(indexes & (indexes - 1)))
		q->only = &q->ix[__builtin_ctz(indexes)];
	qv_line_set_way(q);
}

/* The table of an index and its bits are copied into the line. */
static void set_only(struct qv_line *q, const struct qv_index *ix, enum qv_way way)
{
	q->way = (uint16_t)way;
	q->slots = ix->slots;
	q->shift = ix->shift;
	q->keep = ix->keep;
	q->ignore = ~ix->keep;
}

/* Posted, several indexes: bring that with the most receives to the front. Whether these are eight
 * times as many as the others, and name their sources. */
static int has_main(struct qv_line *q)
{
	uint32_t most = 0, at = 0, all = 0;
	struct qv_index *first = q->in_use[0];

	for (uint32_t i = 0; i < q->n_in_use; i++) {
		uint32_t live = q->in_use[i]->live;

		all += live;
		if (live > most) {
			most = live;
			at = i;
		}
	}
	q->in_use[0] = q->in_use[at];
	q->in_use[at] = first;
	return most >= 8 * (uint64_t)(all - most) && q->in_use[0]->src_keep;
}

void qv_line_sample_stream(struct qv_line *q, const uint64_t *e)
{
	int is_behind = e[QV_RECV_LINKS + QV_PEER] != (uintptr_t)e;

	if (q->strays > STRAYS_MANY) {
		q->streams = 0;
		q->unguessed_next = q->unguessed_next < UNGUESSED_MAX ? 2 * q->unguessed_next + 1
								      : UNGUESSED_MAX;
		q->unguessed = q->unguessed_next;
		qv_line_set_way(q);
	} else if (q->unguessed) {
		q->unguessed--;
	} else if (is_behind) {
		q->streams += q->streams < STREAMS_MAX;
	} else {
		q->streams = q->streams > STREAMS_FALL ? q->streams - STREAMS_FALL : 0;
	}
	if (q->streams == STREAMS_MAX && q->unguessed_next)
		q->unguessed_next--;
	q->strays = 0;
}

void qv_line_set_way(struct qv_line *q)
{
	const struct qv_index *ix = q->only;
	uint16_t links = q->side == QV_POSTED ? QV_RECV_LINKS : QV_MSG_LINKS;
	int apart =
		q->side == QV_POSTED && q->n_in_use >= 2 && !q->wide && !(q->active & QV_UNUSUAL);

	q->guess = NULL;
	if (q->mode == QV_AUTO_LIST)
		q->way = QV_WAY_LIST;
	else if (q->streams >= STREAMS_MIN && ix && ix != q->wide)
		q->way = QV_WAY_STREAM;
	else if (ix && ix->src_keep && ix != q->wide && ix->word == links)
		set_only(q, ix, QV_WAY_ONLY);
	else if (ix || (q->side == QV_UNEXPECTED && q->n_in_use == 1 && !(q->active & QV_UNUSUAL)))
		q->way = QV_WAY_WIDE;
	else if (apart && q->dense)
		q->way = QV_WAY_HEADS;
	else if (apart && has_main(q))
		set_only(q, q->in_use[0], QV_WAY_MAIN);
	else if (apart && q->n_in_use == 2)
		q->way = QV_WAY_PAIR;
	else
		q->way = QV_WAY_MANY;
}
