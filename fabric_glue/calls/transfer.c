/* SPDX-License-Identifier: BSD-2-Clause */
/* transfer.c - sends and receives, tagged and not: as the endpoint's mode has them. */
#include "fabric_glue/data.h"

/* What keeps an endpoint from sending or receiving. */
static ssize_t not_ready(const struct qv_fi_ep *ep)
{
	return __atomic_load_n(&ep->enabled, __ATOMIC_RELAXED) ? 0 : -FI_EOPBADSTATE;
}

ssize_t qv_fi_send(struct qv_fi_ep *ep, const struct qv_fi_send *s, uint64_t flags)
{
	if (QV_UNLIKELY(not_ready(ep)))
		return not_ready(ep);
	return ep->mode->send(ep, s, flags);
}

ssize_t qv_fi_inject(struct qv_fi_ep *ep, const struct qv_fi_send *s)
{
	if (QV_UNLIKELY(not_ready(ep)))
		return not_ready(ep);
	return ep->mode->inject(ep, s);
}

ssize_t qv_fi_recv(struct qv_fi_ep *ep, const struct qv_fi_recv *r, uint64_t flags)
{
	if (QV_UNLIKELY(not_ready(ep)))
		return not_ready(ep);
	return ep->mode->recv(ep, r, flags);
}

/* The second word shows that it was us who wrote it. */
#define CLAIM_MARK 0x5175697665720051ull

void qv_fi_claim_store(struct fi_context *context, void *u)
{
	context->internal[0] = u;
	context->internal[1] = (void *)((uintptr_t)u ^ (uintptr_t)CLAIM_MARK);
}

void *qv_fi_claim_take(struct fi_context *context)
{
	void *u = context->internal[0];

	if (!u || context->internal[1] != (void *)((uintptr_t)u ^ (uintptr_t)CLAIM_MARK))
		return NULL;
	context->internal[0] = context->internal[1] = NULL;
	return u;
}
