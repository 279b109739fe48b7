/* SPDX-License-Identifier: BSD-2-Clause */
/* window.h - numbers of packets, and packets that are kept until they are acknowledged. */
#ifndef QV_PROTO_WINDOW_H
#define QV_PROTO_WINDOW_H

#include "engine/base/compiler.h"
#include "state.h"

#include <string.h>

/* seq.c */
/* Number and acknowledgement into a packet that is about to be sent. */
static inline void qv_wire_number(char *packet, uint32_t seq, uint32_t ack)
{
	const uint16_t words[2] = {(uint16_t)seq, (uint16_t)ack};

	memcpy(packet + offsetof(struct qv_wire_hdr, seq), words, sizeof words);
}

/* What the peer has acknowledged leaves the window. False: nothing has. */
bool qv_peer_acked(struct qv_peer *peer);
static inline bool qv_peer_window_is_full(struct qv_peer *peer)
{
	return QV_UNLIKELY(peer->sent - peer->acked >= QV_SEQ_WINDOW) && !qv_peer_acked(peer);
}
/* Have all packets of this send come there? */
static inline bool qv_tx_is_acked(const struct qv_tx *tx)
{
	return tx->issued && (int32_t)(tx->peer->acked - tx->last) >= 0;
}
/* A numbered packet was given to the transport. */
static inline void qv_peer_sent(struct qv_peer *peer)
{
	peer->sent++;
	peer->told = peer->got;
	peer->unacked = 0;
}

/* A packet of no number, at once or not at all. */
int qv_peer_send_now(struct qv_peer *peer, enum qv_wire_op op, uint64_t arg, const void *body,
		     size_t len);
void qv_peer_send_ack(struct qv_peer *peer);

/* Bytes that came, headers included, before they are acknowledged whatever else is sent: long
 * before the sender's window is full. */
#define QV_UNACKED_MAX (256u << 10)
#define QV_UNACKED_HDR 64u

/* One more came in order, with len bytes that its sender has to keep. */
static inline void qv_peer_got(struct qv_peer *peer, size_t len)
{
	peer->got++;
	peer->unacked += QV_UNACKED_HDR + (uint32_t)len;
	if (QV_UNLIKELY(peer->unacked >= QV_UNACKED_MAX))
		qv_peer_send_ack(peer);
}

/* A packet that is not the next: one that came before, or behind one that was lost. */
void qv_peer_out_of_order(struct qv_peer *peer, uint16_t seq);
void qv_peer_on_ack(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
void qv_peer_on_ping(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
/* Send again all that is in the window; new packets wait. */
void qv_peer_resend(struct qv_peer *peer);
/* Go on with that. QV_EAGAIN: the transport is full. */
int qv_peer_resend_some(struct qv_peer *peer);

/* window.c */
/* A packet that the peer may not have got. The bytes are in packet; of a SEG the payload is the
 * n bytes at pos of tx's message. */
struct qv_kept {
	uint32_t size; /* of this, in the chunk */
	uint32_t len;
	struct qv_tx *tx;
	size_t pos;
	uint32_t n;
	uint32_t flying; /* transfers that read it here: until they end it stays as it is */
	char packet[];
};
/* Room for a packet of at most len bytes behind all others; NULL: the window is full, or no memory.
 * The packet is in the window from qv_window_add on, which is told its length. */
struct qv_kept *qv_window_room(struct qv_peer *peer, size_t len);
void qv_window_add(struct qv_peer *peer, struct qv_kept *kept, size_t len);
/* The packet with this number, and its chunk; NULL: it is not there. */
struct qv_kept *qv_window_seek(const struct qv_window *w, uint32_t seq, struct qv_chunk **in);
/* The one behind it, which may be in another chunk; NULL: it is the last. */
struct qv_kept *qv_window_next(struct qv_chunk **in, const struct qv_kept *kept);
/* The chunk of the packet that is in the making, or was added last. */
struct qv_chunk *qv_window_chunk(const struct qv_window *w);
/* Everything up to this number has come there. */
void qv_window_release(struct qv_peer *peer, uint32_t upto);
void qv_window_clear(struct qv_peer *peer);
/* Is it (part of) a message whose send is complete by now, for all that its sender knows? */
bool qv_packet_is_message(const char *packet);
/* Are there messages in it that nobody will tell the loss of? */
bool qv_window_has_messages(const struct qv_window *w);
/* tx will not be there when its packets are to be sent again. */
void qv_window_void(struct qv_peer *peer, struct qv_tx *tx);
/* A transfer of a packet in the chunk begins, ends. */
void qv_chunk_hold(struct qv_chunk *chunk);
void qv_chunk_drop(struct qv_proto *p, struct qv_chunk *chunk);
void qv_window_fini(struct qv_proto *p);

#endif /* QV_PROTO_WINDOW_H */
