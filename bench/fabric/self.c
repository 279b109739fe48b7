/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * self.c - what a match costs in the whole of a stack: one process that sends to
 * itself, with receives or unexpected messages in its queues. An operation is a message and its
 * receive:
 *
 *     prq   a message is sent, takes the posted receive at the position, which is posted again
 *     umq   a receive takes the unexpected message at the position, which is sent again
 *     miss  a pair that matches nothing of what is queued: the message first (prq: all receives
 *           are searched), or the receive first (umq: all messages are)
 *
 * The other process of the pair waits in a barrier.
 */
#include "fabric.h"

#include <string.h>

#define TAG_MISS (QV_FB_TAG_DEEP - 1)

/* Which entry is next, and the number that its message carries. */
struct walk {
	const struct qv_fb_case *what;
	uint64_t random, number;
	uint32_t next;
};

static uint64_t *slot(struct qv_fb_run *run, uint32_t i)
{
	return (uint64_t *)(void *)run->deep_buf + i;
}

static uint32_t choose(struct walk *w)
{
	switch (w->what->position) {
	case QV_FB_HEAD: /* what was taken comes back at the end */
		return w->next++ % w->what->depth;
	case QV_FB_TAIL: return w->what->depth - 1;
	default:
		w->random ^= w->random << 13;
		w->random ^= w->random >> 7;
		w->random ^= w->random << 17;
		return (uint32_t)((w->random >> 32) * w->what->depth >> 32);
	}
}

static int post(struct qv_fb_run *run, uint32_t i)
{
	return qv_fb_recv(&run->ep, slot(run, i), sizeof(uint64_t), QV_FB_TAG_DEEP + i,
			  &run->deep_ops[i]);
}

/* A send that is not injected owns its word until its operation comes round again. */
static int send_word(struct qv_fb_run *run, uint64_t word, uint64_t tag)
{
	uint32_t op = run->ep.next_op % QV_FB_SEND_OPS;
	uint64_t *out = (uint64_t *)(void *)run->send_buf + op;

	if (qv_fb_wait_op(&run->ep, &run->ep.send_ops[op]))
		return -1;
	*out = word;
	return qv_fb_send(&run->ep, out, sizeof(*out), tag);
}

static int expect(struct qv_fb_run *run, uint64_t got, uint64_t want)
{
	return got == want ? 0 : qv_fb_fail(&run->ep, "wrong payload", 0);
}

static int through_posted(struct qv_fb_run *run, struct walk *w)
{
	uint32_t i = choose(w);

	if (send_word(run, ++w->number, QV_FB_TAG_DEEP + i) ||
	    qv_fb_wait_op(&run->ep, &run->deep_ops[i]) || expect(run, *slot(run, i), w->number))
		return -1;
	return post(run, i);
}

/* slot i: what the message that waits says. */
static int through_unexpected(struct qv_fb_run *run, struct walk *w)
{
	uint64_t *got = (uint64_t *)(void *)run->recv_buf;
	uint32_t i = choose(w);

	if (qv_fb_recv(&run->ep, got, sizeof(*got), QV_FB_TAG_DEEP + i, &run->ops[0]) ||
	    qv_fb_wait_op(&run->ep, &run->ops[0]) || expect(run, *got, *slot(run, i)))
		return -1;
	*slot(run, i) = ++w->number;
	/* With the poll, what was sent has come in, or soon will: it is not left
	 * to later receives. */
	return send_word(run, w->number, QV_FB_TAG_DEEP + i) || qv_fb_poll(&run->ep) ? -1 : 0;
}

/* Nothing of what is queued. */
static int past_all(struct qv_fb_run *run, struct walk *w)
{
	uint64_t *got = (uint64_t *)(void *)run->recv_buf;
	bool first = w->what->queue == QV_FB_PRQ;

	if (first && (send_word(run, ++w->number, TAG_MISS) || qv_fb_poll(&run->ep)))
		return -1;
	if (qv_fb_recv(&run->ep, got, sizeof(*got), TAG_MISS, &run->ops[0]))
		return -1;
	if (!first && send_word(run, ++w->number, TAG_MISS))
		return -1;
	return qv_fb_wait_op(&run->ep, &run->ops[0]) || expect(run, *got, w->number) ? -1 : 0;
}

static int operate(struct qv_fb_run *run, struct walk *w)
{
	if (w->what->position == QV_FB_MISS)
		return past_all(run, w);
	return w->what->queue == QV_FB_PRQ ? through_posted(run, w) : through_unexpected(run, w);
}

static int operate_some(struct qv_fb_run *run, struct walk *w)
{
	for (int i = 0; i < QV_FB_SELF_OPS; i++)
		if (operate(run, w))
			return -1;
	return 0;
}

static int timed(struct qv_fb_run *run, struct walk *w, uint32_t n, float *out)
{
	const double to_ns = qv_bench_tick_ns() / QV_FB_SELF_OPS;
	uint64_t before, now;

	for (uint32_t i = 0; i < n / 8 + 1; i++)
		if (operate_some(run, w))
			return -1;
	before = qv_ticks();
	for (uint32_t i = 0; i < n; i++, before = now) {
		if (operate_some(run, w))
			return -1;
		now = qv_ticks();
		out[i] = (float)((double)(now - before) * to_ns);
	}
	return 0;
}

static int fill(struct qv_fb_run *run, struct walk *w)
{
	for (uint32_t i = 0; i < w->what->depth; i++) {
		if (w->what->queue == QV_FB_PRQ) {
			if (post(run, i))
				return -1;
			continue;
		}
		*slot(run, i) = ++w->number;
		if (send_word(run, w->number, QV_FB_TAG_DEEP + i))
			return -1;
	}
	/* Messages are in order: when this one has come, all have. */
	return qv_fb_flush(&run->ep) || past_all(run, w) ? -1 : 0;
}

/* Every entry is there still, and only once. */
static int drain(struct qv_fb_run *run, struct walk *w)
{
	uint64_t *got = (uint64_t *)(void *)run->recv_buf;

	for (uint32_t i = 0; i < w->what->depth; i++) {
		if (w->what->queue == QV_FB_PRQ) {
			if (send_word(run, ++w->number, QV_FB_TAG_DEEP + i) ||
			    qv_fb_wait_op(&run->ep, &run->deep_ops[i]) ||
			    expect(run, *slot(run, i), w->number))
				return -1;
			continue;
		}
		if (qv_fb_recv(&run->ep, got, sizeof(*got), QV_FB_TAG_DEEP + i, &run->ops[0]) ||
		    qv_fb_wait_op(&run->ep, &run->ops[0]) || expect(run, *got, *slot(run, i)))
			return -1;
	}
	return qv_fb_flush(&run->ep);
}

static int block(struct qv_fb_run *run, const struct qv_fb_case *what, uint32_t n, float *out)
{
	struct walk w = {.what = what,
			 .random = run->nonce | 1,
			 .number = run->nonce << 24 ^ (uint64_t)what->depth << 56};

	if (!n)
		return 0;
	return fill(run, &w) || timed(run, &w, n, out) || drain(run, &w) ? -1 : 0;
}

/* Depth 0 is no entry but the one that is taken. */
static int measure(struct qv_fb_run *run, const struct qv_fb_command *command)
{
	struct qv_fb_case alone = command->what;

	alone.depth = alone.position == QV_FB_MISS ? 0 : 1;
	if (block(run, &alone, command->flat_n, run->flat))
		return -1;
	return block(run, &command->what, command->deep_n, run->deep);
}

int qv_fb_run_self(struct qv_fb_run *run, const struct qv_fb_command *command)
{
	int rc = 0;

	if (run->rank == 0) {
		rc = qv_fb_ep_turn(&run->ep, run->own, true) || measure(run, command) ||
		     qv_fb_ep_turn(&run->ep, run->own, false);
	}
	return rc ? -1 : qv_fb_barrier(run);
}
