/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.h - the counters of an endpoint. */
#ifndef FT_STATS_H
#define FT_STATS_H

#include "ft.h"

#include <quiver/fi_ext.h>

static inline struct qv_fi_stats ft_stats(struct ft_ep *ep)
{
	struct qv_fi_stats stats;
	void *ops;

	OK(fi_open_ops(&ep->ep->fid, QV_FI_OPS_STATS, 0, &ops, NULL));
	OK(((struct qv_fi_stats_ops *)ops)->get(&ep->ep->fid, &stats, sizeof(stats)));
	return stats;
}

#endif /* FT_STATS_H */
