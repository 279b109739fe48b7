/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.c - connections. Each endpoint listens at a socket that is named after it, its door. Who has
 * something for another connects there, hands over a ring, and sends at once; the other finds it
 * whenever it looks. A connection lives as long as who made it, and its end is how death is seen;
 * where a child keeps it open, or the process has much memory, which the kernel takes first, the
 * process is asked for.
 */
#include "link.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/local.h"

#define BELLS_AT_ONCE 1024u /* heard of one peer before others are */

bool qv_node_listen_to(struct qv_node *n, int fd, uint64_t what)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = what};

	return !epoll_ctl(n->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

bool qv_node_listen_as(struct qv_node *n, int fd, uint64_t what)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = what};

	return !epoll_ctl(n->epoll_fd, EPOLL_CTL_MOD, fd, &ev) ||
	       (errno == ENOENT && qv_node_listen_to(n, fd, what));
}

bool qv_node_has_died(uint32_t pid)
{
	struct pollfd fd = {.events = POLLIN};
	bool died;

	if (!pid)
		return false;
	fd.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd.fd < 0 && errno == ESRCH)
		return true;
	died = fd.fd >= 0 && poll(&fd, 1, 0) > 0;
	if (fd.fd >= 0)
		close(fd.fd);
	return died || !qv_proc_number_alive(pid);
}

/* Joining. */

static int hand_over(const struct qv_node *n, int to, int ring_fd)
{
	struct join join = {JOIN_MAGIC, JOIN_VERSION, n->name, n->self.start};

	return qv_local_give(to, &join, sizeof join, ring_fd) ? QV_OK : qv_node_errno_status();
}

/* Give the peer a ring of ours. */
static int join(struct qv_node *n, struct qv_node_peer *peer, int fd)
{
	struct qv_ring *ring;
	int ring_fd, rc;

	peer->alive_at = 0; /* it may be another process */
	if (!qv_local_is_ours(fd, &peer->pid) || qv_node_has_died(peer->pid))
		return QV_EPEER;
	ring = qv_segment_make(&ring_fd);
	if (!ring)
		return QV_ENOMEM;
	rc = hand_over(n, fd, ring_fd);
	close(ring_fd);
	if (!rc && !qv_node_listen_to(n, fd, peer->addr))
		rc = QV_ENOMEM;
	if (rc) {
		qv_segment_unmap(ring);
		return rc;
	}
	peer->tx = qv_ring_tx_begin(ring);
	peer->tx_fd = fd;
	n->stats.connects++;
	n->stats.bytes += sizeof *ring;
	return QV_OK;
}

/* Who has died without a word may be followed by another. What one who spoke has sent is read first. */
static bool may_knock(const struct qv_node_peer *peer)
{
	return !peer->broken && (!peer->gone || (!peer->joined && qv_node_has_died(peer->pid)));
}

int qv_node_connect(struct qv_node *n, struct qv_node_peer *peer)
{
	int fd, rc;

	if (!may_knock(peer))
		return QV_EPEER;
	rc = qv_node_knock(peer->name, &fd);
	if (rc == QV_EPEER)
		return rc; /* it may come later */
	if (!rc) {
		rc = join(n, peer, fd);
		if (!rc && peer->gone)
			qv_node_calls_end(n, peer); /* another has its name */
		peer->gone = rc == QV_EPEER;
		if (rc)
			close(fd);
	}
	/* What others send to us may be what is too much there; who is there connects to us, too. */
	if (!rc || rc == QV_EAGAIN)
		n->hurry = true;
	return rc;
}

/* Ends. */

/* Else a child that was forked. */
static bool is_owner(const struct qv_node *n)
{
	return (uint32_t)getpid() == n->self.pid;
}

/* A child has no rings (MADV_DONTFORK): what is there is its own. */
static void unmap(const struct qv_node *n, struct qv_ring *ring)
{
	if (is_owner(n))
		qv_segment_unmap(ring);
}

void qv_node_hang_up(struct qv_node *n, int fd)
{
	if (is_owner(n)) {
		epoll_ctl(n->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		(void)shutdown(fd, SHUT_RDWR);
	}
	close(fd);
}

void qv_node_end_tx(struct qv_node *n, struct qv_node_peer *peer)
{
	if (peer->tx.ring && is_owner(n))
		qv_ring_end(&peer->tx);
	if (peer->tx_fd >= 0)
		qv_node_hang_up(n, peer->tx_fd);
	peer->tx_fd = -1;
	if (!peer->tx.ring)
		return;
	qv_node_stage_end(n, &peer->tx);
	unmap(n, peer->tx.ring);
	peer->tx.ring = NULL;
	peer->pace = (struct qv_node_pace){0};
	n->stats.bytes -= sizeof(struct qv_ring);
}

void qv_node_end_rx(struct qv_node *n, struct qv_node_peer *peer)
{
	if (peer->rx_fd >= 0)
		qv_node_hang_up(n, peer->rx_fd);
	peer->rx_fd = -1;
	if (!peer->rx.ring)
		return;
	if (peer->pid_fd >= 0)
		close(peer->pid_fd);
	peer->pid_fd = -1;
	peer->alive_at = 0;
	qv_node_unseat(n, peer);
	unmap(n, peer->rx.ring);
	peer->rx.ring = NULL;
	n->stats.bytes -= sizeof(struct qv_ring);
}

/* Doorbells, which are bytes that say nothing; or the end. True: it has ended. */
static bool has_hung_up(int fd)
{
	char bell[64];
	ssize_t got = 1;

	for (unsigned i = 0; i < BELLS_AT_ONCE && got > 0; i++)
		got = recv(fd, bell, sizeof bell, MSG_DONTWAIT);
	if (got > 0)
		return false; /* it rings faster than we listen */
	return got == 0 || (errno != EAGAIN && errno != EINTR);
}

/* What it has sent is still read: its ring goes when it is empty. */
static void end_of(struct qv_node *n, struct qv_node_peer *peer, bool tx, bool rx)
{
	if (tx) {
		peer->gone = true;
		qv_node_end_tx(n, peer);
	}
	if (rx && peer->rx_fd >= 0) {
		qv_node_hang_up(n, peer->rx_fd);
		peer->rx_fd = -1;
		n->sweep = true;
	}
}

void qv_node_look_at(struct qv_node *n, struct qv_node_peer *peer)
{
	end_of(n, peer, peer->tx_fd >= 0 && has_hung_up(peer->tx_fd),
	       peer->rx_fd >= 0 && has_hung_up(peer->rx_fd));
}

void qv_node_look_for(struct qv_node *n, struct qv_node_peer *peer)
{
	if (!peer->gone && qv_node_has_died(peer->pid))
		end_of(n, peer, true, true);
}

/* Rings of those who have gone, or are not heard any more. */
void qv_node_sweep(struct qv_node *n)
{
	uint32_t low;

	n->sweep = false;
	for (uint32_t i = n->nseats; i-- > 0;) {
		struct qv_node_peer *peer = n->seats[i];

		if (peer->rx_fd >= 0 && !peer->broken)
			continue;
		n->sweep = true; /* again: the order of seats changes */
		if (!peer->broken && qv_ring_next(&peer->rx, &low))
			continue;
		qv_node_end_rx(n, peer);
		qv_node_peer_check(n, peer);
	}
}

bool qv_node_serve(struct qv_node *n)
{
	struct epoll_event ev[64];
	int count = epoll_wait(n->epoll_fd, ev, 64, 0);
	bool door = false;

	n->hurry = false;
	for (int i = 0; i < count; i++) {
		uint64_t what = ev[i].data.u64;

		if (what == QV_NODE_DOOR || what == QV_NODE_WAITING)
			door = true;
		else if (what < n->npeers && n->peers[what]) {
			qv_node_look_at(n, n->peers[what]);
			qv_node_peer_check(n, n->peers[what]);
		}
	}
	if (door || n->unheard)
		qv_node_guests(n);
	if (n->sweep)
		qv_node_sweep(n);
	if (n->onesided.active)
		qv_node_calls_check(n);
	if (n->nlarge)
		qv_node_stages_check(n);
	return count > 0;
}
