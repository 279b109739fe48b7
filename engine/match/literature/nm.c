/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nm.c - structure "nm", the shape of NewMadeleine (Denis, CCGrid 2019): four hash tables, for
 * two ignore masks (exact, any tag), each with the source compared and not. A receive is in one of
 * them, a message in all four; an arrival looks in all four and the lowest sequence number wins.
 */
#include "tables.h"

static const struct qv_tables_shape shape = {.n_masks = 2, .n_tables = 4};
QV_TABLES_CALLS(shape)

const struct qv_match_ops qv_match_nm = {
	.name = "nm",
	.size = sizeof(struct qv_tables),
	.init = init,
	.fini = qv_tables_fini,
	QV_QUEUES_OPS,
	.prefetch = qv_tables_prefetch,
};
