/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guests.c - who knocks at the door: a connection is a guest until it has said whose it is and has
 * given its ring.
 */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/local.h"

#define GUESTS_AT_ONCE 1024u       /* let in before others are heard again */
#define PATIENCE_NS    1000000000u /* for a guest to say its words */

/* Somebody waits until there is some. */
static void lack(struct qv_node *n, const char *what)
{
	n->poor = true;
	if (!n->told_poor)
		n->ops->warn(n->owner, what);
	n->told_poor = true;
}

static void lack_descriptors(struct qv_node *n)
{
	lack(n, "no descriptors for a new connection");
}

/* The words and the descriptor of a guest, which stay there too. QV_EAGAIN: it has said nothing yet,
 * or we have no room for its descriptor; QV_EPEER: it has left; QV_EPROTO: that is nonsense. */
static int read_join(struct qv_node *n, int fd, struct join *join, int *ring_fd)
{
	const long got = qv_local_take(fd, join, sizeof *join, MSG_DONTWAIT | MSG_PEEK, ring_fd);

	if (got < 0 && errno == EMFILE)
		lack_descriptors(n);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR || errno == EMFILE ? QV_EAGAIN : QV_EPEER;
	if (!got && *ring_fd < 0)
		return QV_EPEER;
	return got == (long)sizeof *join && *ring_fd >= 0 && join->magic == JOIN_MAGIC &&
			       join->version == JOIN_VERSION
		       ? QV_OK
		       : QV_EPROTO;
}

/* The connection has ended already. */
static bool has_left(int fd)
{
	struct pollfd end = {.fd = fd};

	return poll(&end, 1, 0) > 0;
}

/* If the peer was gone and a connection of its has not ended, this is another one: what was asked of the one before
 * is not answered any more. If it has ended, the one before has come to answer: its answers are read, and it stays
 * gone. */
static void has_come(struct qv_node *n, struct qv_node_peer *peer)
{
	const bool answered = peer->gone && has_left(peer->rx_fd);

	if (peer->gone && !answered)
		qv_node_calls_end(n, peer);
	peer->gone = answered && (peer->answers.asked || peer->answers.stuck);
	peer->joined = true;
	peer->doubted = 0;
}

/* QV_OK: it has its seat; QV_EAGAIN: it waits until what it sent over its last connection is read;
 * QV_ENOMEM: it has none; QV_EPROTO: it is refused. */
static int admit(struct qv_node *n, int fd, const struct join *join, int ring_fd)
{
	struct qv_node_peer *peer;
	struct qv_ring *ring;
	uint32_t pid;
	int rc;

	if (!qv_local_is_ours(fd, &pid))
		return QV_EPROTO;
	peer = qv_node_peer_named(n, join->name);
	if (!peer)
		return QV_ENOMEM;
	if (peer->rx.ring || peer->tx.ring) {
		qv_node_look_at(n, peer); /* a connection of before may have ended */
		qv_node_sweep(n);
		peer = qv_node_peer_named(n, join->name);
	}
	if (!peer)
		return QV_ENOMEM;
	if (peer->rx.ring && peer->rx_fd < 0 && !peer->broken)
		return QV_EAGAIN;
	ring = peer->rx.ring || peer->broken ? NULL : qv_segment_map(ring_fd);
	if (!ring) {
		rc = !peer->rx.ring && !peer->broken && errno == ENOMEM ? QV_ENOMEM : QV_EPROTO;
		qv_node_peer_check(n, peer);
		return rc;
	}
	peer->rx = qv_ring_rx_begin(ring);
	peer->rx_fd = fd;
	peer->pid = pid;
	peer->start = join->start;
	n->stats.bytes += sizeof *ring;
	if (qv_node_seat(n, peer) && qv_node_listen_as(n, fd, peer->addr)) {
		has_come(n, peer);
		return QV_OK;
	}
	peer->rx_fd = -1; /* the caller's */
	qv_node_end_rx(n, peer);
	qv_node_peer_check(n, peer);
	return QV_ENOMEM;
}

/* True: it is no guest any more. */
static bool receive_guest(struct qv_node *n, int fd)
{
	struct join join;
	int ring_fd, rc = read_join(n, fd, &join, &ring_fd);

	if (!rc)
		rc = admit(n, fd, &join, ring_fd);
	if (ring_fd >= 0)
		close(ring_fd);
	if (rc == QV_ENOMEM)
		lack(n, "no memory for a new connection");
	if (rc == QV_EAGAIN || rc == QV_ENOMEM)
		return false;
	if (!rc) {
		(void)recv(fd, &join, sizeof join, MSG_DONTWAIT);
		return true;
	}
	if (rc != QV_EPEER) {
		n->stats.refused++;
		n->ops->warn(n->owner, "a connection was refused");
	}
	qv_node_hang_up(n, fd);
	return true;
}

static void receive_guests(struct qv_node *n)
{
	unsigned left = 0;

	for (unsigned i = 0; i < n->nguests; i++)
		if (!receive_guest(n, n->guests[i].fd))
			n->guests[left++] = n->guests[i];
	n->nguests = left;
}

/* Who has been silent for longest goes, if it was for so long. It may knock again. Who has spoken behind
 * our look would be shut out unheard and not know it, but its words follow its knock at once. */
static bool show_out(struct qv_node *n)
{
	unsigned i = 0;
	char word;

	while (i < n->nguests && recv(n->guests[i].fd, &word, 1, MSG_DONTWAIT | MSG_PEEK) >= 0)
		i++;
	if (i == n->nguests ||
	    qv_clock_of(CLOCK_MONOTONIC_COARSE) - n->guests[i].came_ns < PATIENCE_NS)
		return false;
	qv_node_hang_up(n, n->guests[i].fd);
	n->nguests--;
	memmove(&n->guests[i], &n->guests[i + 1], (n->nguests - i) * sizeof n->guests[0]);
	return true;
}

/* If not, who knocks waits at the door, and we are awake until there is one. */
static bool has_place(struct qv_node *n)
{
	if (n->nguests == QV_NODE_GUESTS)
		receive_guests(n);
	return n->nguests < QV_NODE_GUESTS || (qv_node_is_knocked_at(n) && show_out(n));
}

/* Another user's process is not heard: even to close a descriptor of its may take for ever. Of these
 * the first, second, fourth ... is told. */
static bool is_ours(struct qv_node *n, int fd)
{
	uint32_t pid;

	if (qv_local_is_ours(fd, &pid))
		return true;
	n->stats.refused++;
	n->strangers++;
	if (!(n->strangers & (n->strangers - 1)))
		n->ops->warn(n->owner, "a connection was refused");
	return false;
}

bool qv_node_is_knocked_at(const struct qv_node *n)
{
	struct pollfd door = {.fd = n->door, .events = POLLIN};

	return poll(&door, 1, 0) > 0;
}

/* One descriptor is kept free meanwhile, for the one that comes with the guest's words. -1, with errno. */
static int accept_one(struct qv_node *n)
{
	int spare, fd;

	do {
		spare = fcntl(n->door, F_DUPFD_CLOEXEC, 0);
		fd = spare < 0 ? -1 : accept4(n->door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (spare >= 0)
			close(spare);
	} while (fd < 0 && qv_local_more());
	return fd;
}

static void let_in(struct qv_node *n)
{
	for (unsigned i = 0; i < GUESTS_AT_ONCE && has_place(n); i++) {
		const int fd = accept_one(n);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE) && qv_node_is_knocked_at(n))
			lack_descriptors(n);
		if (fd < 0)
			return;
		if (!is_ours(n, fd)) {
			close(fd);
			continue;
		}
		if (!qv_node_listen_to(n, fd, QV_NODE_WAITING))
			n->unheard = true;
		n->guests[n->nguests++] =
			(struct qv_node_guest){fd, qv_clock_of(CLOCK_MONOTONIC_COARSE)};
	}
}

/* For those that could not be listened to there may be memory now. */
static void listen_again(struct qv_node *n)
{
	n->unheard = false;
	for (unsigned i = 0; i < n->nguests; i++)
		if (!qv_node_listen_as(n, n->guests[i].fd, QV_NODE_WAITING))
			n->unheard = true;
}

void qv_node_guests(struct qv_node *n)
{
	n->poor = false;
	let_in(n);
	receive_guests(n);
	if (n->unheard)
		listen_again(n);
	n->told_poor = n->poor;
}
