/* SPDX-License-Identifier: BSD-2-Clause */
/* live.c - the endpoints of this process, for `quiver top` in another one. */
#include "fabric_glue/data.h"

#include <string.h>

static struct qv_live_table table = {
	.magic = QV_LIVE_MAGIC,
	.self = &table,
	.version = QUIVER_VERSION,
	.size = sizeof(struct qv_live),
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void qv_fi_live_begin(struct qv_fi_ep *ep)
{
	static uint64_t numbers;
	struct qv_live *l = &ep->live;
	const char *structure;

	l->engine[0] = ep->mode->engine(ep, 0);
	l->engine[1] = ep->mode->engine(ep, QV_REQ_TAGGED);
	structure = qv_match_structure(l->engine[1]);
	l->bytes = qv_match_bytes(structure);
	strncpy(l->structure, structure, sizeof l->structure - 1);
	strncpy(l->core, qv_fi_ep_cores(ep), sizeof l->core - 1);
	pthread_mutex_lock(&lock);
	l->number = numbers++;
	l->next = table.first;
	__atomic_store_n(&table.first, l, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

void qv_fi_live_end(struct qv_fi_ep *ep)
{
	struct qv_live **at = &table.first;

	pthread_mutex_lock(&lock);
	while (*at && *at != &ep->live)
		at = &(*at)->next;
	if (*at)
		__atomic_store_n(at, ep->live.next, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}
