/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * planner_net.h - planners of all ranks of a graph in one process, and their messages, which are on
 * their way for any time; those from one rank to another come in order.
 */
#ifndef QV_PLANNER_NET_H
#define QV_PLANNER_NET_H

#include "graph_case.h"

struct planner_net; /* opaque */

/* The rank whose planner is at work now; PLANNER_NET_NOBODY: none is. */
#define PLANNER_NET_NOBODY UINT32_MAX
extern uint32_t planner_net_at_work;

/* The spec of a rank. aware: groups within the nodes of the case. */
struct qv_planner_spec planner_net_spec(const struct qv_graph_case *c, uint32_t rank, uint32_t k,
					int aware, int cumulative);
struct planner_net *planner_net_create(const struct qv_graph_case *c, uint32_t k, int aware,
				       int cumulative, uint64_t seed);
/* Begin, some planners later than others, and carry messages until there are none; what the first
 * planner that fails has said. */
int planner_net_try(struct planner_net *net);
/* All planners must succeed. */
struct planner_net *planner_net_run(const struct qv_graph_case *c, uint32_t k, int aware,
				    int cumulative, uint64_t seed);
/* The part of a rank, which is to be freed. */
struct qv_neighbor_plan *planner_net_plan(struct planner_net *net, uint32_t rank);
/* Of the messages that were sent. */
uint64_t planner_net_words(const struct planner_net *net);
void planner_net_close(struct planner_net *net);

#endif /* QV_PLANNER_NET_H */
