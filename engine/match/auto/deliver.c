/* SPDX-License-Identifier: BSD-2-Clause */
/* deliver.c - structure "auto": a message arrives, and is queued if no receive takes it. */
#include "arrive.h"

int qv_auto_deliver_last(struct qv_auto *a, struct qv_recv *const *recv)
{
	qv_line_emptied(&a->posted, (*recv)->priv);
	return QV_OK;
}

/* A miss is counted as soon as it is known that the call succeeds. */

static QV_APART int deliver_other(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = qv_auto_arrive_other(a, msg->tag, msg->src);

	if (!r) {
		a->base.stats.arrived--;
		return qv_auto_deliver_append(a, msg, recv);
	}
	*recv = r;
	return QV_OK;
}

static QV_APART int deliver_by_heads(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv);

QV_INLINE int deliver_end(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv,
			  enum qv_short end, struct qv_recv *r)
{
	switch (end) {
	case QV_SHORT_HIT: *recv = r; return QV_OK;
	case QV_SHORT_LAST: *recv = r; return qv_auto_deliver_last(a, recv);
	case QV_SHORT_MISS: return qv_auto_deliver_append(a, msg, recv);
	case QV_SHORT_BUCKET: return deliver_by_heads(a, msg, recv);
	default: return deliver_other(a, msg, recv);
	}
}

static QV_APART int deliver_by_heads(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_heads(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_in_list(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_list(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_in_wide(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_wide(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_in_classes(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_classes(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_in_main_of_many(struct qv_auto *a, struct qv_msg *msg,
					    struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_main_many(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_in_main(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end;

	if (a->posted.n_in_use != 2)
		return deliver_in_main_of_many(a, msg, recv);
	end = arrive_main_pair(&a->posted, msg->tag, msg->src, &r);
	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_in_pair(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_pair(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

static QV_APART int deliver_astray(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_stray(&a->posted, msg->tag, msg->src, &r);

	return deliver_end(a, msg, recv, end, r);
}

QV_INLINE int deliver_in_stream(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_recv *r;

	switch (arrive_stream(&a->posted, msg->tag, msg->src, &r)) {
	case QV_SHORT_HIT: *recv = r; return QV_OK;
	case QV_SHORT_LAST: *recv = r; return qv_auto_deliver_last(a, recv);
	default: return deliver_astray(a, msg, recv);
	}
}

static QV_APART int deliver_along_bucket(struct qv_auto *a, struct qv_msg *msg,
					 struct qv_recv **recv, uint64_t *slot)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_bucket(&a->posted, msg->tag, msg->src, slot, &r);

	return deliver_end(a, msg, recv, end, r);
}

int qv_auto_deliver_in_bucket(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv,
			      uint64_t *slot)
{
	struct qv_recv *r;

	switch (arrive_first(&a->posted, msg->tag, msg->src, slot, &r)) {
	case QV_SHORT_HIT: *recv = r; return QV_OK;
	case QV_SHORT_LAST: *recv = r; return qv_auto_deliver_last(a, recv);
	default: return deliver_along_bucket(a, msg, recv, slot);
	}
}

int qv_auto_deliver_search(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	if (a->posted.way == QV_WAY_STREAM)
		return deliver_in_stream(a, msg, recv);
	switch (a->posted.way) {
	case QV_WAY_LIST: return deliver_in_list(a, msg, recv);
	case QV_WAY_MAIN: return deliver_in_main(a, msg, recv);
	case QV_WAY_PAIR: return deliver_in_pair(a, msg, recv);
	case QV_WAY_HEADS: return deliver_by_heads(a, msg, recv);
	case QV_WAY_MANY: return deliver_in_classes(a, msg, recv);
	default: return deliver_in_wide(a, msg, recv);
	}
}
