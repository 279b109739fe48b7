// SPDX-License-Identifier: BSD-2-Clause
/*
 * random.c - random streams of posts, arrivals, cancels and probes against two plain lists.
 *
 * All ranks draw the same script from the seed. Rank 0 receives; for each arrival it tells the
 * sender to go and waits until that sender's next signal, which follows the message, so the arrival
 * order is known and every outcome can be foretold. That the signal, in another communicator, does
 * not overtake the message is more than MPI promises; an endpoint with FI_ORDER_SAS does.
 */
#include <stdlib.h>

#include "suite.h"

enum { TAGS = 4, OPS = 1500, BYTES = 16 };

enum op_kind { OP_POST, OP_ARRIVE, OP_CANCEL, OP_PROBE, OP_MPROBE };

/* One step of the script. source and tag are those of the message, or wildcards of the receive. */
struct op {
	enum op_kind kind;
	int source, tag;
	uint64_t pick; /* OP_CANCEL: which of the open receives */
};

struct posted {
	int source, tag, open;
	uint64_t expect; /* key of the message that must land here; 0: none yet */
	int from, msg_tag;
	unsigned char buf[BYTES];
	MPI_Request req;
};

struct message {
	int source, tag, waiting;
	uint64_t key;
};

struct oracle {
	struct posted posts[OPS];
	struct message msgs[OPS];
	int post_count, msg_count;
};

static struct op draw_op(uint64_t *rng)
{
	static const enum op_kind kinds[] = {OP_POST,   OP_POST,   OP_POST,   OP_POST,   OP_POST,
					     OP_ARRIVE, OP_ARRIVE, OP_ARRIVE, OP_ARRIVE, OP_ARRIVE,
					     OP_CANCEL, OP_PROBE,  OP_MPROBE};
	struct op op = {.kind = kinds[suite_random(rng) % 13]};

	op.source = 1 + (int)(suite_random(rng) % (uint64_t)(suite.size - 1));
	op.tag = (int)(suite_random(rng) % TAGS);
	op.pick = suite_random(rng);
	if (op.kind != OP_ARRIVE) {
		if (op.pick % 3 == 0)
			op.source = MPI_ANY_SOURCE;
		if (op.pick / 3 % 3 == 0)
			op.tag = MPI_ANY_TAG;
	}
	return op;
}

static int accepts(int source, int tag, int from, int msg_tag)
{
	return (source == MPI_ANY_SOURCE || source == from) &&
	       (tag == MPI_ANY_TAG || tag == msg_tag);
}

static struct message *oldest_message(struct oracle *o, int source, int tag)
{
	for (int i = 0; i < o->msg_count; i++) {
		struct message *m = &o->msgs[i];

		if (m->waiting && accepts(source, tag, m->source, m->tag))
			return m;
	}
	return NULL;
}

static void pair_up(struct posted *p, struct message *m)
{
	p->expect = m->key;
	p->from = m->source;
	p->msg_tag = m->tag;
	m->waiting = 0;
}

static void do_post(struct oracle *o, const struct op *op)
{
	struct posted *p = &o->posts[o->post_count++];
	struct message *m = oldest_message(o, op->source, op->tag);

	*p = (struct posted){.source = op->source, .tag = op->tag, .open = 1};
	if (m)
		pair_up(p, m);
	MPI_Irecv(p->buf, BYTES, MPI_BYTE, p->source, p->tag, suite.comm, &p->req);
}

static void do_arrive(struct oracle *o, const struct op *op, uint64_t key)
{
	struct message *m = &o->msgs[o->msg_count++];

	*m = (struct message){.source = op->source, .tag = op->tag, .waiting = 1, .key = key};
	for (int i = 0; i < o->post_count && m->waiting; i++) {
		struct posted *p = &o->posts[i];

		if (p->open && !p->expect && accepts(p->source, p->tag, m->source, m->tag))
			pair_up(p, m);
	}
	suite_signal(op->source);
	suite_await(op->source);
}

static void finish(struct posted *p, int expect_cancelled)
{
	MPI_Status st;
	int cancelled;

	if (expect_cancelled)
		MPI_Cancel(&p->req);
	MPI_Wait(&p->req, &st);
	MPI_Test_cancelled(&st, &cancelled);
	CHECK(cancelled == expect_cancelled, "receive (%d, %d): cancelled %d, expected %d",
	      p->source, p->tag, cancelled, expect_cancelled);
	p->open = 0;
	if (cancelled)
		return;
	suite_envelope(&st, p->from, p->msg_tag, BYTES);
	suite_verify(p->buf, BYTES, p->expect);
}

/* Cancels the pick-th receive that is open and has no message. */
static void do_cancel(struct oracle *o, const struct op *op)
{
	int n = 0;

	for (int i = 0; i < o->post_count; i++)
		n += o->posts[i].open && !o->posts[i].expect;
	if (!n)
		return;
	n = (int)(op->pick % (uint64_t)n);
	for (int i = 0; i < o->post_count; i++) {
		struct posted *p = &o->posts[i];

		if (p->open && !p->expect && n-- == 0) {
			finish(p, 1);
			return;
		}
	}
}

static void do_probe(struct oracle *o, const struct op *op)
{
	struct message *m = oldest_message(o, op->source, op->tag);
	MPI_Status st;
	int flag;

	MPI_Iprobe(op->source, op->tag, suite.comm, &flag, &st);
	CHECK(flag == (m != NULL), "Iprobe(%d, %d) says %d", op->source, op->tag, flag);
	if (m)
		suite_envelope(&st, m->source, m->tag, BYTES);
}

static void do_mprobe(struct oracle *o, const struct op *op)
{
	struct message *m = oldest_message(o, op->source, op->tag);
	unsigned char buf[BYTES];
	MPI_Message msg;
	MPI_Status st;
	int flag;

	MPI_Improbe(op->source, op->tag, suite.comm, &flag, &msg, &st);
	CHECK(flag == (m != NULL), "Improbe(%d, %d) says %d", op->source, op->tag, flag);
	if (!m)
		return;
	suite_envelope(&st, m->source, m->tag, BYTES);
	MPI_Mrecv(buf, BYTES, MPI_BYTE, &msg, &st);
	suite_envelope(&st, m->source, m->tag, BYTES);
	suite_verify(buf, BYTES, m->key);
	m->waiting = 0;
}

/* What is left: receives with a message complete, those without are cancelled,
 * messages are taken. */
static void drain(struct oracle *o)
{
	struct message *m;
	unsigned char buf[BYTES];
	MPI_Status st;

	for (int i = 0; i < o->post_count; i++)
		if (o->posts[i].open)
			finish(&o->posts[i], !o->posts[i].expect);
	while ((m = oldest_message(o, MPI_ANY_SOURCE, MPI_ANY_TAG))) {
		MPI_Recv(buf, BYTES, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &st);
		suite_envelope(&st, m->source, m->tag, BYTES);
		suite_verify(buf, BYTES, m->key);
		m->waiting = 0;
	}
}

static void receiver_step(struct oracle *o, const struct op *op, uint64_t key)
{
	switch (op->kind) {
	case OP_POST: do_post(o, op); break;
	case OP_ARRIVE: do_arrive(o, op, key); break;
	case OP_CANCEL: do_cancel(o, op); break;
	case OP_PROBE: do_probe(o, op); break;
	case OP_MPROBE: do_mprobe(o, op); break;
	}
}

/* What a sender keeps: its messages may stay unexpected until rank 0 drains them. */
struct sender {
	int n;
	unsigned char bufs[OPS][BYTES];
	MPI_Request reqs[OPS];
};

static void sender_step(struct sender *s, const struct op *op, uint64_t key)
{
	if (op->kind != OP_ARRIVE || op->source != suite.rank)
		return;
	suite_await(0);
	suite_fill(s->bufs[s->n], BYTES, key);
	MPI_Isend(s->bufs[s->n], BYTES, MPI_BYTE, 0, op->tag, suite.comm, &s->reqs[s->n]);
	s->n++;
	suite_signal(0);
}

static void run_script(uint64_t seed)
{
	struct oracle *o = suite.rank ? NULL : suite_alloc(sizeof(*o));
	struct sender *s = suite.rank ? suite_alloc(sizeof(*s)) : NULL;
	int ops = suite_scaled(OPS, 100);

	for (int i = 0; i < (ops < OPS ? ops : OPS); i++) {
		struct op op = draw_op(&seed);

		if (o)
			receiver_step(o, &op, (uint64_t)i + 1);
		else
			sender_step(s, &op, (uint64_t)i + 1);
	}
	if (o)
		drain(o);
	else
		MPI_Waitall(s->n, s->reqs, MPI_STATUSES_IGNORE);
	free(o);
	free(s);
}

static void script(void)
{
	for (uint64_t i = 0; i < 3; i++) {
		run_script(suite.seed * 1000 + i);
		suite_barrier();
	}
}

const struct suite_case random_cases[] = {
	{"random.script", 2, 0, script},
	{NULL, 0, 0, NULL},
};
