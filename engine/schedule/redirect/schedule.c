/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.c - Local Redirect of one rank over a port. A rank hears its two neighbours
 * only, one message of each at a time; what is not accepted yet stays where it is. Messages between
 * two neighbours are counted from 0 as long as they are neighbours, which they are once.
 */
#include "engine/schedule/schedule.h"

#include <quiver/redirect.h>

#include <stdlib.h>

#define SLOTS 8 /* messages that can be under way */

/* What can be under way at once; the rest are short messages of this rank. */
enum slot {
	FROM_LEFT,
	FROM_RIGHT,
	DATA_IN,
	DATA_OUT,
	WORDS,
};

enum state {
	FREE,
	UNDER_WAY,
	HERE, /* received, not taken yet */
};

struct word {
	uint32_t kind, value;
};

struct line {
	const struct qv_schedule *s;
	struct qv_port calls;
	void *port;
	struct qv_run_data data;
	struct qv_redirect machine;
	struct qv_redirect_out out[QV_REDIRECT_MOST]; /* to be said */
	unsigned int outs, said;
	int owes_data; /* its word has been sent */
	struct word words[SLOTS];
	unsigned char state[SLOTS];
	uint32_t of_left, of_right, to_left, to_right; /* messages so far */
	int failed;
};

/* Places. */

static uint32_t rank_at(const struct line *l, uint32_t place)
{
	return (uint32_t)(((uint64_t)place + l->s->end + 1) % l->s->ranks);
}

static uint32_t place_of(const struct line *l)
{
	return (l->s->rank + l->s->ranks - 1 - l->s->end) % l->s->ranks;
}

static int create(const struct qv_schedule *schedule, const struct qv_port *calls, void *port,
		  void **live)
{
	struct line *l = calloc(1, sizeof(*l));

	if (!l)
		return QV_ENOMEM;
	l->s = schedule;
	l->calls = *calls;
	l->port = port;
	*live = l;
	return QV_OK;
}

static void start(void *live, const struct qv_run_data *data)
{
	struct line *l = live;

	*l = (struct line){.s = l->s, .calls = l->calls, .port = l->port, .data = *data};
	l->outs = qv_redirect_start(&l->machine,
				    l->s->faithful ? QV_REDIRECT_FAITHFUL : QV_REDIRECT_EXTENDED,
				    place_of(l), l->s->ranks, l->out);
}

/* Messages. */

static size_t bytes_of(const struct line *l)
{
	return l->data.count * l->data.item;
}

/* The port's answer to the start of a message; whether it has begun. */
static int begun(struct line *l, unsigned int slot, int rc)
{
	if (rc)
		l->state[slot] = FREE;
	if (rc && rc != QV_EAGAIN)
		l->failed = rc;
	return !rc;
}

static int send(struct line *l, unsigned int slot, uint32_t to, uint32_t tag, const void *buf,
		size_t bytes)
{
	l->state[slot] = UNDER_WAY; /* it may be over before the call returns */
	return begun(
		l, slot,
		l->calls.send(l->port, l->s->live_first + slot, rank_at(l, to), tag, buf, bytes));
}

static int receive(struct line *l, unsigned int slot, uint32_t from, uint32_t tag, void *buf,
		   size_t bytes)
{
	l->state[slot] = UNDER_WAY;
	return begun(l, slot,
		     l->calls.receive(l->port, l->s->live_first + slot, rank_at(l, from), tag, buf,
				      bytes));
}

/* Say the next one; whether anything has begun. */
static int say(struct line *l)
{
	const struct qv_redirect_out *out = &l->out[l->said];
	uint32_t *count = out->to < l->machine.place ? &l->to_left : &l->to_right;
	unsigned int slot = WORDS;

	if (l->owes_data) {
		l->owes_data = !send(l, DATA_OUT, out->to, *count, l->data.work, bytes_of(l));
		l->said += !l->owes_data;
		return !l->owes_data;
	}
	while (slot < SLOTS && l->state[slot] != FREE)
		slot++;
	if (slot == SLOTS)
		return 0;
	l->words[slot] = (struct word){out->kind, out->value};
	if (!send(l, slot, out->to, *count, &l->words[slot], sizeof(struct word)))
		return 0;
	++*count;
	if (out->kind == QV_REDIRECT_DATA && bytes_of(l))
		l->owes_data = 1;
	else
		l->said++;
	return 1;
}

/* Whom the rank may hear of, it listens to. */
static void listen(struct line *l)
{
	const struct qv_redirect *m = &l->machine;
	const int asks = m->state == QV_REDIRECT_ASKING || m->state == QV_REDIRECT_HOLDING;

	if (m->state == QV_REDIRECT_OVER)
		return;
	if (m->left != QV_PLACE_NONE && l->state[FROM_LEFT] == FREE)
		receive(l, FROM_LEFT, m->left, l->of_left, &l->words[FROM_LEFT],
			sizeof(struct word));
	if (m->right != QV_PLACE_NONE && asks && l->state[FROM_RIGHT] == FREE && !l->failed)
		receive(l, FROM_RIGHT, m->right, l->of_right, &l->words[FROM_RIGHT],
			sizeof(struct word));
	if (m->state == QV_REDIRECT_RECEIVING && l->state[DATA_IN] == FREE && bytes_of(l) &&
	    !l->failed)
		receive(l, DATA_IN, m->left, l->of_left + 1, l->data.temp, bytes_of(l));
}

/* What is heard. */

/* The neighbours that a message names are on their side of this rank. */
static int is_sound(const struct line *l, struct word word)
{
	if (word.value == QV_PLACE_NONE)
		return 1;
	if (word.kind == QV_REDIRECT_DATA)
		return word.value < l->machine.left;
	return word.kind == QV_REDIRECT_PAST && word.value > l->machine.right &&
	       word.value < l->s->ranks;
}

static void combine(struct line *l)
{
	if (!bytes_of(l))
		return;
	l->data.reduce(l->data.context, l->data.work, l->data.temp, l->data.work, l->data.count);
	l->state[DATA_IN] = FREE;
}

static void take(struct line *l, enum slot slot, uint32_t from)
{
	const uint32_t left = l->machine.left, right = l->machine.right;
	const struct word word = l->words[slot];

	if (!is_sound(l, word)) {
		l->failed = QV_EPROTO;
		return;
	}
	if (word.kind == QV_REDIRECT_DATA)
		combine(l);
	l->outs = qv_redirect_take(&l->machine, from, (enum qv_redirect_kind)word.kind, word.value,
				   l->out);
	l->said = 0;
	l->state[slot] = FREE;
	if (slot == FROM_LEFT)
		l->of_left++;
	else
		l->of_right++;
	if (l->machine.left != left)
		l->of_left = l->to_left = 0;
	if (l->machine.right != right)
		l->of_right = l->to_right = 0;
}

static int can_take(const struct line *l, enum slot slot, uint32_t from)
{
	const enum qv_redirect_kind kind = (enum qv_redirect_kind)l->words[slot].kind;

	return l->state[slot] == HERE && !l->failed &&
	       qv_redirect_accepts(&l->machine, from, kind) &&
	       (kind != QV_REDIRECT_DATA || !bytes_of(l) || l->state[DATA_IN] == HERE);
}

static int hear(struct line *l)
{
	const uint32_t left = l->machine.left, right = l->machine.right;

	if (can_take(l, FROM_RIGHT, right))
		take(l, FROM_RIGHT, right);
	else if (can_take(l, FROM_LEFT, left))
		take(l, FROM_LEFT, left);
	else
		return 0;
	return 1;
}

static int progress(void *live)
{
	struct line *l = live;
	int moved = 1;

	while (moved && !l->failed) {
		moved = l->said < l->outs ? say(l) : hear(l);
		if (!l->failed)
			listen(l);
	}
	if (l->failed)
		return l->failed;
	if (l->machine.state != QV_REDIRECT_OVER || l->said < l->outs)
		return QV_EAGAIN;
	for (unsigned int slot = 0; slot < SLOTS; slot++)
		if (l->state[slot] == UNDER_WAY)
			return QV_EAGAIN;
	return QV_OK;
}

static void done(void *live, uint32_t slot, int status)
{
	struct line *l = live;

	if (slot >= SLOTS || l->state[slot] != UNDER_WAY)
		return;
	l->state[slot] = slot <= DATA_IN ? HERE : FREE;
	if (status)
		l->failed = status;
}

static const struct qv_live redirect = {create, free, start, progress, done};

/* Building. */

/* The steps are one way the line can go, as it does if all come at once: in a tree of places. They
 * stand for it in proofs and in virtual time; a run goes its own way, and its messages have the
 * numbers of the first steps. */
void qv_build_redirect(struct qv_builder *b)
{
	const struct qv_schedule_spec *spec = b->spec;
	const uint32_t P = spec->ranks;
	const uint32_t end = spec->coll == QV_COLL_REDUCE && !spec->ordered ? spec->root : P - 1;
	const uint32_t to_end = (end + P - b->rank) % P;
	uint32_t last = QV_STEP_NONE;

	b->s->live = &redirect;
	b->s->live_first = (uint32_t)b->s->n;
	b->s->end = end;
	b->s->faithful = spec->faithful;
	for (int i = 0; i < SLOTS; i++)
		qv_add_nothing(b);
	for (uint32_t k = 1; k < P; k *= 2) {
		if (to_end & k) {
			qv_add_send(b, (b->rank + k) % P, 0, b->s->blocks, last);
			break;
		}
		if (to_end + k < P)
			last = qv_add_receive(b, QV_STEP_COMBINE_LEFT, (b->rank + P - k) % P, 0,
					      b->s->blocks, last);
	}
	qv_build_delivery(b, end);
}
