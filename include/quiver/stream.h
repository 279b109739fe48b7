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
 * Items of one rank for another come in the order in which they were inserted, if the network keeps
 * the order of messages between two ranks.
 *
 * Ranks of a group are of one byte order. No locks, no threads, no clock: calls are told the time.
 */
#ifndef QUIVER_STREAM_H
#define QUIVER_STREAM_H

#include <quiver/exchange.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same on all ranks, but for rank. */
struct qv_stream_spec {
	size_t size;          /* of this structure, see types.h */
	enum qv_way way;      /* any but QV_WAY_CRYSTAL */
	uint32_t ranks, rank; /* 1 or more; less than ranks */
	uint32_t items;       /* of a full bucket, at most 65536; 0: 64 */
	size_t limit;         /* bytes of a full bucket, 64 to 2^30; 0: 8192 */
	uint64_t wait_ns;     /* that an item waits for others; 0: 1 ms; UINT64_MAX: for a flush */
	uint32_t window; /* buckets that may be under way before an insert has to wait; 0: 64 */
	size_t envelope; /* the longest one, bytes, at most limit - 64; 0: items have none */
};

struct qv_stream_calls {
	/*
	 * Start a message and return at once; when it is over, the owner calls qv_stream_done, from
	 * inside of the call or later. The peer's owner hands it to qv_stream_deliver.
	 *   port        as given to qv_stream_create
	 *   id          to be named in qv_stream_done
	 *   peer        to which rank
	 *   buf, bytes  untouched by the stream until the message is done; at most spec.limit
	 * QV_EAGAIN: not now, it is asked again; another negative value ends the stream.
	 */
	int (*send)(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes);
	/*
	 * An item has come; it may insert others. For streams without envelopes.
	 *   from         which rank inserted it
	 *   data, bytes  during the call only; data may be at any address
	 */
	void (*item)(void *port, uint32_t from, const void *data, size_t bytes);
	/*
	 * The same for streams with envelopes.
	 *   envelope, n  as it was given to qv_stream_pack, of qv_stream_insert 0 bytes; during the
	 *                call only, at any address
	 */
	void (*packed)(void *port, uint32_t from, const void *envelope, size_t n, const void *data,
		       size_t bytes);
};

struct qv_stream; /* opaque */

/*
 *   spec         what
 *   calls, port  the network and the user, and what their functions get; calls are copied
 *   stream       out: to be given to qv_stream_free
 * QV_EINVAL: a value is out of range; QV_ENOMEM.
 */
QV_API int qv_stream_create(const struct qv_stream_spec *spec, const struct qv_stream_calls *calls,
			    void *port, struct qv_stream **stream);

/* Free it, while no message of it is under way, with items that have not left. NULL is allowed. */
QV_API void qv_stream_free(struct qv_stream *stream);

/* The longest item, bytes: it fills a bucket with its head and the longest envelope. */
QV_API size_t qv_stream_longest(const struct qv_stream *stream);

/*
 * Send an item; it is copied. One to oneself comes at once.
 *   to           which rank
 *   data, bytes  0 bytes come nevertheless
 *   now          ns of any clock that does not go back
 * QV_EAGAIN: spec.window buckets are under way, call again after progress; QV_EINVAL: no such rank;
 * QV_EMSGSIZE: longer than qv_stream_longest; QV_ENOMEM: the stream is as it was; what ended it.
 */
QV_API int qv_stream_insert(struct qv_stream *stream, uint32_t to, const void *data, size_t bytes,
			    uint64_t now);

/*
 * The same with an envelope; it is copied, if the item before it for the same peer has another.
 *   envelope, n  n: at most spec.envelope bytes; 0 is an envelope, too
 * QV_EMSGSIZE also: n is more than that.
 */
QV_API int qv_stream_pack(struct qv_stream *stream, uint32_t to, const void *envelope, size_t n,
			  const void *data, size_t bytes, uint64_t now);

/*
 * A message has come. What is to be sent on is taken whatever is under way.
 *   from        the rank that sent it
 *   buf, bytes  may be used again after the call
 * QV_EPROTO: it is not one of this stream, and nothing of it was taken. QV_ENOMEM: the stream has
 * ended, for what was to be sent on is lost.
 */
QV_API int qv_stream_deliver(struct qv_stream *stream, uint32_t from, const void *buf, size_t bytes,
			     uint64_t now);

/* Let leave all that waits. To be called too when there is nothing else to do: others may wait for
 * what is to be sent on. */
QV_API int qv_stream_flush(struct qv_stream *stream);

/* Let leave what has waited long enough. QV_OK: nothing waits, nothing is under way from here;
 * QV_EAGAIN: something does; another negative value is what ended the stream. */
QV_API int qv_stream_progress(struct qv_stream *stream, uint64_t now);

/* A message is over; status: QV_OK, or why it failed, which ends the stream. */
QV_API void qv_stream_done(struct qv_stream *stream, uint32_t id, int status);

/*
 * Since the beginning. When no rank inserts any more, not from qv_stream_calls.item either, all
 * items have come once the sums of inserted and of delivered over all ranks are the same; until
 * then each rank must flush and progress.
 */
struct qv_stream_stats {
	uint64_t inserted, delivered; /* items */
	uint64_t forwarded;           /* items that came to be sent on */
	uint64_t messages, bytes;     /* that were sent, with heads */
	uint64_t envelopes;           /* in them: one for all items in a row that share it */
	uint64_t full, late, flushed; /* why they left: full, first item waited, flush */
};

QV_API void qv_stream_stats(const struct qv_stream *stream, struct qv_stream_stats *stats);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_STREAM_H */
