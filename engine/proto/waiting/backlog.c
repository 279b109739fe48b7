/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backlog.c - the backlog: short messages that wait for the transport or for credit, many in one
 * request. What is known of each stands in a row in one piece of memory, its payload behind it.
 */
#include "engine/proto/internal.h"

#include <stdlib.h>

#define BACKLOG_BYTES (16u << 10)

struct entry {
	uint64_t tag;
	void *context;
	uint32_t cookie;
	uint16_t len;
	uint8_t flags; /* QV_REQ_ENGINE, QV_REQ_DATA, QV_REQ_QUIET */
	uint8_t size;  /* of entry, data and payload, in units of 8 bytes */
};

static_assert(sizeof(struct entry) == 24, "entry of a backlog");

static size_t entry_size(size_t len, bool data)
{
	return (sizeof(struct entry) + (data ? sizeof(uint64_t) : 0) + len + 7) / 8 * 8;
}

static struct qv_tx *backlog_new(struct qv_peer *to)
{
	struct qv_tx *tx = qv_tx_new(to, QV_TX_BACKLOG);

	if (!tx)
		return NULL;
	tx->packet = malloc(BACKLOG_BYTES);
	if (!tx->packet) {
		tx->packet = tx->small;
		qv_tx_put(tx);
		return NULL;
	}
	tx->reported = true; /* it has no completion of its own */
	qv_tx_enqueue(tx);
	to->p->waiting--; /* its messages count */
	return tx;
}

int qv_backlog_append(struct qv_peer *to, const struct qv_send_args *args, size_t len)
{
	struct entry e = {.tag = args->tag,
			  .context = args->context,
			  .cookie = (uint32_t)args->cookie,
			  .len = (uint16_t)len,
			  .flags = args->flags & (QV_REQ_ENGINE | QV_REQ_DATA | QV_REQ_QUIET)};
	struct qv_tx *tx = to->tail;
	size_t size = entry_size(len, args->flags & QV_REQ_DATA);
	char *at;

	if (args->cookie > UINT32_MAX)
		return QV_EAGAIN;
	if (!to->head || tx->kind != QV_TX_BACKLOG || tx->pktlen + size > BACKLOG_BYTES)
		tx = backlog_new(to);
	if (!tx)
		return QV_ENOMEM;
	e.size = (uint8_t)(size / 8);
	at = tx->packet + tx->pktlen;
	memcpy(at, &e, sizeof e);
	at += sizeof e;
	if (args->flags & QV_REQ_DATA) {
		memcpy(at, &args->data, sizeof args->data);
		at += sizeof args->data;
	}
	qv_iov_get(args->iov, args->cnt, at);
	to->p->stats.copied += len;
	tx->pktlen += size;
	to->p->waiting++;
	return QV_OK;
}

static struct entry entry_at(const struct qv_tx *tx)
{
	struct entry e;

	memcpy(&e, tx->packet + tx->pos, sizeof e);
	return e;
}

/* The message as the application gave it; iov is room for its only piece. */
static struct qv_send_args args_of(const struct qv_tx *tx, const struct entry *e, struct iovec *iov)
{
	struct qv_send_args args = {.iov = iov,
				    .cnt = 1,
				    .tag = e->tag,
				    .flags = e->flags,
				    .context = e->context,
				    .cookie = e->cookie};
	char *at = tx->packet + tx->pos + sizeof *e;

	if (e->flags & QV_REQ_DATA) {
		memcpy(&args.data, at, sizeof args.data);
		at += sizeof args.data;
	}
	*iov = (struct iovec){at, e->len};
	return args;
}

static void next(struct qv_tx *tx, const struct entry *e)
{
	tx->pos += e->size * 8u;
	tx->p->waiting--;
}

int qv_backlog_issue(struct qv_tx *tx)
{
	while (tx->pos < tx->pktlen) {
		struct entry e = entry_at(tx);
		struct iovec iov;
		struct qv_send_args args = args_of(tx, &e, &iov);
		int rc = qv_send_short(tx->peer, &args, e.len);

		if (rc)
			return rc;
		next(tx, &e);
		tx->p->stats.eager++;
		tx->p->ops->sent(tx->p->owner, e.context, e.cookie, e.flags & QV_REQ_TAGGED);
	}
	return QV_OK;
}

void qv_backlog_fail(struct qv_tx *tx, int status)
{
	while (tx->pos < tx->pktlen) {
		struct entry e = entry_at(tx);
		struct qv_comp comp = {.context = e.context,
				       .cookie = e.cookie,
				       .status = status,
				       .tagged = e.flags & QV_REQ_TAGGED,
				       .len = e.len,
				       .full = e.len,
				       .tag = e.tag,
				       .user = QV_USER_UNKNOWN};

		next(tx, &e);
		tx->p->ops->complete(tx->p->owner, &comp);
		if (e.flags & QV_REQ_QUIET)
			qv_peer_untold(tx->peer);
	}
	qv_backlog_free(tx);
}

void qv_backlog_free(struct qv_tx *tx)
{
	free(tx->packet);
	tx->packet = tx->small;
	qv_tx_put(tx);
}
