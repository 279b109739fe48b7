/* SPDX-License-Identifier: BSD-2-Clause */
/* claim.c - a message that FI_PEEK with FI_CLAIM has found, in the application's struct fi_context. */
#include "fabric_glue/data.h"

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
