/* SPDX-License-Identifier: BSD-2-Clause */
/* op.c - an operation on another's memory, as who asks for it sees it: whole, and in parts. */
#include "remote.h"

bool qv_remote_is_sound(const struct qv_remote_op *op, size_t *sum)
{
	const bool update = op->kind == QV_REMOTE_UPDATE;
	size_t len = 0;

	if (op->kind > QV_REMOTE_UPDATE || !op->nthere || op->nthere > QV_SPANS ||
	    op->nhere > QV_SPANS || op->nother > QV_SPANS || op->nbefore > QV_SPANS)
		return false;
	for (size_t i = 0; i < op->nthere; i++)
		len += op->there[i].len;
	*sum = len;
	return (update || !(op->nother || op->nbefore)) && (len || !update) &&
	       (qv_iov_len(op->here, op->nhere) == len || (update && !op->nhere)) &&
	       (!op->nother || (op->nhere && qv_iov_len(op->other, op->nother) == len)) &&
	       (!op->nbefore || qv_iov_len(op->before, op->nbefore) == len);
}

struct qv_part qv_part_at(const struct qv_span *there, size_t nthere, size_t at, size_t most)
{
	struct qv_part p = {.at = at};
	size_t i = 0;

	while (i + 1 < nthere && at >= there[i].len)
		at -= there[i++].len;
	p.span = there[i];
	p.span.addr += at;
	p.span.len -= at;
	if (p.span.len > most)
		p.span.len = most;
	return p;
}

bool qv_part_ends_key(const struct qv_part *part, const struct qv_span *there, size_t len)
{
	size_t end = part->at + part->span.len, left = len - end, i = 0;

	while (end > there[i].len)
		end -= there[i++].len;
	if (end < there[i].len)
		return false;
	while (left) {
		left -= there[++i].len;
		if (there[i].len && there[i].key == part->span.key)
			return false;
	}
	return true;
}

void qv_part_get(const struct qv_part *part, const struct iovec *list, size_t n, char *to)
{
	struct iovec iov[QV_SPANS];

	qv_iov_get(iov, qv_iov_slice(list, n, part->at, part->span.len, iov), to);
}

bool qv_part_put(const struct qv_part *part, const struct iovec *list, size_t n, const char *from,
		 size_t len)
{
	struct iovec iov[QV_SPANS];
	const size_t cnt = qv_iov_slice(list, n, part->at, part->span.len, iov);

	return len == qv_iov_len(iov, cnt) && qv_iov_put(iov, cnt, 0, from, len) == len;
}
