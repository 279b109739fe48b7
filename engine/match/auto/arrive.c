/* SPDX-License-Identifier: BSD-2-Clause */
/* arrive.c - structure "auto": a message arrives. */
#include "arrive.h"

/* Arrivals: search of the posted queue, which is not empty. */

struct qv_recv *qv_auto_arrive_last(struct qv_auto *a, struct qv_recv *r)
{
	qv_line_emptied(&a->posted, r->priv);
	return r;
}

static QV_APART struct qv_recv *arrive_by_heads(struct qv_auto *a, uint64_t tag, uint32_t src);

/* Apart from each other, so that each saves the registers only that it needs. */
QV_INLINE struct qv_recv *arrive_end(struct qv_auto *a, uint64_t tag, uint32_t src,
				     enum qv_short end, struct qv_recv *r)
{
	switch (end) {
	case QV_SHORT_HIT: return r;
	case QV_SHORT_LAST: return qv_auto_arrive_last(a, r);
	case QV_SHORT_MISS: return arrive_missed(a);
	case QV_SHORT_BUCKET: return arrive_by_heads(a, tag, src);
	default: return qv_auto_arrive_other(a, tag, src);
	}
}

/* Several classes, and no way as short as that. */
static QV_APART struct qv_recv *arrive_by_heads(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_heads(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

static QV_APART struct qv_recv *arrive_in_list(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_list(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

static QV_APART struct qv_recv *arrive_in_wide(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_wide(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

static QV_APART struct qv_recv *arrive_in_classes(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_classes(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

static QV_APART struct qv_recv *arrive_in_main(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_main_many(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

static QV_APART struct qv_recv *arrive_in_pair(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_pair(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

static QV_APART struct qv_recv *arrive_astray(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_stray(&a->posted, tag, src, &r);

	return arrive_end(a, tag, src, end, r);
}

QV_INLINE struct qv_recv *arrive_in_stream(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_recv *r = NULL;

	switch (arrive_stream(&a->posted, tag, src, &r)) {
	case QV_SHORT_HIT: return r;
	case QV_SHORT_LAST: return qv_auto_arrive_last(a, r);
	default: return arrive_astray(a, tag, src);
	}
}

static QV_APART struct qv_recv *arrive_along_bucket(struct qv_auto *a, uint64_t tag, uint32_t src,
						    uint64_t *slot)
{
	struct qv_recv *r = NULL;
	enum qv_short end = arrive_bucket(&a->posted, tag, src, slot, &r);

	return arrive_end(a, tag, src, end, r);
}

struct qv_recv *qv_auto_arrive_in_bucket(struct qv_auto *a, uint64_t tag, uint32_t src,
					 uint64_t *slot)
{
	struct qv_recv *r = NULL;

	switch (arrive_first(&a->posted, tag, src, slot, &r)) {
	case QV_SHORT_HIT: return r;
	case QV_SHORT_LAST: return qv_auto_arrive_last(a, r);
	default: return arrive_along_bucket(a, tag, src, slot);
	}
}

struct qv_recv *qv_auto_arrive_search(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	if (a->posted.way == QV_WAY_STREAM)
		return arrive_in_stream(a, tag, src);
	switch (a->posted.way) {
	case QV_WAY_LIST: return arrive_in_list(a, tag, src);
	case QV_WAY_MAIN: return arrive_in_main(a, tag, src);
	case QV_WAY_PAIR: return arrive_in_pair(a, tag, src);
	case QV_WAY_HEADS: return arrive_by_heads(a, tag, src);
	case QV_WAY_MANY: return arrive_in_classes(a, tag, src);
	default: return arrive_in_wide(a, tag, src);
	}
}
