/* SPDX-License-Identifier: BSD-2-Clause */
/* coll.c - messages of collectives by our protocol. */
#include "layered.h"

int qv_fi_layered_coll_send(struct qv_fi_ep *ep, fi_addr_t to, const struct qv_fi_coll_io *io)
{
	const struct iovec iov = {io->buf, io->bytes};
	const struct qv_send_args args = {.iov = &iov,
					  .cnt = 1,
					  .tag = io->tag,
					  .flags = QV_REQ_COLL | (io->context ? 0 : QV_REQ_INJECT),
					  .context = io->context,
					  .cookie = QV_CK_COLL};
	struct qv_peer *peer;
	const int status = qv_fi_reach_status(qv_fi_peer(ep, to, &peer));

	return status ? status : qv_proto_send(ep->proto, peer, &args);
}

int qv_fi_layered_coll_recv(struct qv_fi_ep *ep, fi_addr_t from, const struct qv_fi_coll_io *io)
{
	const struct iovec iov = {io->buf, io->bytes};
	struct qv_recv_args args = {.iov = &iov,
				    .cnt = 1,
				    .tag = io->tag,
				    .flags = QV_REQ_COLL,
				    .context = io->context,
				    .cookie = QV_CK_COLL};
	int status = QV_OK;

	if (from != FI_ADDR_UNSPEC)
		status = qv_fi_reach_status(qv_fi_peer(ep, from, &args.from));
	return status ? status : qv_proto_recv(ep->proto, &args);
}

void qv_fi_layered_coll_cancel(struct qv_fi_ep *ep, void *context)
{
	qv_proto_cancel_coll(ep->proto, context);
}

void qv_fi_layered_coll_discard(struct qv_fi_ep *ep, uint64_t tag, uint64_t ignore)
{
	bool found = true;
	const struct qv_recv_args args = {.tag = tag,
					  .ignore = ignore,
					  .flags = QV_REQ_COLL,
					  .context = &found,
					  .cookie = QV_CK_COLL | QV_CK_PEEK};

	while (found)
		qv_proto_peek(ep->proto, &args, QV_PEEK_DISCARD, NULL);
}
