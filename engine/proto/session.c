/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.c - sessions: what two endpoints know of each other, and when that is over.
 *
 * What one endpoint sends to another belongs to a session of the sender's. Its HELLO tells the
 * session, who the sender is (a random uid), and the id that the other side puts into its packets;
 * packets sent before the other has confirmed that it knows the session carry uid and session
 * instead. A HELLO also tells which session of the other it is paired with (echo), and asks for an
 * answer as long as its sender has not seen its own session there. Whoever is spoken to in a
 * session that it does not know, because it was restarted or has given the sender up, answers
 * RESET: what was not received by then never will be, and the sender begins a new session. Sessions
 * of an endpoint only grow, so that a HELLO that comes late or twice is known for what it is.
 */
#include "internal.h"

#define CHALLENGES 4u /* of one peer between two ticks */

/* Ids are told apart by more than their index: one of an earlier session is found out. */
static void new_id(struct qv_peer *peer)
{
	struct qv_proto *p = peer->p;

	do
		p->turn += QV_ID_TURN;
	while ((p->turn | QV_ID_INDEX) == QV_SRC_UNKNOWN);
	peer->id = peer->index | p->turn;
}

void qv_peer_set_remote(struct qv_peer *peer)
{
	bool ready = peer->confirmed && peer->introduced && !peer->resend && !peer->failing &&
		     !peer->failed && !peer->untold;

	peer->remote_id = ready ? peer->told_id : QV_SRC_UNKNOWN;
}

void qv_peer_untold(struct qv_peer *peer)
{
	peer->untold = true;
	qv_peer_set_remote(peer);
}

void qv_peer_begin_session(struct qv_peer *peer)
{
	struct qv_proto *p = peer->p;

	if (++p->sessions == 0)
		p->sessions = 1;
	p->begun++;
	peer->session = p->sessions;
	new_id(peer);
	qv_window_clear(peer);
	peer->window.oldest = 1;
	peer->sent = peer->acked = 0;
	peer->mute = peer->mute_end = 0;
	peer->ack = 0;
	peer->resend = 0;
	peer->resend_at = 0;
	peer->got = peer->told = 0;
	peer->unacked = 0;
	peer->cut = peer->hello_sent = peer->introduced = peer->leaving = false;
	peer->challenge_due = false;
	peer->connected = peer->confirmed = peer->gone = false;
	peer->starved = false;
	peer->budget_used = 0;
	/* What it can take is not known before its HELLO: what every endpoint can. */
	qv_peer_set_budget(peer, p->budget < QV_FIRST_BUDGET ? p->budget : QV_FIRST_BUDGET);
	peer->packet_max = QV_WIRE_MIN_PACKET;
	qv_alive_begin(peer);
	qv_peer_set_remote(peer);
}

void qv_peer_introduced(struct qv_peer *peer)
{
	peer->introduced = true;
	qv_peer_set_remote(peer);
}

static size_t write_hello(const struct qv_peer *peer, char *body)
{
	const struct qv_proto *p = peer->p;
	struct qv_wire_hello hello = {
		.uid = p->uid,
		.host = p->self.host,
		.start = p->self.start,
		.pid = p->self.pid,
		.budget = (uint32_t)p->budget,
		.id = peer->id,
		.packet_max = (uint32_t)peer->x->packet_max,
		.session = peer->session,
		.echo = peer->connected ? peer->theirs : 0,
	};

	memcpy(body, &hello, sizeof hello);
	if (p->namelen)
		memcpy(body + sizeof hello, p->name, p->namelen);
	return sizeof hello + p->namelen;
}

static uint64_t asks(const struct qv_peer *peer)
{
	return peer->confirmed ? 0 : QV_HELLO_ASKS;
}

int qv_peer_send_hello(struct qv_peer *peer)
{
	char body[QV_WIRE_MAX_BODY];

	if (qv_tx_control(peer, QV_PKT_HELLO, asks(peer), body, write_hello(peer, body)))
		return QV_ENOMEM;
	peer->hello_sent = true;
	if (peer->x->second) /* without it the peer sends all over the first */
		(void)qv_tx_control(peer, QV_PKT_RAIL, 0, peer->x->second->name,
				    peer->x->second->namelen);
	return QV_OK;
}

bool qv_peer_repeat_hello(struct qv_peer *peer)
{
	char body[QV_WIRE_MAX_BODY];

	if (qv_peer_send_now(peer, QV_PKT_HELLO, asks(peer), body, write_hello(peer, body)))
		return false;
	qv_peer_introduced(peer);
	return true;
}

void qv_peer_send_reset(struct qv_peer *peer, uint32_t session)
{
	uint64_t flags = (peer->turned_away ? QV_RESET_LOST : 0) |
			 (session == peer->theirs ? QV_RESET_ACKS : 0);

	qv_peer_send_now(peer, QV_PKT_RESET, session | flags, NULL, 0);
}

/* A HELLO has come. */

/* Who says it: QV_OK with *peer NULL: nobody that we may know. */
static int hello_from(struct qv_proto *p, struct qv_xport *x, const struct qv_wire_hello *hello,
		      const char *name, size_t namelen, uint64_t from, struct qv_peer **peer)
{
	const struct qv_peer *known = qv_peer_by_uid(p, hello->uid);

	*peer = NULL;
	if (hello->uid == 0 || hello->id == QV_SRC_UNKNOWN || hello->session == 0) {
		qv_refuse(p, "HELLO without a name");
		return QV_OK;
	}
	if ((hello->uid == p->uid) != (namelen == p->namelen && !memcmp(name, p->name, namelen))) {
		qv_refuse(p, "HELLO of another endpoint with our own name, or from our address");
		return QV_OK;
	}
	p->no_peer = false;
	*peer = p->ops->identify(p->owner, x, from, name, namelen);
	if (!*peer && p->no_peer)
		return QV_ENOMEM;
	if (!*peer || (known && known != *peer)) {
		qv_refuse(
			p,
			!*peer && qv_proto_refuses_unnamed(p)
				? "HELLO of one more than 65536 that the application has not named"
				: "HELLO from an address that cannot be used");
		*peer = NULL;
	}
	return QV_OK;
}

/* An id that was given to an earlier session of ours may lead to what belongs to that. */
static void confirm(struct qv_peer *peer, const struct qv_wire_hello *hello)
{
	if (hello->echo != peer->session)
		return;
	peer->told_id = hello->id;
	peer->confirmed = true;
	qv_peer_set_remote(peer);
}

/*
 * Of the session that we know: they ask whether we are there, or did not get ours, or have a new id
 * for us since we have begun another one. It bears a number as a PING does, and a transport that
 * takes one packet at a time may never take the PING behind it.
 */
static void on_known_session(struct qv_peer *peer, const struct qv_wire_hello *hello,
			     const struct qv_wire_pkt *pkt)
{
	if (peer->failed || !peer->connected) {
		qv_peer_send_reset(peer, hello->session); /* we have given it up */
		return;
	}
	confirm(peer, hello);
	if (pkt->hdr.arg == QV_HELLO_ASKS && peer->hello_sent)
		qv_peer_repeat_hello(peer);
	if (peer->confirmed)
		qv_peer_on_ping(peer, pkt);
}

/* Not for ever: who answers a challenge by another does not know better. */
void qv_peer_challenge(struct qv_peer *peer)
{
	if (peer->challenges++ < CHALLENGES)
		peer->challenge_due = !qv_peer_repeat_hello(peer);
}

/* Does it answer a HELLO of ours to a peer that the application has removed, and named again, since?
 * It has sent nothing before its answer, so all that it sends is for us; who has sent more spoke to one
 * that we have given up. Where packets may be lost, it sends again, or hears that they are. */
static bool answers_forgotten(const struct qv_peer *peer, const struct qv_wire_pkt *pkt,
			      uint32_t echo)
{
	return !pkt->hdr.seq && !peer->x->drops && !peer->theirs && !peer->failed &&
	       peer->p->sessions - echo < peer->p->begun;
}

/*
 * Is this a HELLO to be followed? Another endpoint than the one that we are paired with speaks from
 * its address: it was restarted there, or somebody lies. Our own HELLO goes to that address; only
 * who is there can answer it, by a RESET of our session.
 */
static bool may_begin(struct qv_peer *peer, const struct qv_wire_hello *hello,
		      const struct qv_wire_pkt *pkt)
{
	bool same = peer->uid == hello->uid;

	if (same && (int32_t)(hello->session - peer->theirs) < 0 && peer->theirs)
		return false; /* of a session that is over */
	if (same && hello->session == peer->theirs) {
		on_known_session(peer, hello, pkt);
		return false;
	}
	if (peer->connected && !peer->failed && !same && !peer->failing) {
		qv_peer_challenge(peer);
		return false;
	}
	if (hello->echo && hello->echo != peer->session &&
	    !answers_forgotten(peer, pkt, hello->echo)) {
		/* It speaks to who was here before, or before we gave it up. */
		qv_peer_send_reset(peer, hello->session);
		if (peer->hello_sent)
			qv_peer_challenge(peer);
		return false;
	}
	return true;
}

/* A session of theirs begins. Ours goes on, if they speak of it, or nothing was received in it. */
static void begin_theirs(struct qv_peer *peer, const struct qv_wire_hello *hello)
{
	bool paired = peer->connected, ours_lives = hello->echo == peer->session;

	if (peer->failing)
		qv_peer_fail(peer, peer->failing);
	if (peer->failed) {
		peer->failed = false;
		qv_peer_begin_session(peer);
	} else if (paired && !ours_lives) {
		qv_peer_end_session(peer, "it has begun a new session");
	} else if (paired) {
		qv_peer_forget(peer);
		new_id(peer);
		peer->hello_sent = peer->introduced = false;
	}
	peer->confirmed = false;
	peer->theirs = hello->session;
	peer->got = peer->told = peer->alive.got_then = 0;
	peer->unacked = 0;
	peer->consumed = peer->stored = 0;
	peer->allowed = peer->p->budget;
	qv_peer_fed(peer);
	peer->asked = peer->ack_due = false;
	peer->stripe.open = false;
	peer->connected = true;
}

static void take_hello(struct qv_peer *peer, struct qv_xport *x, uint64_t from,
		       const struct qv_wire_hello *hello, bool asked)
{
	bool was_sent;

	begin_theirs(peer, hello);
	was_sent = peer->hello_sent;
	if (peer->uid != hello->uid)
		qv_peer_set_uid(peer, hello->uid);
	qv_peer_set_budget(peer, hello->budget);
	/* What it receives over our transport to it, on which all sides receive the same. */
	peer->packet_max =
		hello->packet_max < peer->x->packet_max ? hello->packet_max : peer->x->packet_max;
	peer->over = x;
	peer->from = from;
	peer->headerless = peer->x->ops->inject_tagged && !qv_peer_is_asymmetric(peer);
	peer->proc = (struct qv_proc){hello->host, hello->start, hello->pid};
	peer->heard = true;
	confirm(peer, hello);
	if (!was_sent)
		(void)qv_peer_send_hello(peer); /* else before the first packet to it */
	else if (asked)
		qv_peer_repeat_hello(peer);
	if (peer->starved || peer->head || peer->ctl_head) {
		peer->starved = false;
		qv_peer_list(peer);
	}
}

int qv_peer_on_hello(struct qv_proto *p, struct qv_xport *x, const struct qv_wire_pkt *pkt,
		     uint64_t from)
{
	struct qv_wire_hello hello;
	struct qv_peer *peer;
	int rc;

	memcpy(&hello, pkt->body, sizeof hello);
	rc = hello_from(p, x, &hello, pkt->body + sizeof hello, pkt->len - sizeof hello, from,
			&peer);
	if (rc || !peer)
		return rc;
	if (may_begin(peer, &hello, pkt))
		take_hello(peer, x, from, &hello, pkt->hdr.arg == QV_HELLO_ASKS);
	else
		peer->heard |= peer->connected && peer->theirs == hello.session;
	return QV_OK;
}
