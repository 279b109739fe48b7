/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unnamed.c - peers that the application has no name for: clients that a server only answers, and
 * those whose addresses were taken back. They are freed when nothing is left to be done with them and
 * their process has died.
 *
 * On another host, or in another container, nothing tells of that. So who has been silent for long is
 * suspected: it is asked once for a sign of life, and looked for by the rules of alive.c, with more
 * patience than where something is wanted of it. To look costs calls of the kernel for each connection
 * of the endpoint, so one peer is suspected at a time.
 */
#include "internal.h"

#define SILENT_MS   300u   /* its process is looked for when it was silent for so long */
#define LOOK_MS     1000u  /* and then so often */
#define REMEMBER_MS 30000u /* then it is freed if its address was taken back, else suspected */
#define SUSPECT_MS  2000u  /* it is for so long, beyond what FI_QUIVER_KEEPALIVE says */

static bool is_left_alone(const struct qv_peer *peer)
{
	return peer->user == QV_USER_UNKNOWN && !peer->refs && !peer->outstanding &&
	       !peer->flying && !peer->held && !peer->txs && !peer->failing;
}

/* Its address was taken back before it has answered what we sent. The answer leads to whoever has that
 * name then: another session would not know it, and turn away what comes with it. */
static bool may_answer(const struct qv_peer *peer)
{
	return peer->dropped && peer->hello_sent;
}

static bool has_ended(struct qv_peer *peer, uint64_t now)
{
	if (!is_left_alone(peer))
		return false;
	if (peer->failed || (!peer->connected && !may_answer(peer)))
		return true;
	if (now - peer->alive.heard_at < SILENT_MS || now < peer->alive.look_at)
		return false;
	peer->alive.look_at = now + LOOK_MS;
	return (peer->dropped && now - peer->alive.heard_at >= REMEMBER_MS) ||
	       (peer->connected && !qv_proc_alive(&peer->p->self, &peer->proc));
}

static bool is_on_this_host(const struct qv_peer *peer)
{
	return peer->proc.host && peer->proc.host == peer->p->self.host;
}

static void suspect(struct qv_peer *peer, uint64_t now)
{
	struct qv_proto *p = peer->p;
	const bool open = peer->user == QV_USER_UNKNOWN && !peer->failed && peer->connected;

	if (p->suspect == peer) {
		if (!open || peer->alive.heard_at == now || now >= p->suspect_until) {
			p->suspect = NULL; /* now it is another one's turn */
			peer->alive.full_since = 0;
		}
		return;
	}
	if (p->suspect || !open || !is_left_alone(peer) || peer->dropped || is_on_this_host(peer) ||
	    now - peer->alive.heard_at < REMEMBER_MS)
		return;
	p->suspect = peer;
	p->suspect_until = now + SUSPECT_MS + p->death;
	/* Only what is found from now on counts. */
	peer->alive.heard_at = now;
	peer->alive.full_since = peer->alive.full_most = peer->alive.probe_at = 0;
	peer->alive.probes = 0;
}

bool qv_unnamed_tick(struct qv_peer *peer, uint64_t now)
{
	suspect(peer, now);
	return has_ended(peer, now);
}
