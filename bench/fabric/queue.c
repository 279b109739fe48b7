/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.c - other receives, or other messages, in the way of the measured ones.
 *
 * Both processes of a pair do the same at the same time. What was put in the way is matched at the
 * end, so that no case leaves anything behind, and so that nothing which waited was lost.
 */
#include "fabric.h"

#include <string.h>

/* Receives that are given to the provider at once while unexpected messages are taken. */
#define QV_FB_CHUNK 64

int qv_fb_barrier(struct qv_fb_run *run)
{
	uint64_t token = run->nonce, got = 0;

	if (qv_fb_recv(&run->ep, &got, sizeof(got), QV_FB_TAG_SYNC, &run->sync_op) ||
	    qv_fb_send(&run->ep, &token, sizeof(token), QV_FB_TAG_SYNC) ||
	    qv_fb_wait_op(&run->ep, &run->sync_op) || qv_fb_flush(&run->ep))
		return -1;
	return got == token ? 0 : qv_fb_fail(&run->ep, "wrong data in a barrier", 0);
}

static char *slot(struct qv_fb_run *run, uint32_t i)
{
	return run->deep_buf + (size_t)i * sizeof(uint64_t);
}

static int post_deep(struct qv_fb_run *run, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (qv_fb_recv(&run->ep, slot(run, i), sizeof(uint64_t), QV_FB_TAG_DEEP + i,
			       &run->deep_ops[i]))
			return -1;
	return 0;
}

static int send_deep(struct qv_fb_run *run, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++) {
		uint64_t *value = (uint64_t *)(void *)run->send_buf + i % QV_FB_SEND_OPS;

		/* A send that is not injected owns its buffer until its slot comes round again. */
		if (qv_fb_wait_op(&run->ep, &run->ep.send_ops[run->ep.next_op % QV_FB_SEND_OPS]))
			return -1;
		*value = run->deep_base + i;
		if (qv_fb_send(&run->ep, value, sizeof(*value), QV_FB_TAG_DEEP + i))
			return -1;
	}
	return 0;
}

int qv_fb_fill(struct qv_fb_run *run, const struct qv_fb_case *what)
{
	run->deep_base = run->nonce << 20;
	memset(run->deep_buf, 0, ((size_t)what->depth + 1) * sizeof(uint64_t));
	if (what->queue == QV_FB_PRQ && post_deep(run, 0, what->depth))
		return -1;
	if (what->queue == QV_FB_UMQ && (send_deep(run, what->depth) || qv_fb_flush(&run->ep)))
		return -1;
	/* Messages of one sender are in order: after the barrier all of the above has arrived. */
	return qv_fb_barrier(run);
}

static int wait_deep(struct qv_fb_run *run, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (qv_fb_wait_op(&run->ep, &run->deep_ops[i]))
			return -1;
	return 0;
}

static int take_unexpected(struct qv_fb_run *run, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i += QV_FB_CHUNK) {
		uint32_t to = depth - i > QV_FB_CHUNK ? i + QV_FB_CHUNK : depth;

		if (post_deep(run, i, to) || wait_deep(run, i, to))
			return -1;
	}
	return 0;
}

int qv_fb_drain(struct qv_fb_run *run, const struct qv_fb_case *what)
{
	/* The peer may be here earlier: then some of these receives are complete already. */
	if (what->queue == QV_FB_PRQ &&
	    (send_deep(run, what->depth) || wait_deep(run, 0, what->depth)))
		return -1;
	if (what->queue == QV_FB_UMQ && take_unexpected(run, what->depth))
		return -1;
	for (uint32_t i = 0; i < what->depth; i++) {
		uint64_t value;

		memcpy(&value, slot(run, i), sizeof(value));
		if (value != run->deep_base + i)
			return qv_fb_fail(&run->ep, "wrong data in a queued message", 0);
	}
	return qv_fb_barrier(run);
}
