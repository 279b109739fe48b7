/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ucx.c - structure "ucx", the shape of UCX's tag matching, written anew: lists chosen by two
 * remainders of the tag for exact receives, one list for the others; every message is in such a
 * list and in one list of all messages, which receives that are not exact walk. Nothing grows.
 *
 * UCX sees one tag of 64 bits. MPIs put the user's tag into its upper part and sender and context
 * into the lower; so does the hash here, with the context being what our tags have above bit 31.
 *
 * Faithful also in having no defence: tags that leave the same remainders share one list.
 */
#include "binned.h"

#define PRIME  1021u
#define N_BINS 1024u /* what two numbers below PRIME can make, combined bit by bit */

static inline uint32_t hash(uint64_t tag, uint32_t src)
{
	uint32_t low = src << 20 ^ (uint32_t)(tag >> 32);
	uint32_t high = ((uint32_t)tag << 8 | (uint32_t)tag >> 24) ^ src >> 12;

	return low % PRIME ^ high % PRIME;
}

static const struct qv_bin_shape shape = {.n_bins = N_BINS, .hash = hash, .all = 1};
QV_BINNED_CALLS(shape)

const struct qv_match_ops qv_match_ucx = {
	.name = "ucx",
	.size = sizeof(struct qv_binned) + 2 * sizeof(struct qv_chain[N_BINS]),
	.init = init,
	.fini = fini,
	QV_QUEUES_OPS,
};
