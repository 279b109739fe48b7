/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h - what the files of the protocol call of each other. */
#ifndef QV_PROTO_INTERNAL_H
#define QV_PROTO_INTERNAL_H

#include "engine/base/compiler.h"
#include "engine/base/copy.h"
#include "engine/base/iov.h"
#include "state.h"
#include "window.h"

#include <string.h>

/* peer.c */
struct qv_peer *qv_peer_by_uid(struct qv_proto *p, uint64_t uid);
/* By the word that a packet bears before its sender knows its id. */
struct qv_peer *qv_peer_by_token(struct qv_proto *p, uint64_t token);
void qv_peer_set_uid(struct qv_peer *peer, uint64_t uid);

/* packet.c */
/* A packet breaks the protocol. */
void qv_refuse(struct qv_proto *p, const char *why);

/* message.c */
/* An EAGER, an RTS. QV_ENOMEM: nothing has changed. */
int qv_message_on_packet(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
void qv_message_on_data(struct qv_peer *peer, const struct qv_wire_pkt *pkt);

/* session.c */
int qv_peer_on_hello(struct qv_proto *p, struct qv_xport *x, const struct qv_wire_pkt *pkt,
		     uint64_t from);
/* Queue our HELLO. QV_ENOMEM: not said, to be tried again before the next packet. */
int qv_peer_send_hello(struct qv_peer *peer);
/* The same at once, ahead of all that waits. False: the transport does not take it. */
bool qv_peer_repeat_hello(struct qv_peer *peer);
/* Another speaks from its address: is it still there? */
void qv_peer_challenge(struct qv_peer *peer);
/* It was given to the transport. */
void qv_peer_introduced(struct qv_peer *peer);
/* Tell the peer that its session is over. */
void qv_peer_send_reset(struct qv_peer *peer, uint32_t session);
/* A session of ours begins: nothing has been sent. What was is over already. */
void qv_peer_begin_session(struct qv_peer *peer);
/* Messages of ours were lost, and no entry says so: the next send does. */
void qv_peer_untold(struct qv_peer *peer);
/* May messages bear the peer's id for us, and so take the fast path? */
void qv_peer_set_remote(struct qv_peer *peer);

/* waiting/backlog.c */
/* A short message waits. QV_EAGAIN: it cannot be kept so; QV_ENOMEM. */
int qv_backlog_append(struct qv_peer *to, const struct qv_send_args *args, size_t len);
/* The messages of a backlog, until the transport is full. */
int qv_backlog_issue(struct qv_tx *tx);
void qv_backlog_fail(struct qv_tx *tx, int status);
void qv_backlog_free(struct qv_tx *tx);

/* waiting/copies.c */
/* Injected payload of so many bytes: may a copy of it wait here? */
bool qv_copies_have_room(struct qv_peer *peer, size_t len);
/* Make the copy. False: no memory. */
bool qv_tx_copy(struct qv_tx *tx, const struct iovec *iov, size_t cnt);
static inline bool qv_tx_has_copy(const struct qv_tx *tx)
{
	return tx->flags & QV_REQ_INJECT && tx->packet != tx->small;
}

/* Nobody waits for it any more; the transport may still read it. */
void qv_copies_gone(struct qv_tx *tx);
/* Nobody reads it any more. */
void qv_tx_drop_copy(struct qv_tx *tx);
void qv_copies_tick(struct qv_peer *peer);
/* The endpoint ends: the packets of all sends to this peer are freed. */
void qv_copies_end(struct qv_peer *peer);

/* waiting/credit.c */
/* What a message takes of the receiver's budget while it waits there. */
static inline size_t qv_cost(size_t len)
{
	return len + QV_WIRE_MESSAGE_COST;
}

/* The receiver has so much room for messages of ours. */
void qv_peer_set_budget(struct qv_peer *peer, size_t budget);
/* May the first message go? If not, the peer is told that it waits. */
bool qv_peer_has_credit(struct qv_peer *peer, size_t cost);
void qv_peer_on_credit(struct qv_peer *peer, uint64_t bytes);
void qv_peer_on_starving(struct qv_peer *peer);
/* It waits for no credit any more. */
void qv_peer_fed(struct qv_peer *peer);
/* The application wants a message that is not here: from this peer, or NULL, any. */
void qv_proto_widen(struct qv_proto *p, struct qv_peer *from);
/* So much of the budget is free again. */
void qv_peer_consumed_slow(struct qv_peer *peer);
static inline void qv_peer_consumed(struct qv_peer *peer, size_t len)
{
	peer->consumed += qv_cost(len);
	if (QV_UNLIKELY(peer->consumed >= peer->tell_at))
		qv_peer_consumed_slow(peer);
}

/* send.c */
/* A message of at most QV_PROTO_SHORT bytes, at once. QV_EAGAIN: the transport is full, or the
 * receiver has no room for it. */
int qv_send_short(struct qv_peer *to, const struct qv_send_args *args, size_t len);
/* QV_EPEER: not now. */
int qv_peer_may_send(struct qv_peer *to);
/* The same for a notice, and for what is no message: of lost messages it does not tell. */
int qv_peer_may_try(struct qv_peer *to);

/* loss.c */
void qv_peer_on_reset(struct qv_proto *p, const struct qv_xport *x, const struct qv_wire_pkt *pkt,
		      uint64_t from);
void qv_peer_look_for_failed(struct qv_peer *peer);
/* Requests of a peer that has failed. */
void qv_peer_give_up(struct qv_peer *peer);
/* Give up everything that needs this peer to go on, now; other peers' is not touched. */
void qv_peer_fail(struct qv_peer *peer, const char *why);
/* The same at a later tick: answers of the peer may still come. May be called from anywhere. why:
 * static storage. */
void qv_peer_mark_failed(struct qv_peer *peer, const char *why);
/* The session is over, the peer is not: its requests fail, and a new session may begin. */
void qv_peer_end_session(struct qv_peer *peer, const char *why);
/* What this peer has begun to send will not go on. */
void qv_peer_forget(struct qv_peer *peer);

/* Is the sender of this message gone, or another process by now? Then there is nothing to answer
 * and nothing to fetch. */
static inline bool qv_info_stale(const struct qv_info *info)
{
	return info->peer->failed || info->epoch != info->peer->epoch;
}

/* Does it speak over another transport? Then what it registers cannot be read. */
static inline bool qv_peer_is_asymmetric(const struct qv_peer *peer)
{
	return peer->over != peer->x;
}

/* Does its transport have transfers that it never gives back, and that touch nothing any more? */
static inline bool qv_peer_loses_transfers(const struct qv_peer *peer)
{
	return peer->x->no_flush && peer->gone;
}

/* Is anything of it under way that only it can end? */
static inline bool qv_peer_is_waiting(const struct qv_peer *peer)
{
	return peer->outstanding || peer->head || peer->ctl_head || peer->sent != peer->acked ||
	       peer->open_unexp;
}

/* A request needs this peer to go on, or does not any more. */
static inline void qv_peer_add_outstanding(struct qv_peer *peer)
{
	peer->outstanding++;
	peer->x->outstanding++;
}

static inline void qv_peer_end_outstanding(struct qv_peer *peer)
{
	peer->outstanding--;
	peer->x->outstanding--;
}

/* recv.c */
/* The sender of a receive that now waits is to be looked after; QV_EPEER: it is gone. */
int qv_rx_await(struct qv_proto *p, struct qv_rx *rx, struct qv_peer *from);
/* It waits no more. */
void qv_rx_awaited(struct qv_rx *rx);
/* Receives that wait for this peer fail. */
void qv_rx_fail_all(struct qv_peer *peer);

/* remote.c */
void qv_calls_init(struct qv_proto *p);
/* A request: QV_ENOMEM: nothing has changed. */
int qv_peer_on_ask(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
void qv_peer_on_answer(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
/* Who was to answer does not any more. */
void qv_calls_fail(struct qv_peer *peer);

/* close.c */
void qv_peer_on_leave(struct qv_peer *peer);

/* tx.c */
struct qv_tx *qv_tx_new(struct qv_peer *peer, enum qv_tx_kind kind);
void qv_tx_put(struct qv_tx *tx);
/* Give it to the transport now, or queue it behind what waits already. */
void qv_tx_start(struct qv_tx *tx);
int qv_tx_control(struct qv_peer *peer, enum qv_wire_op op, uint64_t arg, const void *body,
		  size_t len);
/* The same in two steps: *body is where len bytes go before qv_tx_start. NULL: no memory, or the peer
 * is given up. */
struct qv_tx *qv_tx_new_control(struct qv_peer *peer, enum qv_wire_op op, uint64_t arg, size_t len,
				char **body);
/* One that has ended, or is not to be started. */
void qv_tx_free(struct qv_tx *tx);
/* It has left the queue. */
static inline void qv_tx_unqueued(struct qv_tx *tx)
{
	tx->p->waiting--;
	if (tx->answer)
		tx->peer->answers--;
}
/* QV_ENOMEM: not told. */
int qv_tx_fin(struct qv_peer *peer, uint64_t sreq, int status);
void qv_tx_on_fin(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
void qv_tx_on_cts(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
/* Every packet of tx was given to the transport (status QV_OK), or giving it up failed. */
void qv_tx_issued(struct qv_tx *tx, int status);
/* Something about tx has changed: report its completion and free it where that is due. */
void qv_tx_check(struct qv_tx *tx, int status);
void qv_tx_enqueue(struct qv_tx *tx);
/* Take back the registration of its buffers. */
void qv_tx_deregister(struct qv_tx *tx);
/* Report it as failed, whatever is still in flight. */
void qv_tx_fail(struct qv_tx *tx, int status);

/* Put a peer with a queue on the endpoint's list, take it off. */
void qv_peer_list(struct qv_peer *peer);
void qv_peer_unlist(struct qv_peer *peer);

/*
 * Must a send wait? What is sent again goes first, by its numbers. So do control packets and SEGs
 * that wait, HELLO among them; and messages keep their order.
 */
static inline bool qv_peer_must_queue(const struct qv_peer *peer, bool message)
{
	return peer->ctl_head || peer->resend || (message && peer->head);
}

/*
 * May the fast path be tried? It asks less than qv_peer_must_queue, and that is enough. remote_id
 * is unknown while anything is sent again, and until the HELLO has gone (qv_peer_set_remote). To go
 * before another control packet does no harm: a packet gets its number when it goes, and no control
 * packet says anything of the messages behind it. At each progress they go first all the same.
 */
static inline bool qv_peer_is_fast(const struct qv_peer *peer)
{
	return !peer->head && peer->remote_id != QV_SRC_UNKNOWN;
}

/* unnamed.c: at the end of a tick. Is this a peer that the application has no name for, and can it be
 * freed? */
bool qv_unnamed_tick(struct qv_peer *peer, uint64_t now);

/* issue.c */
int qv_tx_issue(struct qv_tx *tx);
/* Give what waits to the transport, until that is full or the peer has no room. */
void qv_peer_flush(struct qv_peer *peer);

/* emit.c */
struct qv_wire_pkt qv_packet_to(const struct qv_peer *peer, enum qv_wire_op op, uint64_t arg,
				uint8_t flags);
/* A numbered packet: header of hdrlen bytes, then len bytes from the pieces. tx: whose it is, or
 * NULL. */
int qv_emit(struct qv_peer *peer, char *hdr, size_t hdrlen, const struct iovec *iov, size_t cnt,
	    size_t len, struct qv_tx *tx);
/* That of the window with the number peer->resend, again. */
int qv_emit_again(struct qv_peer *peer, struct qv_kept *kept, struct qv_chunk *chunk);
/* One that has no number and is not kept. */
int qv_emit_unnumbered(struct qv_peer *peer, char *packet, size_t len);

/* deliver.c */
void qv_rx_deliver(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info,
		   const char *payload, const struct qv_wire_seg *segs);
/* The same for a whole eager message, into a receive of any kind. */
void qv_rx_deliver_whole(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info,
			 const char *payload);
void qv_rx_complete(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info, size_t len,
		    void *buf, int status);
/* Will a multi-receive end with a message of this length? (qv_rx_reserve decides the same.) */
bool qv_rx_ends(const struct qv_rx *rx, size_t full);
/* What a receive finds waiting, out of matching already. */
void qv_rx_deliver_unexp(struct qv_proto *p, struct qv_rx *rx, struct qv_unexp *u);
size_t qv_rx_reserve(struct qv_proto *p, struct qv_rx *rx, size_t full, struct iovec *iov,
		     size_t *cnt);

/* unexp.c */
/* No receive takes a message; body: len bytes of its payload, or the segments of an RTS. It is
 * kept, or its sender given up. QV_ENOMEM: nothing has changed. */
int qv_unexp_arrived(struct qv_proto *p, const struct qv_info *info, const char *body, size_t len);
void qv_unexp_free(struct qv_proto *p, struct qv_unexp *u);
void qv_unexp_drop(struct qv_proto *p, struct qv_unexp *u);
/* Those dropped whose senders could not be told for want of memory. */
void qv_unexp_drop_again(struct qv_proto *p);
/* The rest of it will not come: it stays, empty, and fails the receive that takes it. */
void qv_unexp_lose(struct qv_proto *p, struct qv_unexp *u);

/* long/rndv.c */
/* Is it an endpoint of this process? */
bool qv_peer_is_own(const struct qv_peer *peer);
struct qv_in *qv_in_new(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info);
/* A whole eager message, len bytes of it in the buffer: complete once its sender can be told. */
void qv_in_hold(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info, void *buf,
		size_t len);
void qv_in_finish(struct qv_in *in);
void qv_in_fail(struct qv_in *in, int status);
void qv_in_start(struct qv_in *in, const struct qv_wire_seg *segs);
void qv_in_retry(struct qv_proto *p);
/* Fetch what is still missing: by reads if both sides can, else by packets. */
void qv_in_fetch(struct qv_in *in);
/* Again at the next progress. */
void qv_in_wait(struct qv_in *in);
/* Where both paths are open: what is known of messages of its length. */
struct qv_choice *qv_in_choice(const struct qv_in *in);

/* long/reads.c */
bool qv_in_can_read(const struct qv_in *in);
/* Issue reads until all is asked for or the transport is full; then wait in the list. */
void qv_in_read_on(struct qv_in *in);

/* long/segs.c */
void qv_in_on_seg(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
void qv_in_on_piece(struct qv_peer *peer, const struct qv_wire_pkt *pkt);

#endif /* QV_PROTO_INTERNAL_H */
