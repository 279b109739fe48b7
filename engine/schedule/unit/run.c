/* SPDX-License-Identifier: BSD-2-Clause */
/* run.c - what a rank of a tree of combine units does until its run is over. */
#include "engine/schedule/unit/unit.h"

#define D QV_UNIT_AT_ONCE

/* Messages. */

static size_t count_of(const struct qv_unit_run *u, uint32_t number)
{
	return number + 1 < u->packets ? u->each : u->data.count - number * u->each;
}

static size_t bytes_of(const struct qv_unit_run *u, uint32_t number)
{
	return count_of(u, number) * u->data.item;
}

static char *own(const struct qv_unit_run *u, uint32_t number)
{
	return (char *)u->data.work + number * u->each * u->data.item;
}

/* Operands and credits of a pair have tags of their own; of one tag, one is under way. */
static uint32_t operand_tag(uint32_t number)
{
	return number % D;
}

static uint32_t credit_tag(uint32_t number)
{
	return D + number % D;
}

/* The port's answer to the start of a message; whether it has begun. */
static int begun(struct qv_unit_run *u, unsigned char *state, unsigned char before, int rc)
{
	if (rc)
		*state = before;
	if (rc && rc != QV_EAGAIN)
		u->failed = rc;
	return !rc;
}

static int send(struct qv_unit_run *u, unsigned char *state, uint32_t slot, uint32_t to,
		uint32_t tag, const void *buf, size_t bytes)
{
	const unsigned char before = *state;

	*state = QV_UNIT_UNDER_WAY; /* it may be over before the call returns */
	return begun(u, state, before,
		     u->calls.send(u->port, u->s->live_first + slot, to, tag, buf, bytes));
}

static int receive(struct qv_unit_run *u, unsigned char *state, uint32_t slot, uint32_t from,
		   uint32_t tag, void *buf, size_t bytes)
{
	*state = QV_UNIT_UNDER_WAY;
	return begun(u, state, QV_UNIT_FREE,
		     u->calls.receive(u->port, u->s->live_first + slot, from, tag, buf, bytes));
}

static void listen(struct qv_unit_run *u)
{
	for (uint32_t i = 0; i < u->n && !u->failed; i++) {
		struct qv_unit_link *l = &u->links[i];

		if (l->operand == QV_UNIT_FREE && l->taken < u->packets)
			receive(u, &l->operand, i, l->peer, operand_tag(l->taken), l->packet,
				bytes_of(u, l->taken));
	}
	if (u->to != QV_STEP_NONE && u->credit == QV_UNIT_FREE && u->allowed < u->packets &&
	    !u->failed)
		receive(u, &u->credit, 2 * u->n + D, u->to, credit_tag(u->allowed), &u->credit_got,
			sizeof(u->credit_got));
}

/* What comes, and what leaves. Each returns whether anything has moved. */

static void free_places(struct qv_unit_run *u)
{
	while (u->over < u->left && u->out[u->over % D] == QV_UNIT_FREE)
		u->over++;
}

/* The root has the result of a packet but for its own part. */
static void keep(struct qv_unit_run *u, uint32_t number, const void *data)
{
	u->data.reduce(u->data.context, own(u, number), own(u, number), data, count_of(u, number));
	(void)qv_unit_sent(u->unit, number);
	u->left++;
	free_places(u);
}

static void reduce(struct qv_unit_run *u, unsigned int port, uint32_t number, const void *data)
{
	struct qv_unit_out out;
	int rc = qv_unit_reduce_part(u->unit, port, number, data, count_of(u, number), &out);

	if (rc == QV_EAGAIN || /* who sent it had no credit */
	    (!rc && out.port >= 0 && (unsigned int)out.port != qv_unit_out_port(u)))
		rc = QV_EPROTO;
	if (rc) {
		u->failed = rc;
	} else if (out.port >= 0 && u->to == QV_STEP_NONE) {
		keep(u, number, out.data);
	} else if (out.port >= 0) {
		u->outs[number % D] = out;
		u->out[number % D] = QV_UNIT_READY;
	}
}

static int give(struct qv_unit_run *u)
{
	if (u->to == QV_STEP_NONE || u->given == u->packets || u->given == u->over + D)
		return 0;
	reduce(u, qv_unit_own_port(u), u->given, own(u, u->given));
	u->given++;
	return 1;
}

static int take(struct qv_unit_run *u)
{
	int moved = 0;

	for (uint32_t i = 0; i < u->n && !u->failed; i++) {
		struct qv_unit_link *l = &u->links[i];

		if (l->operand != QV_UNIT_HERE)
			continue;
		reduce(u, i, l->taken++, l->packet);
		l->operand = QV_UNIT_FREE;
		moved = 1;
	}
	return moved;
}

static int send_out(struct qv_unit_run *u)
{
	const uint32_t i = u->left % D;

	if (u->left == u->allowed || u->out[i] != QV_UNIT_READY)
		return 0;
	u->left++; /* before it is over, for the places that are free then */
	if (send(u, &u->out[i], 2 * u->n + i, u->to, operand_tag(i), u->outs[i].data,
		 bytes_of(u, u->left - 1)))
		return 1;
	u->left--;
	return 0;
}

static int grant(struct qv_unit_run *u)
{
	const uint32_t places = u->packets - u->over < D ? u->packets : u->over + D;
	int moved = 0;

	for (uint32_t i = 0; i < u->n && !u->failed; i++) {
		struct qv_unit_link *l = &u->links[i];

		if (l->credit != QV_UNIT_FREE || l->granted >= places)
			continue;
		l->credit_sent = l->granted;
		if (!send(u, &l->credit, u->n + i, l->peer, credit_tag(l->granted), &l->credit_sent,
			  sizeof(l->credit_sent)))
			continue;
		l->granted++;
		moved = 1;
	}
	return moved;
}

/* Whether a message is under way; NULL: there is no such slot. */
static unsigned char *state_of(struct qv_unit_run *u, uint32_t slot)
{
	if (slot < u->n)
		return &u->links[slot].operand;
	if (slot < 2 * u->n)
		return &u->links[slot - u->n].credit;
	if (slot < 2 * u->n + D)
		return &u->out[slot - 2 * u->n];
	return slot == 2 * u->n + D ? &u->credit : NULL;
}

static int is_over(struct qv_unit_run *u)
{
	for (uint32_t slot = 0; slot < qv_unit_slots(u->n); slot++)
		if (*state_of(u, slot) != QV_UNIT_FREE)
			return 0;
	return u->over == u->packets;
}

int qv_unit_run_progress(void *live)
{
	struct qv_unit_run *u = live;
	int moved = 1;

	if (u->packets && !u->unit && !u->failed) {
		const int rc = qv_unit_run_open(u);

		if (rc == QV_ENOMEM)
			return QV_EAGAIN; /* nothing has been sent: later there may be some */
		u->failed = rc;
	}
	while (moved && !u->failed) {
		moved = give(u);
		moved |= take(u);
		if (!u->failed)
			moved |= send_out(u);
		moved |= grant(u);
		listen(u);
	}
	if (u->failed)
		return u->failed;
	return is_over(u) ? QV_OK : QV_EAGAIN;
}

/* A packet has left, and is not needed any more: of those with this place, the last one sent. */
static void sent(struct qv_unit_run *u, uint32_t i)
{
	(void)qv_unit_sent(u->unit, u->left - 1 - (u->left - 1 - i) % D);
	free_places(u);
}

void qv_unit_run_done(void *live, uint32_t slot, int status)
{
	struct qv_unit_run *u = live;
	unsigned char *state = state_of(u, slot);

	if (!state || *state != QV_UNIT_UNDER_WAY)
		return;
	*state = slot < u->n && !status ? QV_UNIT_HERE : QV_UNIT_FREE;
	if (state == &u->credit && !status && u->credit_got != u->allowed)
		status = QV_EPROTO;
	if (status)
		u->failed = status;
	else if (state == &u->credit)
		u->allowed++;
	else if (slot >= 2 * u->n)
		sent(u, slot - 2 * u->n);
}
