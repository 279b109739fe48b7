/* SPDX-License-Identifier: BSD-2-Clause */
/* onesided.h - memory that every rank reaches, and operations on it. */
#ifndef FT_ONESIDED_H
#define FT_ONESIDED_H

#include "tests/fabric/harness/ft.h"

#define FT_PLACE ((size_t)9 << 20) /* bytes: two requests of core node and a bit */

/* A window of every rank, whose reads and writes are counted. */
struct ft_place {
	struct ft_ep ep;
	struct fid_mr *mr;
	struct fid_cntr *written, *read;
	char *target, *buf;
	uint64_t addr[FT_MAX_RANKS]; /* of each target; the key is 7 */
};

void ft_open_place(struct ft_place *p);
void ft_close_place(struct ft_place *p);
/* A write or read of len bytes at `at`, in two pieces here and one there, or three. data: told
 * there, unless it is 0. */
void ft_post_rma(struct ft_place *p, bool write, int to, size_t at, size_t len, unsigned spans,
		 uint64_t data, struct ft_op *op);
/* Rank `from` writes to `to` and reads that back, in every length that is special. */
void ft_rma_lengths(struct ft_place *p, int from, int to);

#endif /* FT_ONESIDED_H */
