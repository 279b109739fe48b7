/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tick.c - what happens by the clock: acknowledgements that no packet has taken along, what found no
 * memory or no room before, and who has to be looked for (alive.c).
 */
#include "internal.h"

#define AWAY_MS     200u /* a pause between two ticks: nobody looked, what was sent waits here */
#define LOOK_MS_MIN 50u  /* so much of such a pause counts as time in which we looked */

/* Its HELLO was not answered. It waits for that, even if we have nothing else to say. */
static bool hello_is_due(const struct qv_peer *peer)
{
	return peer->connected && !peer->hello_sent && !peer->failing;
}

static void listen(struct qv_peer *peer, uint64_t now)
{
	qv_alive_listen(peer, now);
	peer->asked = false;
	peer->challenges = 0;
	if (peer->challenge_due)
		qv_peer_challenge(peer); /* the transport was full */
	if (hello_is_due(peer))
		(void)qv_peer_send_hello(peer); /* there was no memory */
	if (peer->starving) /* what it waits for may be among what has come since, or be received now */
		qv_peer_on_starving(peer);
	if (peer->consumed >= peer->tell_at)
		qv_peer_consumed_slow(peer); /* there was no memory */
	if (peer->ack_due || peer->got != peer->told)
		qv_peer_send_ack(peer);
}

static bool is_settled(const struct qv_peer *peer)
{
	if (peer->failed)
		return !peer->flying;
	return !hello_is_due(peer) && peer->got == peer->told && !peer->heard && !peer->asked &&
	       !peer->ack_due && !peer->challenges && !peer->starving &&
	       peer->consumed < peer->tell_at && !peer->cut && !peer->resend && !peer->failing &&
	       !peer->window.first && !peer->stripe.full && !qv_alive_matters(peer);
}

/* One that has no name may have died: unnamed.c. */
static bool is_idle(const struct qv_peer *peer)
{
	return peer->user != QV_USER_UNKNOWN && is_settled(peer);
}

static void tick_peer(struct qv_peer *peer, uint64_t now)
{
	qv_peer_acked(peer);
	if (peer->sent == peer->acked && peer->window.first)
		qv_window_clear(peer);
	if (peer->stripe.x)
		qv_stripe_tick(peer, now);
	if (peer->failed) {
		if (peer->flying)
			qv_peer_look_for_failed(peer);
		qv_peer_give_up(peer); /* requests that came after it had failed */
		return;
	}
	qv_copies_tick(peer);
	listen(peer, now);
	if (peer->cut && now >= peer->resend_at)
		qv_peer_resend(peer);
	if (qv_alive_matters(peer) && !peer->failing)
		qv_alive_check(peer, now);
	peer->wanted = false;
	if (peer->failing)
		qv_alive_end(peer, now);
}

bool qv_proto_is_settled(const struct qv_proto *p)
{
	return p->settled && !p->heard;
}

void qv_proto_tick(struct qv_proto *p, uint64_t now_ms)
{
	p->away = now_ms - p->now >= AWAY_MS ? now_ms - p->now - LOOK_MS_MIN : 0;
	p->heard_at = p->heard ? now_ms : p->heard_at + p->away;
	p->heard = false;
	p->now = now_ms;
	p->suspect_until += p->away;
	p->settled = true;
	qv_unexp_drop_again(p);
	for (int t = 0; t < 3; t++)
		qv_cancels_idle(&p->cancels[t]);
	for (uint32_t i = 0; i < p->npeers; i++) {
		struct qv_peer *peer = p->peers[i];

		if (!peer)
			continue;
		if (is_idle(peer)) {
			qv_alive_rest(peer);
			continue;
		}
		tick_peer(peer, now_ms);
		p->settled &= is_settled(peer);
		if (p->ops->ended && qv_unnamed_tick(peer, now_ms))
			p->ops->ended(p->owner, peer);
	}
}
