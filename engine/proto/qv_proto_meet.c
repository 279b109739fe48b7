/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_proto_meet.c - acquaintance over transports that may lose what was sent first: where both
 * sides begin at once, they make two connections, agree on one of them, and may close the other one
 * after it has been written to. So nothing follows our HELLO before the peer has answered that it
 * is there.
 */
#include "proto/qv_proto_i.h"

#include <string.h>

#define ASK_MS 100u /* without an answer, all is said again */
#define BUSY_MS                                                                           \
	1000u /* who does not answer for so long does not look: it will find what follows \
	       */

/* Ahead of all that waits; what the transport does not take is said again later. */
static void send_now(struct qv_peer *peer, enum qv_wire_op op, uint64_t arg, const char *body,
		     size_t len)
{
	struct qv_wire_pkt pkt = qv_packet_to(peer, op, arg, 0);
	char packet[QV_WIRE_MAX_CTL];
	size_t hdrlen = qv_wire_write(packet, &pkt);
	int rc;

	if (len)
		memcpy(packet + hdrlen, body, len);
	rc = qv_emit(peer, packet, hdrlen + len, NULL, 0, 0, NULL);
	if (rc && rc != QV_EAGAIN && rc != QV_ENOMEM)
		qv_peer_doom(peer, qv_strerror(rc));
}

void qv_peer_ask(struct qv_peer *peer)
{
	peer->asking = true;
	peer->asked_since = 0;
	send_now(peer, QV_PKT_PING, QV_PING_MEET, NULL, 0);
}

void qv_peer_keep_asking(struct qv_peer *peer, uint64_t now_ms)
{
	char body[QV_WIRE_MAX_BODY];

	if (!peer->asked_since)
		peer->asked_since = peer->asked_at = now_ms;
	if (now_ms - peer->asked_since >= BUSY_MS) {
		qv_peer_met(peer, QV_OK);
	} else if (now_ms - peer->asked_at >= ASK_MS) {
		peer->asked_at = now_ms;
		send_now(peer, QV_PKT_HELLO, 0, body, qv_peer_write_hello(peer, body));
		send_now(peer, QV_PKT_PING, QV_PING_MEET, NULL, 0);
	}
}

void qv_peer_on_question(struct qv_peer *peer)
{
	if (peer->hello_sent && !peer->doom && !peer->failed)
		send_now(peer, QV_PKT_PONG, QV_PING_MEET, NULL, 0);
}

void qv_peer_met(struct qv_peer *peer, int status)
{
	peer->greeting = peer->asking = false;
	if (peer->head)
		qv_peer_list(peer);
	if (!status)
		peer->remote_id = peer->told_id;
}
