/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hash.c - structure "hash", after Moraru et al. (SBAC-PAD 2022): one hash table keyed by tag
 * and source, for receives and for messages. Meant for programs without wildcards; a receive that
 * is not exact is served in order all the same, slowly.
 */
#include "tables.h"

static const struct qv_tables_shape shape = {.n_masks = 1, .n_tables = 1};
QV_TABLES_CALLS(shape)

const struct qv_match_ops qv_match_hash = {
	.name = "hash",
	.size = sizeof(struct qv_tables),
	.init = init,
	.fini = qv_tables_fini,
	QV_QUEUES_OPS,
	.prefetch = qv_tables_prefetch,
};
