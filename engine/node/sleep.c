/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep.c - who goes to sleep says so in each ring, then looks once more; who sends publishes the
 * packet, then looks whether the other sleeps. Each must see the other's store if its own comes
 * too late. The sleeper alone pays for that: membarrier(2) is a fence in every process that has
 * asked for it, so the sender needs none. A process that could not ask fences itself.
 */
#include "internal.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

bool qv_node_can_sleep(void)
{
	return !membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

void qv_node_sleep_init(struct qv_node *n)
{
	n->barrier = qv_node_can_sleep();
}

int qv_node_fd(const struct qv_node *n)
{
	return n->barrier ? n->epoll_fd : -1;
}

static void tell_all(struct qv_node *n, uint32_t asleep)
{
	for (uint32_t i = 0; i < n->nseats; i++)
		atomic_store_explicit(&n->seats[i]->rx.ring->asleep, asleep, memory_order_relaxed);
}

void qv_node_awake(struct qv_node *n)
{
	n->asleep = false;
	tell_all(n, 0);
	qv_node_serve(n); /* the bells */
	if (n->ops->awake)
		n->ops->awake(n->owner);
}

static bool something_is_there(const struct qv_node *n)
{
	uint32_t low;

	if (n->done || n->sweep || n->unheard || n->unrung || n->onesided.waiting ||
	    n->onesided.stuck)
		return true;
	for (uint32_t i = 0; i < n->nseats; i++)
		if (!n->seats[i]->broken && qv_ring_next(&n->seats[i]->rx, &low))
			return true;
	return false;
}

bool qv_node_may_sleep(struct qv_node *n)
{
	if (!n->barrier)
		return false;
	n->sleep += n->sleep == UINT32_MAX ? 2 : 1;
	n->asleep = true;
	tell_all(n, n->sleep);
	if (membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) || something_is_there(n)) {
		qv_node_awake(n);
		return false;
	}
	n->stats.sleeps++;
	return true;
}

/* The connection is readable at the other side. If it is full, it is readable already. Where there is no
 * memory for that now, we try again later. */
void qv_node_wake(struct qv_node *n, struct qv_node_peer *peer)
{
	uint32_t asleep = atomic_load_explicit(&peer->tx.ring->asleep, memory_order_relaxed);

	if (asleep && send(peer->tx_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    (errno == ENOMEM || errno == ENOBUFS)) {
		n->unrung = true;
		return;
	}
	peer->tx.rung = asleep;
	n->stats.wakes += asleep != 0;
}

void qv_node_wake_again(struct qv_node *n)
{
	n->unrung = false;
	for (uint64_t addr = 0; addr < n->npeers; addr++) {
		struct qv_node_peer *peer = n->peers[addr];

		if (peer && peer->tx.ring && qv_ring_must_wake(&peer->tx))
			qv_node_wake(n, peer);
	}
}
