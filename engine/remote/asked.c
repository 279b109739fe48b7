/* SPDX-License-Identifier: BSD-2-Clause */
/* asked.c - what others ask of our memory: checked, found, done. */
#include "remote.h"

#include <quiver/types.h>

#include <string.h>

bool qv_asked_take_total(struct qv_asked *a)
{
	a->total = a->ask.len;
	if (!(a->ask.flags & QV_ASK_TOTAL))
		return true;
	if (a->ask.kind != QV_REMOTE_PUT || a->len < sizeof a->total)
		return false;
	a->len -= sizeof a->total;
	memcpy(&a->total, a->payload + a->len, sizeof a->total);
	return a->total >= a->ask.len && a->total <= SIZE_MAX;
}

bool qv_asked_is_sound(struct qv_asked *a, size_t most)
{
	const struct qv_ask *ask = &a->ask;

	if (ask->len > most || ask->flags & QV_ASK_DIRECT || !qv_asked_take_total(a))
		return false;
	switch (ask->kind) {
	case QV_REMOTE_GET: return !a->len;
	case QV_REMOTE_PUT: return a->len == ask->len;
	case QV_REMOTE_UPDATE:
		a->operands = ask->len ? a->len / ask->len : 0;
		return ask->len && a->len == a->operands * ask->len &&
		       (a->operands || ask->flags & QV_ASK_BEFORE);
	default: return false;
	}
}

unsigned qv_asked_access(const struct qv_asked *a)
{
	switch (a->ask.kind) {
	case QV_REMOTE_PUT: return QV_MEM_WRITE;
	case QV_REMOTE_UPDATE:
		return (a->ask.flags & QV_ASK_BEFORE ? QV_MEM_READ : 0) |
		       (a->operands ? QV_MEM_WRITE : 0);
	default: return QV_MEM_READ;
	}
}

int qv_asked_find(struct qv_asked *a, const struct qv_memory_ops *ops, void *owner)
{
	const struct qv_span span = {a->ask.addr, a->ask.key, a->ask.len};

	if (!ops)
		return QV_EINVAL;
	if (a->ask.kind == QV_REMOTE_UPDATE &&
	    !ops->can_update(owner, a->ask.what, a->ask.len, a->operands,
			     a->ask.flags & QV_ASK_BEFORE))
		return QV_EINVAL;
	return ops->find(owner, &span, qv_asked_access(a), a->iov, &a->niov);
}

size_t qv_asked_answer_len(const struct qv_asked *a)
{
	const bool wanted = a->ask.kind == QV_REMOTE_GET ||
			    (a->ask.kind == QV_REMOTE_UPDATE && a->ask.flags & QV_ASK_BEFORE);

	return wanted ? a->ask.len : 0;
}

void qv_asked_do(const struct qv_asked *a, const struct qv_memory_ops *ops, void *owner, char *out)
{
	if (a->ask.kind == QV_REMOTE_UPDATE)
		ops->update(owner, a->ask.what, a->iov, a->niov, a->payload, a->ask.len,
			    a->ask.flags & QV_ASK_BEFORE ? out : NULL);
	else if (a->ask.kind == QV_REMOTE_PUT)
		qv_iov_put(a->iov, a->niov, 0, a->payload, a->len);
	else if (a->ask.kind == QV_REMOTE_GET && out)
		qv_iov_get(a->iov, a->niov, out);
}

void qv_asked_tell(const struct qv_asked *a, const struct qv_memory_ops *ops, void *owner,
		   uint64_t from, uint64_t data)
{
	const unsigned access = qv_asked_access(a);
	const bool told = a->ask.kind == QV_REMOTE_PUT && a->ask.flags & QV_ASK_DATA;
	const struct qv_touch touch = {
		.from = from,
		.access = access & QV_MEM_READ ? QV_MEM_READ : QV_MEM_WRITE,
		.len = a->total,
		.data = told ? &data : NULL,
	};

	if (a->ask.flags & QV_ASK_KEY && access & QV_MEM_WRITE)
		ops->written(owner, a->ask.key);
	if (a->ask.flags & QV_ASK_LAST)
		ops->touched(owner, &touch);
}
