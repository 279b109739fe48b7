/* SPDX-License-Identifier: BSD-2-Clause */
/* update.c - fi_atomic(3) by our own protocol, where the core does not do it: both sides. */
#include "fabric_glue/calls.h"
#include "fabric_glue/node/memory.h"

ssize_t qv_fi_own_update(struct qv_fi_ep *ep, fi_addr_t to, const struct fi_msg_atomic *msg,
			 const struct fi_ioc *compare, size_t ncompare, const struct fi_ioc *result,
			 size_t nresult)
{
	struct qv_fi_pass *pass = msg->context;
	struct qv_peer *peer;
	struct qv_fi_update update;
	int rc = qv_fi_update_init(&update, ep->dom->memory, msg, compare, ncompare, result,
				   nresult, 0);

	if (!rc)
		rc = qv_fi_peer(ep, to, &peer);
	if (rc)
		return rc;
	return -qv_fi_errno(qv_proto_update(ep->proto, peer, &update.op, &pass->xfer));
}

/* The owner of a protocol is its endpoint. */

static const struct qv_fi_memory *memory_of(void *owner)
{
	return ((struct qv_fi_ep *)owner)->dom->memory;
}

static int find(void *owner, const struct qv_span *span, unsigned access, struct iovec *iov,
		size_t *cnt)
{
	return qv_fi_memory_find(memory_of(owner), span, access, iov, cnt);
}

static bool can_update(void *owner, uint16_t what, size_t len, size_t operands, bool before)
{
	return qv_fi_memory_can_update(memory_of(owner), what, len, operands, before);
}

static void update(void *owner, uint16_t what, const struct iovec *iov, size_t cnt,
		   const void *operands, size_t len, void *before)
{
	qv_fi_memory_update(memory_of(owner), what, iov, cnt, operands, len, before);
}

static bool counts_reads(void *owner)
{
	return ((struct qv_fi_ep *)owner)->cntrs[QV_FI_CNTR_REMOTE_READ];
}

static void written(void *owner, uint64_t key)
{
	struct qv_fi_cntr *cntr = qv_fi_memory_counter(memory_of(owner), key);

	if (!cntr)
		return;
	cntr->value++;
	qv_fi_wait_set_wake(&cntr->wait_set);
}

static void touched(void *owner, const struct qv_touch *touch)
{
	const bool read = touch->access & QV_MEM_READ;

	qv_fi_count(owner, read ? QV_FI_CNTR_REMOTE_READ : QV_FI_CNTR_REMOTE_WRITE, false);
}

const struct qv_memory_ops qv_fi_own_memory_ops = {
	.find = find,
	.can_update = can_update,
	.update = update,
	.counts_reads = counts_reads,
	.written = written,
	.touched = touched,
};
