/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig_order.h - what MPI says about order, as plain as it can be written: two arrays per node
 * and engine. It watches packets go by and knows which send each receive must get.
 */
#ifndef QV_RIG_ORDER_H
#define QV_RIG_ORDER_H

#include "rig.h"

struct order_posted {
	struct rig_req *req;
	uint64_t tag, ignore;
	int from;
};

struct order_queues {
	struct order_posted *posted;
	struct rig_req **unexp; /* sends that have arrived without a receive */
	size_t nposted, nunexp;
};

struct order {
	struct rig *rig;
	struct order_queues q[QV_LOOP_MAX][2];
	struct rig_req **sent[QV_LOOP_MAX][QV_LOOP_MAX];
	size_t nsent[QV_LOOP_MAX][QV_LOOP_MAX], narrived[QV_LOOP_MAX][QV_LOOP_MAX];
};

/* Watch this rig (one at a time per rig; takes the loopback's tap). */
struct order *order_new(struct rig *rig);
void order_free(struct order *order);
/* Tell it: a send was accepted; a receive is about to be posted; one was canceled. */
void order_sent(struct order *order, struct rig_req *send);
void order_post(struct order *order, struct rig_req *recv, int from, uint64_t tag, uint64_t ignore);
/* False: it was not in the queue any more. */
bool order_cancel(struct order *order, struct rig_req *recv);
/* The oldest unexpected send that is accepted, NULL: none; take: it leaves the queue. */
struct rig_req *order_peek(struct order *order, unsigned node, int from, uint64_t tag,
			   uint64_t ignore, bool tagged, bool take);

/* The send that a receive must get: recv->user, set by the above. */

#endif /* QV_RIG_ORDER_H */
