/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alive.c - is a peer alive? Questions to those that do not answer, and the search for those who never
 * will.
 *
 * That a peer does not answer proves nothing: its program may be busy elsewhere. It is given up
 * when its process has died, when nobody listens at its address, or when its host has not answered
 * for as long as the settings say.
 */
#include "internal.h"

#define SILENCE_MS   100u    /* nothing came for so long: nothing more will come */
#define LAST_CALL_MS 1000u   /* with other peers' packets coming all the time we wait no longer */
#define FIRST_MS     200u    /* a peer has so long to acknowledge before it is asked */
#define QUIET_MS     1000u   /* and so long where it has acknowledged all, but owes an answer */
#define PROBE_MAX_MS 2000u   /* it is asked less and less often, at least so often */
#define HANDSHAKE_MS 500u    /* a peer not yet known has so long before it is looked for */
#define LOOK_MS      250u    /* and then so often, as others who are silent */
#define SILENT_MS    300u    /* a peer that we know is looked for when it was silent for so long */
#define NOTICE_MS    1000u   /* of the time that a silent host has, to notice that it is over */
#define FULL_MS      1000u   /* the transport may be busy for so long with a connection */
#define FULL_MAX_MS  30000u  /* which is doubled each time */
#define POWER_MS     300000u /* a suspect's host may be silent for so long: it may come back */
#define POWER_GAP_MS 120000u /* of which no more than this without a look */
#define STUCK_MS     30000u  /* it answers, but nothing arrives */

/* Is it known that nothing more will come? */
static bool has_said_all(const struct qv_peer *peer)
{
	uint64_t silent;

	return peer->x->gone_is_all && !qv_peer_is_asymmetric(peer) &&
	       peer->x->ops->presence(peer->x, peer->addr, &silent) == QV_GONE;
}

void qv_alive_end(struct qv_peer *peer, uint64_t now)
{
	uint64_t waited, silent = now - peer->p->heard_at;

	if (!peer->failing_since)
		peer->failing_since = now;
	else
		peer->failing_since += peer->p->away; /* what it sent may wait here */
	waited = now - peer->failing_since;
	if (waited >= LAST_CALL_MS || (waited >= SILENCE_MS && silent >= SILENCE_MS) ||
	    has_said_all(peer))
		qv_peer_fail(peer, peer->failing);
}

/* For so many ms (0: never long), and we have waited for as long. */
static bool is_silent_for(const struct qv_peer *peer, uint64_t now, uint64_t silent, unsigned most)
{
	return most && silent + NOTICE_MS >= most && now - peer->alive.heard_at + NOTICE_MS >= most;
}

static void fail_silent(struct qv_peer *peer)
{
	qv_peer_fail(peer, "its host does not answer");
	if (peer->x->ops->reconnect) /* it gives back what it holds */
		peer->x->ops->reconnect(peer->x, peer->addr, true);
}

/* The host of who may not be there yet may not be there either: both times have to pass. */
static unsigned most_silent(const struct qv_proto *p)
{
	if (!p->death || !p->patience)
		return 0;
	return p->death > p->patience ? p->death : p->patience;
}

/* Who has not spoken in this session may have died before, which no process number tells us; or may
 * not be there yet, and is waited for a while. */
static void look_for_unknown(struct qv_peer *peer, uint64_t now)
{
	struct qv_proto *p = peer->p;
	enum qv_presence presence;
	uint64_t silent = 0;

	if (!peer->x->ops->presence)
		return;
	if (!peer->alive.look_at)
		peer->alive.look_at = now + HANDSHAKE_MS;
	if (now < peer->alive.look_at)
		return;
	presence = peer->x->ops->presence(peer->x, peer->addr, &silent);
	if (presence == QV_UNSURE)
		return;
	peer->alive.look_at = now + LOOK_MS;
	if (presence == QV_PRESENT || presence == QV_SILENT)
		peer->alive.absent_since = 0;
	else if (!peer->alive.absent_since)
		peer->alive.absent_since = now;
	else if (presence == QV_UNTOLD)
		peer->alive.absent_since += p->away; /* its answer may wait here */
	if (presence == QV_GONE || ((presence == QV_ABSENT || presence == QV_UNTOLD) &&
				    p->patience && now - peer->alive.absent_since >= p->patience))
		qv_peer_fail(peer, "nobody is at its address"); /* who has nothing more to say */
	else if (presence == QV_SILENT && is_silent_for(peer, now, silent, most_silent(p)))
		fail_silent(peer);
}

/* Nothing is wanted of it but a sign of life: unnamed.c. */
static bool is_only_suspected(const struct qv_peer *peer)
{
	return peer == peer->p->suspect && !qv_peer_is_waiting(peer);
}

/* It was silent at each look for long. */
static bool has_lost_power(struct qv_peer *peer, uint64_t now)
{
	if (!peer->alive.absent_since || now - peer->alive.silent_at >= POWER_GAP_MS)
		peer->alive.absent_since = now;
	peer->alive.silent_at = now;
	return now - peer->alive.absent_since >= POWER_MS;
}

static void look_for_known(struct qv_peer *peer, uint64_t now)
{
	struct qv_proto *p = peer->p;
	uint64_t silent = 0;

	if (!qv_proc_alive(&p->self, &peer->proc)) {
		qv_peer_mark_failed(peer, "its process has died");
		return;
	}
	if (!peer->x->ops->presence || now - peer->alive.heard_at < SILENT_MS ||
	    now < peer->alive.look_at)
		return;
	peer->alive.look_at = now + LOOK_MS;
	switch (peer->x->ops->presence(peer->x, peer->addr, &silent)) {
	case QV_PRESENT: peer->alive.absent_since = 0; return;
	case QV_UNTOLD:
	case QV_UNSURE: return;
	case QV_ABSENT:
		peer->alive.absent_since = 0; /* its host has said so */
		/* Nobody needs to listen there for the connection by which it has called us, and
		 * that takes our question. */
		if (is_only_suspected(peer) &&
		    (!peer->alive.full_since || now - peer->alive.full_since < FULL_MS))
			return;
		/* fall through */
	case QV_GONE: qv_peer_mark_failed(peer, "nobody is at its address any more"); return;
	case QV_SILENT:
		if (is_only_suspected(peer) && !has_lost_power(peer, now))
			return;
		if (is_silent_for(peer, now, silent, p->death))
			fail_silent(peer);
		return;
	}
}

/* Some cores wait for ever for a connection that was cut while it was made. A peer that is busy
 * takes long, too: it is disturbed less and less often. */
static void transport_is_full(struct qv_peer *peer, uint64_t now)
{
	if (!peer->alive.full_since)
		peer->alive.full_since = now;
	if (is_only_suspected(peer))
		return; /* that may end connections of others */
	if (!peer->alive.full_most)
		peer->alive.full_most = FULL_MS;
	if (!peer->x->ops->reconnect || now - peer->alive.full_since < peer->alive.full_most)
		return;
	peer->x->ops->reconnect(peer->x, peer->addr,
				peer->connected && peer->alive.full_most > FULL_MS);
	peer->p->stats.reconnects++;
	peer->alive.full_since = now;
	peer->alive.full_most =
		peer->alive.full_most < FULL_MAX_MS / 2 ? 2 * peer->alive.full_most : FULL_MAX_MS;
}

/* Ask it: for an acknowledgement, and, where it does not answer, whether it still knows us. */
static void probe(struct qv_peer *peer, uint64_t now)
{
	uint64_t next = (uint64_t)FIRST_MS << (peer->alive.probes < 4 ? peer->alive.probes : 4);

	if (peer->alive.probes || !peer->confirmed)
		qv_peer_repeat_hello(peer);
	if (qv_peer_send_now(peer, QV_PKT_PING, 0, NULL, 0)) {
		peer->alive.probe_at = now; /* it is full, or makes a connection */
		transport_is_full(peer, now);
		return;
	}
	peer->alive.full_since = 0;
	peer->alive.probes++;
	peer->alive.probe_at = now + (next < PROBE_MAX_MS ? next : PROBE_MAX_MS);
}

bool qv_alive_matters(const struct qv_peer *peer)
{
	return qv_peer_is_waiting(peer) || peer->wanted ||
	       ((peer->flying || peer->held) && !peer->failed) || peer == peer->p->suspect;
}

static void ask(struct qv_peer *peer, uint64_t now)
{
	uint64_t quiet = now - peer->alive.heard_at;

	if (peer->acked != peer->alive.acked_then)
		peer->alive.full_since = 0; /* it has taken something since */
	if (peer->sent == peer->acked)
		peer->alive.stuck_at = 0;
	else if (!peer->alive.stuck_at || peer->acked != peer->alive.acked_then)
		peer->alive.stuck_at = now;
	else
		peer->alive.stuck_at += peer->p->away;
	peer->alive.acked_then = peer->acked;
	if (!peer->hello_sent || peer->resend || now < peer->alive.probe_at)
		return;
	if (is_only_suspected(peer)) {
		if (!peer->alive.probes && peer->alive.heard_at != now)
			probe(peer, now);
		return;
	}
	if ((peer->alive.stuck_at && now - peer->alive.stuck_at >= FIRST_MS) || quiet >= QUIET_MS ||
	    (peer->connected && !peer->confirmed))
		probe(peer, now);
	if (peer->alive.stuck_at && now - peer->alive.stuck_at >= STUCK_MS && quiet < QUIET_MS)
		qv_peer_fail(peer, "it answers, but what is sent does not arrive");
}

void qv_alive_check(struct qv_peer *peer, uint64_t now)
{
	ask(peer, now);
	if (!peer->failed && !peer->connected) /* who was there before tells nothing */
		look_for_unknown(peer, now);
	else if (!peer->failed)
		look_for_known(peer, now);
}

void qv_alive_listen(struct qv_peer *peer, uint64_t now)
{
	struct qv_alive *alive = &peer->alive;

	if (peer->got != alive->got_then || peer->heard || !alive->heard_at) {
		alive->heard_at = now;
		alive->absent_since = 0;
		alive->probes = 0;
		if (!alive->full_since)
			alive->full_most = 0;
	} else if (peer->user == QV_USER_UNKNOWN) {
		alive->heard_at +=
			peer->p->away; /* for unnamed.c: what it sent meanwhile waits here */
	}
	peer->heard = false;
	alive->got_then = peer->got;
}

void qv_alive_rest(struct qv_peer *peer)
{
	peer->alive.heard_at = peer->alive.stuck_at = peer->alive.full_since = 0;
	peer->alive.probes = 0;
}

void qv_alive_begin(struct qv_peer *peer)
{
	const uint64_t full_most = peer->alive.full_most, silent_at = peer->alive.silent_at;

	peer->alive = (struct qv_alive){.full_most = full_most, .silent_at = silent_at};
}
