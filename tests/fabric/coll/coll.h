/* SPDX-License-Identifier: BSD-2-Clause */
/* coll.h - groups of the tests of collectives. */
#ifndef FT_COLL_H
#define FT_COLL_H

#include "tests/fabric/harness/ft.h"

#include <rdma/fi_collective.h>

/* A set of the ranks whose bits are set. */
struct fid_av_set *ft_set(struct ft_ep *ep, uint32_t members);
/* Their group; this rank is one of them. */
struct fid_mc *ft_join(struct ft_ep *ep, uint32_t members);
/* Wait for the event of a join: 0, or its FI_E*. */
int ft_join_event(struct ft_ep *ep, struct fid_mc *mc);

#endif /* FT_COLL_H */
