/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stage.c - which rings have a large staging area: those that are full again and again, so many of an
 * endpoint. In a small one each line is written again while the receiver's processor still has it,
 * and is fetched from there; in a large one it has left both processors' own caches. But each page
 * of a large one costs both sides a fault when it is touched first, in virtual machines 15 us and more:
 * who is read as fast as it sends stays with the pages that it has.
 */
#include "engine/base/clock.h"
#include "internal.h"

#define QUIET_NS 10000000000u /* without a packet through it before its memory is given back */

/* No room. Counted once, however often it is asked for before there is some. */
static QV_NOINLINE void found_full(struct qv_node *n, struct qv_ring_tx *tx)
{
	if (tx->stage == QV_RING_LARGE || tx->full_at == tx->put)
		return;
	tx->full_at = tx->put;
	if (++tx->fulls < QV_RING_FULLS)
		return;
	tx->fulls = 0;
	if (n->nlarge < QV_NODE_LARGE && qv_ring_enlarge(tx))
		n->large[n->nlarge++] = (struct qv_node_large){tx, tx->put, qv_clock_ns()};
}

uint32_t qv_node_stage(struct qv_node *n, struct qv_ring_tx *tx, uint32_t len)
{
	uint32_t at = qv_ring_stage(tx, len);

	if (QV_UNLIKELY(at == UINT32_MAX))
		found_full(n, tx);
	return at;
}

void qv_node_stages_check(struct qv_node *n)
{
	const uint64_t now = qv_clock_ns();

	for (unsigned i = n->nlarge; i-- > 0;) {
		struct qv_node_large *large = &n->large[i];

		if (large->put != large->tx->put) {
			large->put = large->tx->put;
			large->quiet_ns = now;
		} else if (now - large->quiet_ns >= QUIET_NS && qv_ring_reduce(large->tx)) {
			*large = n->large[--n->nlarge];
		}
	}
}

void qv_node_stage_end(struct qv_node *n, const struct qv_ring_tx *tx)
{
	for (unsigned i = 0; i < n->nlarge; i++)
		if (n->large[i].tx == tx) {
			n->large[i] = n->large[--n->nlarge];
			return;
		}
}
