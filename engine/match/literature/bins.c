/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bins.c - structure "bins", after Flajslik, Dinan and Underwood (ISC 2016): 256 lists chosen by
 * a hash of tag and source, one list of wildcard receives, sequence numbers between them. A
 * wildcard receive looks for its message in every bin.
 *
 * As published, and so without a defence: the hash is known, and tags chosen to meet in one bin
 * make it a plain list.
 */
#include "binned.h"

#define LOG_BINS 8

static inline uint32_t hash(uint64_t tag, uint32_t src)
{
	return (uint32_t)((tag * UINT64_C(0xc13fa9a902a6328f) +
			   src * UINT64_C(0x91e10da5c79e7b1d)) >>
			  (64 - LOG_BINS));
}

static const struct qv_bin_shape shape = {.n_bins = 1u << LOG_BINS, .hash = hash, .all = 0};
QV_BINNED_CALLS(shape)

const struct qv_match_ops qv_match_bins = {
	.name = "bins",
	.size = sizeof(struct qv_binned) + 2 * sizeof(struct qv_chain[1 << LOG_BINS]),
	.init = init,
	.fini = fini,
	QV_QUEUES_OPS,
};
