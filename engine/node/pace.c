/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pace.c - are messages of several packets to go eagerly? Two copies through the staging area overlap, and
 * nobody is asked. But where the processors share no cache, each line of the area is first taken away
 * from the receiver's: on some such a copy alone takes longer than the kernel's whole read of the
 * sender's memory. So some copies are timed. Where they are slow, the next messages are rendezvous, of
 * which the receiver knows what is faster; then it is looked at again.
 */
#include "internal.h"

/* On AMD's a packet of QV_RING_PACKET bytes takes 0.5 to 1.4 us where both processors share a cache, else 1.6
 * to 4.6. At this pace 64 KiB take as long as a read of them. */
#define SLOW_NS 2000u
#define COPIES  8u   /* are timed before the mean of them is judged */
#define REST    256u /* messages before it is looked at again */

/* One of them may be much longer, for a processor was away or a page was new: it counts as twice SLOW_NS. */
void qv_node_copied(struct qv_node_pace *pace, uint64_t ns)
{
	pace->ns += ns < 2 * SLOW_NS ? (uint32_t)ns : 2 * SLOW_NS;
	if (++pace->timed < COPIES)
		return;
	if (pace->ns >= COPIES * SLOW_NS)
		pace->rest = REST;
	pace->timed = pace->ns = 0;
}

/* Where it is known that nobody reads, a rendezvous goes through the area, too. */
bool qv_node_eager_pays(struct qv_xport *x, uint64_t to)
{
	const struct qv_node *n = x->self;
	struct qv_node_peer *peer = to < n->npeers ? n->peers[to] : NULL;

	if (!peer || !peer->pace.rest || !n->readable || peer->blind || peer->answers.cannot_read)
		return true;
	peer->pace.rest--;
	return false;
}
