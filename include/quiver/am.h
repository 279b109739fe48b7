/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * am.h - streams of tiny items (stream.h) and vranks that move between processes (vrank.h) for
 * programs over an MPI: active messages, whose functions run at the receiver. The libraries are
 * libquiver-am-ompi for Open MPI and libquiver-am-mpich for MPICH; both need libquiver, and call
 * the MPI by its public functions only. Link them to the program, or preload them: dlopen refuses
 * them ("cannot allocate memory in static TLS block") where other libraries have used up the room
 * that glibc keeps for variables of threads in libraries loaded later.
 *
 * A stream or a group of vranks has a duplicate of a communicator for itself, whose ranks are its
 * ranks. Communicators are named by their Fortran handles (MPI_Comm_c2f), which are integers in
 * every MPI. Any number of them may be there at the same time.
 *
 * Items come, and functions of the program are called, only within calls for their stream or vranks,
 * in the thread that calls. Each is used by one thread at a time; with several threads the MPI must
 * be at MPI_THREAD_SERIALIZED at least, or at MPI_THREAD_MULTIPLE, as for calls of the MPI's own.
 *
 * A rank that is not in such a call sends on nothing, and takes nothing. Others may wait for it in an
 * insert into a full stream, or in a fence. So a rank that computes for long calls
 * qv_am_stream_progress now and then, and no rank may wait in another call (MPI_Barrier, a fence of
 * another stream) for one that still inserts.
 *
 * A function of the program that is called for an item may insert items into the same stream, or move
 * vranks of the same group. The other calls, and those for others, answer QV_EINVAL there.
 *
 * An error that is not said to change nothing is the end of the stream on this rank. The others
 * would wait for it for ever, so MPI_Abort is what is left. Errors of the MPI go to the error handler
 * of the communicator, which by default ends the program; if it returns, they are QV_EIO.
 *
 * Each stream or group of vranks has receives posted, of 8 times the limit of its spec in all.
 */
#ifndef QUIVER_AM_H
#define QUIVER_AM_H

#include <quiver/stream.h>
#include <quiver/vrank.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Streams. */

struct qv_am_stream; /* opaque: a stream of one rank */

/*
 * Make a stream: all ranks of a communicator together.
 *   comm    Fortran handle of an intracommunicator; may be freed while the stream is there
 *   spec    what, but for ranks, rank and envelope, which are not looked at; the same on all
 *           ranks; copied
 *   item    an item has come, see struct qv_stream_calls
 *   user    what item gets as port
 *   stream  out: to be given to qv_am_stream_free
 * The same answer on all ranks. QV_EINVAL: a value is out of range or differs between ranks, item is
 * NULL on one of them. QV_ENOMEM: of one of them. On a rank alone: QV_EINVAL, MPI is not initialised, or
 * comm is MPI_COMM_NULL or an intercommunicator.
 */
QV_API int qv_am_stream_create(int comm, const struct qv_stream_spec *spec,
			       void (*item)(void *port, uint32_t from, const void *data,
					    size_t bytes),
			       void *user, struct qv_am_stream **stream);

/*
 * Send an item. Outside of the program's function this waits while spec.window buckets are under
 * way. Items may come within this call, also where it does not wait; one to oneself does, within the
 * program's function right behind the item that this is called for.
 *   stream       from qv_am_stream_create
 *   to           which rank
 *   data, bytes  copied; 0 bytes come nevertheless
 * QV_EINVAL, QV_EMSGSIZE, QV_ENOMEM as qv_stream_insert, and nothing has changed; else the stream has
 * ended.
 */
QV_API int qv_am_stream_insert(struct qv_am_stream *stream, uint32_t to, const void *data,
			       size_t bytes);

/*
 * The same for an urgent item, see qv_stream_insert_urgent.
 *   stream, to, data, bytes  as for qv_am_stream_insert
 * Errors as qv_am_stream_insert.
 */
QV_API int qv_am_stream_insert_urgent(struct qv_am_stream *stream, uint32_t to, const void *data,
				      size_t bytes);

/*
 * The same to many ranks at once, see qv_stream_multicast. By ring and tree a receiver keeps items that
 * come before earlier ones; only memory limits how many.
 *   stream       from qv_am_stream_create
 *   by           how it travels: of each call anew
 *   to, n        n ranks in ascending order, 1 or more, none twice; read during the call
 *   data, bytes  as for qv_am_stream_insert
 * QV_EINVAL, QV_EMSGSIZE as qv_stream_multicast, and nothing has changed. QV_ENOMEM: it is not sent, or
 * the stream has ended, as further calls say.
 */
QV_API int qv_am_stream_multicast(struct qv_am_stream *stream, enum qv_section by,
				  const uint32_t *to, size_t n, const void *data, size_t bytes);

/* Take what has come, and send on what has waited long enough; does not wait. QV_OK: nothing waits
 * here; QV_EAGAIN: something does; another value is what ended the stream. With spec.wait_ns UINT64_MAX
 * only full buckets, urgent items, those sent on by ring or tree, and fences send. */
QV_API int qv_am_stream_progress(struct qv_am_stream *stream);

/* Wait until every item has come that any rank has inserted before its own call, or that functions
 * have inserted since: all ranks together. Items that others insert behind their call may come
 * within it, too. QV_OK, or what ended the stream. */
QV_API int qv_am_stream_fence(struct qv_am_stream *stream);

/* The stream itself, for qv_stream_stats and qv_stream_longest; the library's. */
QV_API const struct qv_stream *qv_am_stream_of(const struct qv_am_stream *stream);

/* Free it behind a fence: all ranks together, before MPI_Finalize. NULL is allowed. QV_OK, or what
 * has ended the stream; then nothing is waited for, and memory that the MPI may still read stays. */
QV_API int qv_am_stream_free(struct qv_am_stream *stream);

/* Vranks. */

struct qv_am_vranks; /* opaque: those of one rank */

/*
 * Make vranks: all ranks of a communicator together.
 *   comm    as for qv_am_stream_create
 *   spec    what, but for ranks and rank of spec->stream, which are not looked at; the same on all
 *           ranks; copied
 *   calls   item, leave and arrive, what they do is said there; send is not looked at; copied
 *   user    what they get as port
 *   vranks  out: to be given to qv_am_vranks_free
 * Errors as qv_am_stream_create.
 */
QV_API int qv_am_vranks_create(int comm, const struct qv_vranks_spec *spec,
			       const struct qv_vranks_calls *calls, void *user,
			       struct qv_am_vranks **vranks);

/*
 * Send an item from a vrank that is here. Within this call only items for vranks that are here, too,
 * come, and vranks leave that they move.
 *   vranks  from qv_am_vranks_create
 *   item    copied, with its data
 * QV_EAGAIN: too much is under way, call again after qv_am_vranks_progress, in which the sender may
 * leave; never within a function of the program. QV_EINVAL, QV_EMSGSIZE, QV_ENOMEM as
 * qv_vranks_insert. Then the item is not sent. Else all has ended.
 */
QV_API int qv_am_vranks_insert(struct qv_am_vranks *vranks, const struct qv_vrank_item *item);

/*
 * Send an item to a section, many vranks at once, see qv_vranks_multicast.
 *   vranks  from qv_am_vranks_create
 *   item    copied, with its data; item->to is not looked at
 *   by      how it travels: of each call anew
 *   to, n   n vranks, 1 or more, read during the call
 * Errors as qv_am_vranks_insert, but where memory ends after some have got it, all has ended.
 */
QV_API int qv_am_vranks_multicast(struct qv_am_vranks *vranks, const struct qv_vrank_item *item,
				  enum qv_section by, const uint32_t *to, size_t n);

/*
 * Let a vrank that is here move, see qv_vranks_move.
 *   vranks  from qv_am_vranks_create
 *   vrank   which
 *   to      to which rank
 * QV_EAGAIN: it is about to leave; QV_EINVAL as qv_vranks_move; then nothing has changed. Else all
 * has ended.
 */
QV_API int qv_am_vranks_move(struct qv_am_vranks *vranks, uint32_t vrank, uint32_t to);

/* As qv_am_stream_progress. */
QV_API int qv_am_vranks_progress(struct qv_am_vranks *vranks);

/* As qv_am_stream_fence, and every vrank is at its home, which is where it is. */
QV_API int qv_am_vranks_fence(struct qv_am_vranks *vranks);

/* They themselves, for qv_vranks_home, qv_vranks_here, qv_vranks_longest and qv_vranks_stats; the
 * library's. */
QV_API const struct qv_vranks *qv_am_vranks_of(const struct qv_am_vranks *vranks);

/* As qv_am_stream_free. */
QV_API int qv_am_vranks_free(struct qv_am_vranks *vranks);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_AM_H */
