/* SPDX-License-Identifier: BSD-2-Clause */
/* entry.c - entries of the shared receive context: memory, and messages that
 * do not fit. */
#include "srx.h"

#include <stdlib.h>
#include <string.h>

#define SLAB_RXS 64
#define SLAB_TXS 256

_Static_assert(offsetof(struct qv_fi_rx, context) == 2 * 64, "the third cache line");
_Static_assert(offsetof(struct qv_fi_rx, iov[1]) == 4 * 64, "the fourth");
_Static_assert(offsetof(struct qv_fi_rx, entry) - offsetof(struct qv_fi_rx, context) ==
		       QV_ABI_RX_AHEAD,
	       "the owner's pointers");

struct qv_fi_slab {
	struct qv_fi_slab *next;
	size_t txs; /* 0: it has receives */
	char pad[64 - sizeof(void *) - sizeof(size_t)];
	char data[];
};

/* A buffer in place of the application's, which is kept beside it. */
struct qv_fi_bounce {
	struct iovec iov[QV_FI_IOV_LIMIT];
	size_t count;
	char data[];
};

static size_t ahead = QV_ABI_RX_AHEAD; /* of the libfabric of this process */

void qv_fi_rx_set_version(uint32_t version)
{
	ahead = FI_VERSION_LT(version, FI_VERSION(2, 3)) ? QV_ABI_RX_AHEAD : 0;
}

void *qv_fi_rx_give(struct qv_fi_rx *rx)
{
	return (char *)&rx->entry - ahead;
}

struct qv_fi_rx *qv_fi_rx_of(void *entry)
{
	return container_of((char *)entry + ahead, struct qv_fi_rx, entry);
}

/* Memory. */

static void *new_slab(struct qv_fi_srx *srx, size_t size)
{
	struct qv_fi_slab *slab = aligned_alloc(64, (sizeof *slab + size + 63) / 64 * 64);

	if (!slab)
		return NULL;
	memset(slab->data, 0, size);
	slab->txs = 0;
	slab->next = srx->slabs;
	srx->slabs = slab;
	return slab->data;
}

struct qv_fi_rx *qv_fi_rx_more(struct qv_fi_srx *srx)
{
	const size_t some = srx->writes_desc ? SLAB_RXS : 1; /* else one serves all */
	struct slab_rxs {
		struct qv_fi_rx rx[SLAB_RXS];
		void *desc[][QV_FI_IOV_LIMIT];
	} *slab = new_slab(srx, sizeof *slab + some * sizeof slab->desc[0]);
	struct qv_fi_rx *rxs = slab ? slab->rx : NULL;

	if (!rxs)
		return NULL;
	for (size_t i = 0; i < SLAB_RXS; i++) {
		struct qv_fi_rx *rx = &rxs[i];

		rx->entry.srx = &srx->port->abi;
		rx->entry.context = rx;
		rx->entry.desc = slab->desc[i % some];
		rx->entry.iov = rx->iov;
		rx->next = i + 1 < SLAB_RXS ? rx + 1 : srx->free;
	}
	srx->free = rxs->next;
	return rxs;
}

struct qv_fi_tx *qv_fi_tx_more(struct qv_fi_srx *srx)
{
	struct qv_fi_tx *txs = new_slab(srx, SLAB_TXS * sizeof *txs);

	if (!txs)
		return NULL;
	srx->slabs->txs = SLAB_TXS;
	for (size_t i = 0; i + 1 < SLAB_TXS; i++)
		txs[i].next = &txs[i + 1];
	txs[SLAB_TXS - 1].next = srx->free_tx;
	srx->free_tx = txs->next;
	return txs;
}

void qv_fi_srx_free_slabs(struct qv_fi_srx *srx)
{
	while (srx->slabs) {
		struct qv_fi_slab *slab = srx->slabs;

		srx->slabs = slab->next;
		free(slab);
	}
}

void qv_fi_srx_each(struct qv_fi_srx *srx, void (*rx)(struct qv_fi_rx *rx),
		    void (*tx)(struct qv_fi_srx *srx, struct qv_fi_tx *tx))
{
	for (struct qv_fi_slab *slab = srx->slabs; slab; slab = slab->next) {
		struct qv_fi_rx *rxs = (void *)slab->data;
		struct qv_fi_tx *txs = (void *)slab->data;

		for (size_t i = 0; !slab->txs && i < SLAB_RXS; i++)
			rx(&rxs[i]);
		for (size_t i = 0; i < slab->txs; i++)
			tx(srx, &txs[i]);
	}
}

bool qv_fi_tx_known(const struct qv_fi_srx *srx, const void *context)
{
	for (const struct qv_fi_slab *slab = srx->slabs; slab; slab = slab->next) {
		const struct qv_fi_tx *txs = (const void *)slab->data, *tx = context;

		if (tx >= txs && tx < txs + slab->txs)
			return tx->flying;
	}
	return false;
}

void qv_fi_rx_release(struct qv_fi_rx *rx)
{
	struct qv_fi_srx *srx = qv_fi_rx_srx(rx);

	if (QV_UNLIKELY(rx->how & QV_RX_BOUNCED))
		free(rx->bounce);
	rx->how = 0;
	if (srx->writes_desc)
		memset(rx->entry.desc, 0, QV_FI_IOV_LIMIT * sizeof rx->entry.desc[0]);
	rx->next = srx->free;
	srx->free = rx;
}

/* Messages that do not fit. */

struct qv_fi_bounce *qv_fi_bounce_new(const struct qv_fi_rx *rx)
{
	return malloc(sizeof(struct qv_fi_bounce) + qv_fi_rx_full(rx));
}

void qv_fi_rx_set_bounce(struct qv_fi_rx *rx, struct qv_fi_bounce *b)
{
	b->count = rx->entry.count;
	memcpy(b->iov, rx->iov, b->count * sizeof *b->iov);
	rx->iov[0] = (struct iovec){b->data, qv_fi_rx_full(rx)};
	rx->entry.count = 1;
	rx->bounce = b;
	rx->how |= QV_RX_BOUNCED;
}

bool qv_fi_rx_bounce(struct qv_fi_rx *rx)
{
	struct qv_fi_bounce *b = qv_fi_bounce_new(rx);

	if (b)
		qv_fi_rx_set_bounce(rx, b);
	return b;
}

void *qv_fi_rx_buffer(const struct qv_fi_rx *rx)
{
	if (QV_LIKELY(!(rx->how & QV_RX_BOUNCED)))
		return rx->iov[0].iov_base;
	return rx->bounce->count ? rx->bounce->iov[0].iov_base : NULL;
}

size_t qv_fi_rx_unbounce(struct qv_fi_rx *rx)
{
	struct qv_fi_bounce *b = rx->bounce;
	size_t full = qv_fi_rx_full(rx), done = 0;

	for (size_t i = 0; i < b->count && done < full; i++) {
		size_t left = full - done;
		size_t n = b->iov[i].iov_len < left ? b->iov[i].iov_len : left;

		if (n)
			memcpy(b->iov[i].iov_base, b->data + done, n);
		done += n;
	}
	return done;
}
