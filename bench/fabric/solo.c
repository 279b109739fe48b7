/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * solo.c - one process that sends to itself, as Open MPI's mtl ofi would, so that instructions can be
 * counted. Each call of libfabric is in a function of its own: under callgrind what that calls is
 * what the provider costs (scripts/instructions).
 */
#include "ucx.h"
#include "engine/base/compiler.h"

#include <stdio.h>

#define READ 100 /* entries that mtl ofi asks for */

static QV_NOINLINE ssize_t qv_fb_solo_send(struct qv_fb_run *run, uint32_t bytes)
{
	struct qv_fb_ep *ep = &run->ep;
	struct qv_fb_op *op = &ep->send_ops[0];

	if (bytes < ep->inject_below)
		return fi_tinjectdata(ep->ep, run->send_buf, bytes, 1, ep->peer, QV_FB_TAG_PING);
	op->busy = true;
	ep->sends_out++;
	return fi_tsenddata(ep->ep, run->send_buf, bytes, NULL, 1, ep->peer, QV_FB_TAG_PING, op);
}

static QV_NOINLINE ssize_t qv_fb_solo_recv(struct qv_fb_run *run, uint32_t bytes)
{
	struct qv_fb_ep *ep = &run->ep;

	return fi_trecv(ep->ep, run->recv_buf, bytes, NULL, ep->from, QV_FB_TAG_PING, 0,
			&run->ops[0]);
}

static QV_NOINLINE ssize_t qv_fb_solo_read(struct qv_fb_run *run,
					   struct fi_cq_tagged_entry *entries)
{
	ssize_t n = fi_cq_read(run->ep.cq, entries, READ);

	__asm__ volatile(""); /* or it would be a jump, and the call not seen as ours */
	return n;
}

static int read_some(struct qv_fb_run *run)
{
	struct fi_cq_tagged_entry entries[READ];
	ssize_t n = qv_fb_solo_read(run, entries);

	for (ssize_t i = 0; i < n; i++) {
		struct qv_fb_op *op = entries[i].op_context;

		op->busy = false;
		run->ep.sends_out -= !op->is_recv;
	}
	return n >= 0 || n == -FI_EAGAIN ? 0 : qv_fb_fail(&run->ep, "fi_cq_read", n);
}

static int message(struct qv_fb_run *run, uint32_t bytes, uint64_t number)
{
	struct qv_fb_ep *ep = &run->ep;
	struct qv_fb_op *op = &run->ops[0];
	ssize_t rc;

	memcpy(run->send_buf, &number, bytes < sizeof(number) ? bytes : sizeof(number));
	op->is_recv = op->busy = true;
	rc = qv_fb_solo_recv(run, bytes);
	if (rc)
		return qv_fb_fail(ep, "fi_trecv", rc);
	rc = qv_fb_solo_send(run, bytes);
	if (rc)
		return qv_fb_fail(ep, "fi_tinjectdata", rc);
	while (op->busy || ep->sends_out)
		if (read_some(run))
			return -1;
	if (memcmp(run->recv_buf, &number, bytes < sizeof(number) ? bytes : sizeof(number)))
		return qv_fb_fail(ep, "wrong message number", 0);
	return 0;
}

static int ucx_message(struct qv_fb_run *run, uint32_t bytes)
{
	if (qv_fb_recv(&run->ep, run->recv_buf, bytes, QV_FB_TAG_PING, &run->ops[0]) ||
	    qv_fb_send(&run->ep, run->send_buf, bytes, QV_FB_TAG_PING))
		return -1;
	return qv_fb_wait_op(&run->ep, &run->ops[0]) || qv_fb_flush(&run->ep);
}

static QV_NOINLINE int qv_fb_solo_loop(struct qv_fb_run *run, uint32_t bytes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (run->ep.ucx ? ucx_message(run, bytes) : message(run, bytes, i))
			return -1;
	return 0;
}

static int solo(struct qv_fb_run *run, const struct qv_fb_case *what, uint32_t n)
{
	char address[QV_FB_ADDRESS];
	size_t size;

	if (qv_fb_own_address(&run->ep, address, &size) || qv_fb_ep_connect(&run->ep, address) ||
	    qv_fb_run_reserve(run, what) || qv_fb_fill(run, what))
		return -1;
	/* Connecting and first use of pools are over before the messages that count. */
	if (qv_fb_solo_loop(run, what->bytes, 64) || qv_fb_solo_loop(run, what->bytes, n))
		return -1;
	return qv_fb_drain(run, what);
}

int qv_fb_solo(const struct qv_fb_setup *setup, const struct qv_fb_case *what, uint32_t n)
{
	uint64_t beat = 0;
	struct qv_fb_run run = {.self = true, .ep = {.beat = &beat}};
	struct qv_fb_setup as_mtl = *setup;
	int rc;

	as_mtl.directed = !qv_fb_ucx_is(setup->impl);
	rc = qv_fb_run_init(&run) || qv_fb_ep_open(&run.ep, &as_mtl) || solo(&run, what, n);
	if (rc)
		fprintf(stderr, "quiver: %s over %s: %s\n", what->name, setup->impl, run.ep.error);
	else
		printf("%s %s: 64 + %u messages to itself\n", what->name, setup->impl, n);
	qv_fb_ep_close(&run.ep);
	qv_fb_run_free(&run);
	return rc ? 1 : 0;
}
