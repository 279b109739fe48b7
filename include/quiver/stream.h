/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - streams of tiny messages: each rank has items of some bytes for any ranks, one after
 * the other, and what goes the same way waits in a bucket for a moment, to leave as one message
 * with one head. A bucket leaves when it is full, when its first item has waited long enough, or
 * when its owner has nothing else to do. Over a mesh a rank has fewer buckets, which fill faster,
 * but items travel twice (Kumar, "Optimizing Communication for Massively Parallel Processing",
 * chapter 5).
 *
 * Items may have an envelope: bytes that many of them share, such as the function and the objects
 * that they are for. In a bucket one stands before the items that have it, so that a tiny item
 * costs its bytes and a few more, and no envelope of its own.
 *
 * An urgent item waits in no bucket, here or where it is sent on: buckets that have one leave with
 * what else is in them, and before those for other ranks (qv_stream_insert_urgent).
 *
 * Items of one rank for another come in the order in which they were inserted, urgent or not, if
 * the network keeps the order of messages between two ranks. Those by QV_SECTION_RING and
 * QV_SECTION_TREE, which receivers send on, have an order of their own.
 *
 * Ranks of a group are of one byte order. No locks, no threads, no clock: calls are told the time.
 */
#ifndef QUIVER_STREAM_H
#define QUIVER_STREAM_H

#include <quiver/exchange.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QV_STREAM_LIMIT 8192 /* of spec.limit, if that is 0 */

/* How an item travels to a section, the many ranks that get it at once. */
enum qv_section {
	QV_SECTION_WAY,  /* by the stream's way, in order with items for one */
	QV_SECTION_RING, /* each receiver sends it to the next one: one message for each rank */
	QV_SECTION_TREE, /* by a binomial tree of the receivers: few messages one behind the other */
	QV_N_SECTIONS
};

/* The same on all ranks, but for rank. */
struct qv_stream_spec {
	size_t size;          /* of this structure, see types.h */
	enum qv_way way;      /* any but QV_WAY_CRYSTAL */
	uint32_t ranks, rank; /* 1 or more; less than ranks */
	uint32_t items;       /* of a full bucket, at most 65536; 0: 64 */
	size_t limit;         /* bytes of a full bucket, 64 to 2^30; 0: QV_STREAM_LIMIT */
	uint64_t wait_ns;     /* that an item waits for others; 0: 1 ms; UINT64_MAX: for a flush */
	uint32_t window; /* buckets that may be under way before an insert has to wait; 0: 64 */
	size_t envelope; /* the longest one, bytes, at most limit - 64; 0: items have none */
};

struct qv_stream_calls {
	/*
	 * Start a message and return at once; when it is over, the caller of the stream calls
	 * qv_stream_done, from inside of this call or later. The one at the peer hands the message
	 * to qv_stream_deliver.
	 *   port        as given to qv_stream_create
	 *   id          to be named in qv_stream_done
	 *   peer        to which rank
	 *   buf, bytes  the stream's, which does not touch it until the message is done; at most
	 *               spec.limit bytes
	 * QV_OK; QV_EAGAIN: not now, it is asked again; another negative value ends the stream.
	 */
	int (*send)(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes);
	/*
	 * An item has come; this may insert others, which never have to wait (QV_EAGAIN), however
	 * much is under way. For streams without envelopes.
	 *   port         as given to qv_stream_create
	 *   from         which rank inserted it
	 *   data, bytes  during the call only; data may be at any address
	 */
	void (*item)(void *port, uint32_t from, const void *data, size_t bytes);
	/*
	 * The same for streams with envelopes.
	 *   port         as given to qv_stream_create
	 *   from         which rank inserted it
	 *   envelope, n  as it was given to qv_stream_pack, of qv_stream_insert 0 bytes; during the
	 *                call only, at any address
	 *   data, bytes  as for item
	 */
	void (*packed)(void *port, uint32_t from, const void *envelope, size_t n, const void *data,
		       size_t bytes);
};

struct qv_stream; /* opaque */

/*
 * Make a stream of one rank.
 *   spec         what; copied
 *   calls, port  the network and the user, and what their functions get; calls are copied
 *   stream       out: to be given to qv_stream_free
 * QV_EINVAL: a value is out of range, or a function is missing: send, and item or, with envelopes,
 * packed; QV_ENOMEM.
 */
QV_API int qv_stream_create(const struct qv_stream_spec *spec, const struct qv_stream_calls *calls,
			    void *port, struct qv_stream **stream);

/* Free it, while no message of it is under way, with items that have not left. NULL is allowed. */
QV_API void qv_stream_free(struct qv_stream *stream);

/* The longest item, bytes: it fills a bucket with its head and the longest envelope. */
QV_API size_t qv_stream_longest(const struct qv_stream *stream);

/*
 * Send an item. One to oneself comes within this call; if this is within calls.item or calls.packed,
 * right behind that.
 *   stream       from qv_stream_create
 *   to           which rank
 *   data, bytes  copied; 0 bytes come nevertheless
 *   now          ns of any clock that does not go back
 * QV_EAGAIN: spec.window buckets are under way, call again after progress; QV_EINVAL: no such rank;
 * QV_EMSGSIZE: longer than qv_stream_longest; QV_ENOMEM; what ended the stream. Then the item is
 * not sent.
 */
QV_API int qv_stream_insert(struct qv_stream *stream, uint32_t to, const void *data, size_t bytes,
			    uint64_t now);

/*
 * The same for an urgent item: its bucket leaves within this call, ahead of those for other ranks
 * that the network has not taken yet; ranks that send it on do so within qv_stream_deliver. Many of
 * them cost a message each.
 *   stream, to, data, bytes, now  as for qv_stream_insert
 * Errors as qv_stream_insert.
 */
QV_API int qv_stream_insert_urgent(struct qv_stream *stream, uint32_t to, const void *data,
				   size_t bytes, uint64_t now);

/*
 * The same with an envelope; it is sent along if the item before it for the same peer has another.
 *   stream       from qv_stream_create
 *   to           which rank
 *   envelope, n  copied; at most spec.envelope bytes, 0 is an envelope, too
 *   data, bytes  copied; 0 bytes come nevertheless
 *   now          as for qv_stream_insert
 * Errors as qv_stream_insert; QV_EMSGSIZE also: n is more than spec.envelope.
 */
QV_API int qv_stream_pack(struct qv_stream *stream, uint32_t to, const void *envelope, size_t n,
			  const void *data, size_t bytes, uint64_t now);

/*
 * Send an item to many ranks at once. By the stream's way it travels over a mesh or a cube once over
 * each part of the way that some of them have in common, straight once to each, and in order with what
 * is inserted for each of them.
 *
 * By ring and tree the receivers send it on, and no other rank does: straight to each other, whatever
 * the stream's way is. They do so within qv_stream_deliver, as with urgent items; only here it waits in
 * a bucket. The ring begins with the one behind this rank, and goes around: it takes the time of a
 * message for each receiver. What one rank sends to another so, by either, comes in the order in which
 * it was inserted, whatever the sections are; there is no order with other items of it, unless all have
 * come in between. From the first such
 * item on each rank has 24 bytes of memory for each other one. A receiver keeps items that come before
 * earlier ones of the same sender, until these have come; only memory limits how many.
 *
 * An item to oneself comes as of qv_stream_insert, when it is on its way to the others. In a stream
 * with envelopes it has one of 0 bytes. Data and the list of ranks share what qv_stream_longest says:
 * where both do not fit, parts of the list go with copies of the data. As many buckets as there are
 * ranks may be under way by one call, whatever spec.window is.
 *   stream       from qv_stream_create
 *   by           how it travels: of each call anew
 *   to, n        n ranks in ascending order, 1 or more, none twice; read during the call
 *   data, bytes  copied; 0 bytes come nevertheless
 *   now          as for qv_stream_insert
 * Errors as qv_stream_insert, QV_EINVAL also: there is no such `by`, n is 0 or the ranks are not in
 * ascending order. Where memory ends after some have got it, the stream has ended.
 */
QV_API int qv_stream_multicast(struct qv_stream *stream, enum qv_section by, const uint32_t *to,
			       size_t n, const void *data, size_t bytes, uint64_t now);

/*
 * A message has come: items for this rank are handed to the user within this call. What is to be
 * sent on is taken whatever is under way.
 *   stream      from qv_stream_create
 *   from        the rank that sent it
 *   buf, bytes  may be used again after the call
 *   now         as for qv_stream_insert
 * QV_EPROTO: it is not one of this stream, and nothing of it was taken. QV_ENOMEM: the stream has
 * ended, for what was to be sent on is lost. An item by ring or tree whose number has
 * come before is dropped: the number alone decides, so a member that forges it can suppress others' items.
 */
QV_API int qv_stream_deliver(struct qv_stream *stream, uint32_t from, const void *buf, size_t bytes,
			     uint64_t now);

/* Send all that waits. To be called too when there is nothing else to do: others may wait for what
 * is to be sent on. Returns as qv_stream_progress. */
QV_API int qv_stream_flush(struct qv_stream *stream);

/*
 * Send what has waited long enough.
 *   stream  from qv_stream_create
 *   now     as for qv_stream_insert
 * QV_OK: nothing waits, nothing is under way from here; QV_EAGAIN: something does; another value is
 * what ended the stream.
 */
QV_API int qv_stream_progress(struct qv_stream *stream, uint64_t now);

/*
 * A message is over.
 *   stream  from qv_stream_create
 *   id      as given to send; one that is not under way is ignored
 *   status  QV_OK, or why it failed, a negative value, which ends the stream
 */
QV_API void qv_stream_done(struct qv_stream *stream, uint32_t id, int status);

/*
 * Since the beginning. When no rank inserts any more, not from qv_stream_calls.item either, all
 * items have come once the sums of inserted and of delivered over all ranks are the same; until
 * then each rank must flush and progress.
 */
struct qv_stream_stats {
	uint64_t inserted, delivered; /* items; one of a multicast for each receiver */
	uint64_t forwarded;           /* items that came to be sent on, counted so, too */
	uint64_t messages, bytes;     /* that were sent, with heads */
	uint64_t envelopes;           /* in them: one for all items in a row that share it */
	uint64_t full, late, flushed; /* why they left: full, first item waited, flush */
	uint64_t urgent; /* or an urgent item is in them, or one sent on by ring or tree */
};

/*
 * Read the counters.
 *   stream  from qv_stream_create
 *   stats   out: since the beginning
 */
QV_API void qv_stream_stats(const struct qv_stream *stream, struct qv_stream_stats *stats);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_STREAM_H */
