/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c - an endpoint of the transport, and what it sends. */
#include "engine/base/clock.h"
#include "engine/base/iov.h"
#include "link.h"
#include "put.h"

#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

/* Longest eager message: two copies, which overlap. The kernel's one copy takes 1.6 times as long at
 * 32 and 64 KiB in a half round trip of MPI, and 1.3 times in a stream. */
#define EAGER_MAX ((size_t)64 << 10)
#define READ_MAX  ((size_t)1 << 20)
#define TIMED     4u          /* one of so many copies of long packets is timed */
#define DOUBT_NS  5000000000u /* that who is gone may yet be let in, where nobody can be */

int qv_node_create(const struct qv_node_ops *ops, void *owner, struct qv_node **node)
{
	return qv_node_create_as(ops, owner, qv_proc_random(), node);
}

int qv_node_create_as(const struct qv_node_ops *ops, void *owner, uint64_t name,
		      struct qv_node **node)
{
	struct qv_node *n = calloc(1, sizeof *n);
	int rc;

	if (!n)
		return QV_ENOMEM;
	n->ops = ops;
	n->owner = owner;
	n->door = n->epoll_fd = -1;
	n->name = name;
	n->hurry = true; /* the first poll looks at the door */
	qv_proc_self(&n->self);
	qv_node_read_init(n);
	qv_node_permit_reads();
	qv_node_sleep_init(n);
	n->names = qv_names_create();
	n->own_names = true;
	rc = n->names ? qv_node_open_door(n) : QV_ENOMEM;
	if (rc) {
		qv_node_destroy(n);
		return rc;
	}
	*node = n;
	return QV_OK;
}

void qv_node_share(struct qv_node *n, struct qv_names *names)
{
	qv_names_destroy(n->names);
	n->own_names = false;
	n->names = names;
}

void qv_node_destroy(struct qv_node *n)
{
	if ((uint32_t)getpid() == n->self.pid) /* a child has no rings */
		qv_node_pay(n);
	qv_node_close_door(n);
	qv_node_peers_free(n);
	qv_node_calls_free(n);
	if (n->own_names && n->names)
		qv_names_destroy(n->names);
	for (unsigned i = 0; i < n->nguests; i++)
		qv_node_hang_up(n, n->guests[i].fd);
	if (n->epoll_fd >= 0)
		close(n->epoll_fd);
	free(n->seats);
	free(n);
}

uint64_t qv_node_name(const struct qv_node *n)
{
	return n->name;
}

void qv_node_get_stats(const struct qv_node *n, struct qv_node_stats *stats)
{
	*stats = n->stats;
	stats->large = n->nlarge;
	for (uint64_t i = 0; i < n->npeers; i++) {
		const struct qv_node_peer *peer = n->peers[i];

		if (peer && peer->tx.ring)
			stats->touched += qv_segment_touched(peer->tx.ring);
		if (peer && peer->rx.ring)
			stats->touched += qv_segment_touched(peer->rx.ring);
	}
}

/* Sending. */

static QV_NOINLINE int not_connected(struct qv_node *n, uint64_t to, struct qv_node_peer **out)
{
	*out = qv_node_peer_at(n, to);
	return *out ? qv_node_connect(n, *out) : QV_ENOMEM;
}

/* The peer at an address, with a ring to it. */
static inline int reach(struct qv_node *n, uint64_t to, struct qv_node_peer **out)
{
	struct qv_node_peer *peer = QV_LIKELY(to < n->npeers) ? n->peers[to] : NULL;

	*out = peer;
	return QV_LIKELY(peer && peer->tx.ring) ? QV_OK : not_connected(n, to, out);
}

QV_INLINE int put_tagged(struct qv_xport *x, uint64_t to, enum qv_slot_kind kind, uint64_t tag,
			 uint64_t data, const void *buf, size_t len)
{
	struct qv_node_peer *peer;
	int rc = reach(x->self, to, &peer);

	if (QV_UNLIKELY(rc))
		return rc;
	return QV_LIKELY(qv_node_put(x->self, peer, kind, tag, data, buf, len)) ? QV_OK : QV_EAGAIN;
}

static int inject_tagged(struct qv_xport *x, uint64_t to, uint64_t tag, const void *buf, size_t len)
{
	return put_tagged(x, to, QV_SLOT_TAGGED, tag, 0, buf, len);
}

static int inject_tagged_data(struct qv_xport *x, uint64_t to, uint64_t tag, uint64_t data,
			      const void *buf, size_t len)
{
	return put_tagged(x, to, QV_SLOT_TAGGED_DATA, tag, data, buf, len);
}

/* Of the longest packets some are timed. */
static void copy_long(struct qv_node_peer *peer, const struct iovec *iov, size_t cnt, char *to)
{
	uint64_t start;

	if (++peer->pace.copies % TIMED) {
		qv_iov_get(iov, cnt, to);
		return;
	}
	start = qv_clock_ns();
	qv_iov_get(iov, cnt, to);
	qv_node_copied(&peer->pace, qv_clock_ns() - start);
}

static int inject(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt)
{
	const size_t len = qv_iov_len(iov, cnt);
	struct qv_node *n = x->self;
	struct qv_node_peer *peer;
	struct qv_node_room room;
	int rc = reach(n, to, &peer);

	if (QV_UNLIKELY(rc))
		return rc;
	if (QV_UNLIKELY(len > QV_RING_PACKET))
		return QV_EMSGSIZE;
	if (QV_UNLIKELY(!qv_node_place(n, &peer->tx, len, &room)))
		return QV_EAGAIN;
	if (QV_UNLIKELY(len == QV_RING_PACKET))
		copy_long(peer, iov, cnt, room.body);
	else
		qv_iov_get(iov, cnt, room.body);
	qv_node_publish(n, peer, &room, QV_SLOT_PACKET);
	return QV_OK;
}

/* A packet is copied: it is over at once. */
static int send_packet(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt,
		       struct qv_xfer *xfer)
{
	int rc = inject(x, to, iov, cnt);

	if (!rc)
		qv_node_finish(x->self, xfer, QV_OK);
	return rc;
}

/* All memory of a process may be read, or none. */
static int register_mem(struct qv_xport *x, void *buf, size_t len, struct qv_region *region)
{
	(void)len;
	region->handle = x;
	region->key = 0;
	region->addr = (uint64_t)(uintptr_t)buf;
	return QV_OK;
}

static void deregister_mem(struct qv_xport *x, struct qv_region *region)
{
	(void)x;
	region->handle = NULL;
}

/* Somebody at the door cannot be let in, and could be this one. Not for ever, or its death would not be told. */
static bool is_in_doubt(const struct qv_node *n, struct qv_node_peer *peer)
{
	const uint64_t now = qv_clock_of(CLOCK_MONOTONIC_COARSE);

	if (!n->poor && !qv_node_is_knocked_at(n))
		return false;
	if (!peer->doubted)
		peer->doubted = now;
	return now - peer->doubted < DOUBT_NS;
}

/* Who is gone may have come to our door behind our look there, with its last words. */
static bool has_more_to_say(struct qv_node *n, uint64_t addr, bool had_come)
{
	struct qv_node_peer *peer;
	uint32_t low;

	qv_node_guests(n);
	peer = qv_node_peer_at(n, addr);
	if (!peer || is_in_doubt(n, peer))
		return true;
	return peer->rx.ring && !peer->broken && (!had_come || qv_ring_next(&peer->rx, &low));
}

/* This looks at the door and at all connections: some may begin or end. */
static enum qv_presence presence(struct qv_xport *x, uint64_t addr, uint64_t *silent)
{
	struct qv_node *n = x->self;
	struct qv_node_peer *peer;
	int rc = QV_OK;

	(void)silent;
	qv_node_serve(n);
	peer = qv_node_peer_at(n, addr);
	if (!peer)
		return QV_UNSURE;
	if (!peer->gone && !peer->tx.ring)
		rc = qv_node_connect(n, peer); /* at its death it closed its door */
	qv_node_look_for(n, peer);
	if (rc != QV_EPEER && !peer->gone && !peer->broken)
		return QV_PRESENT;
	return !peer->broken && has_more_to_say(n, addr, peer->rx.ring) ? QV_UNSURE : QV_GONE;
}

static const struct qv_xport_ops xport_ops = {
	.inject = inject,
	.send = send_packet,
	.inject_tagged = inject_tagged,
	.inject_tagged_data = inject_tagged_data,
	.read = qv_node_read,
	.register_mem = register_mem,
	.deregister_mem = deregister_mem,
	.presence = presence,
	.eager_pays = qv_node_eager_pays,
};

void qv_node_xport_init(struct qv_node *n, struct qv_xport *x)
{
	*x = (struct qv_xport){
		.ops = &xport_ops,
		.self = n,
		.inject_max = QV_RING_PACKET,
		.inject_iov = QV_IOV_MAX + 1,
		.send_iov = QV_IOV_MAX + 1,
		.packet_max = QV_RING_PACKET,
		.read_max = n->readable ? READ_MAX : 0,
		.eager_max = EAGER_MAX,
		.two_paths = true,
		.gone_is_all = true,
	};
}
