/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vrank.h - vranks: many logical participants per rank, which send each other items by their own
 * numbers and may move to another rank at any time (Kumar, "Optimizing Communication for Massively
 * Parallel Processing", chapters 5 and 6). Items travel in a stream (stream.h), packed behind one
 * envelope for all that are for the same entry.
 *
 * Each vrank has a home, the rank where it was at the last fence; every rank has the table of
 * homes. An item goes from its sender's home to its receiver's home, and where one of them has
 * moved, it takes one step more. At a fence nothing is under way, homes become where vranks are,
 * and all ranks are told: behind it nothing is sent on. So moves are right at any time, and cheap
 * if fences follow them.
 *
 * Items of one vrank for another come in the order in which they were inserted, once, wherever both
 * have moved meanwhile, if the network keeps the order of messages between two ranks. Those that go to
 * sections by ring or tree have an order of their own (qv_vranks_multicast). What comes for a vrank
 * while it moves waits for it.
 *
 * Ranks of a group are of one byte order. No locks, no threads, no clock: calls are told the time.
 * The functions of struct qv_vranks_calls may call qv_vranks_insert, qv_vranks_multicast and
 * qv_vranks_move, nothing else; what they insert never has to wait, however much is under way, nor for
 * a fence.
 */
#ifndef QUIVER_VRANK_H
#define QUIVER_VRANK_H

#include <quiver/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same on all ranks, but for stream.rank. */
struct qv_vranks_spec {
	size_t size;                  /* of this structure, see types.h */
	struct qv_stream_spec stream; /* size and envelope are not looked at; limit: 256 or more */
	uint32_t vranks;              /* 1 or more, of all ranks, numbered from 0 on */
	const uint32_t *homes;        /* the first of each, vranks of them; NULL: blocks; copied */
	size_t state;                 /* the most bytes that a vrank moves with; 0: 1 MiB */
};

struct qv_vrank_item {
	uint32_t to, from; /* vranks */
	uint32_t entry;    /* the receiver's function, or what the user means by it */
	const void *data;
	size_t bytes; /* may be 0 */
};

struct qv_vrank_state; /* opaque: what a vrank takes along */

struct qv_vranks_calls {
	/*
	 * Start a message and return at once; when it is over, qv_vranks_done is called. At the
	 * peer it is handed to qv_vranks_deliver.
	 *   port        as given to qv_vranks_create
	 *   id          to be named in qv_vranks_done
	 *   peer        to which rank
	 *   buf, bytes  as of struct qv_stream_calls
	 * QV_OK; QV_EAGAIN: not now, it is asked again; another negative value ends all.
	 */
	int (*send)(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes);
	/*
	 * An item has come for a vrank that is here.
	 *   port  as given to qv_vranks_create
	 *   item  it and its data: during the call only
	 */
	void (*item)(void *port, const struct qv_vrank_item *item);
	/*
	 * A vrank leaves: write what it takes along by qv_vrank_add. It gets no more items here.
	 *   port   as given to qv_vranks_create
	 *   vrank  which
	 *   state  for qv_vrank_add, during the call only
	 * QV_OK; a negative value ends all: calls answer it from then on, QV_ECANCELED in place
	 * of QV_EAGAIN, QV_EINVAL and QV_EMSGSIZE.
	 */
	int (*leave)(void *port, uint32_t vrank, struct qv_vrank_state *state);
	/*
	 * A vrank has come.
	 *   port          as given to qv_vranks_create
	 *   vrank         which
	 *   state, bytes  all that was added when it left, in one piece; during the call only
	 * QV_OK; a negative value ends all: calls answer it from then on, QV_ECANCELED in place
	 * of QV_EAGAIN, QV_EINVAL and QV_EMSGSIZE.
	 */
	int (*arrive)(void *port, uint32_t vrank, const void *state, size_t bytes);
};

struct qv_vranks; /* opaque: those of one rank */

/*
 * Make the vranks of one rank. Every rank keeps 4 bytes for each vrank, and about 100 for those
 * that are here or have their home here.
 *   spec         what; copied
 *   calls, port  the network and the user, all four functions, and what they get; calls are copied
 *   vranks       out: to be given to qv_vranks_free
 * QV_EINVAL: a value is out of range, or a function is missing; QV_ENOMEM.
 */
QV_API int qv_vranks_create(const struct qv_vranks_spec *spec, const struct qv_vranks_calls *calls,
			    void *port, struct qv_vranks **vranks);

/* Free it, while no message of it is under way, with items that have not left. NULL is allowed. */
QV_API void qv_vranks_free(struct qv_vranks *vranks);

/*
 * The home of a vrank.
 *   vranks  from qv_vranks_create
 *   vrank   which
 * Returns a rank; UINT32_MAX: there is no such vrank.
 */
QV_API uint32_t qv_vranks_home(const struct qv_vranks *vranks, uint32_t vrank);

/*
 * Whether a vrank is on this rank.
 *   vranks  from qv_vranks_create
 *   vrank   which
 * Returns 1 or 0, which is also for one that there is not.
 */
QV_API int qv_vranks_here(const struct qv_vranks *vranks, uint32_t vrank);

/* The longest item, bytes. */
QV_API size_t qv_vranks_longest(const struct qv_vranks *vranks);

/*
 * Send an item. One for a vrank that is here comes at once, or if this is within calls.item, right
 * behind that.
 *   vranks  from qv_vranks_create
 *   item    copied, with its data; from: a vrank that is here
 *   now     ns of any clock that does not go back
 * QV_EAGAIN: too much is under way, or a fence is on: call again after progress. QV_EINVAL: no such
 * vrank, or item->from is not here; QV_EMSGSIZE: longer than qv_vranks_longest; QV_ENOMEM; what
 * ended all. Then the item is not sent.
 */
QV_API int qv_vranks_insert(struct qv_vranks *vranks, const struct qv_vrank_item *item,
			    uint64_t now);

/*
 * Send an item to a section, many vranks at once: it travels once to each rank that is the home of
 * some of them, where data and the numbers of the vranks fit into an item of the stream together; else
 * in several copies. By the stream's way its data travels once over each part of the way that such
 * ranks have in common, in order with what is inserted. By ring and tree the homes of the section send
 * it to each other (qv_stream_multicast). What one vrank sends to another so, by either, comes in the
 * order in which it was inserted, but there is no order with other items, unless a fence is in between.
 *   vranks  from qv_vranks_create
 *   item    copied, with its data; item->to is not looked at
 *   by      how it travels: of each call anew
 *   to, n   n vranks, 1 or more, read during the call; one that is there twice gets it twice
 *   now     as for qv_vranks_insert
 * Errors as qv_vranks_insert, QV_EINVAL also: there is no such `by`. QV_ENOMEM: nobody has got it, or
 * all has ended, as further calls say, and some of the vranks have got it.
 */
QV_API int qv_vranks_multicast(struct qv_vranks *vranks, const struct qv_vrank_item *item,
			       enum qv_section by, const uint32_t *to, size_t n, uint64_t now);

/*
 * Let a vrank that is here move to another rank. It leaves (calls.leave) at once, or within
 * calls.item behind that; if this is not its home, when its home has been asked: until then it
 * stays and gets items as before.
 *   vranks  from qv_vranks_create
 *   vrank   which
 *   to      to which rank; this one: nothing happens
 *   now     as for qv_vranks_insert
 * QV_EAGAIN: it is about to leave, or a fence is on; QV_EINVAL: it is not here, or no such rank;
 * then nothing has changed. QV_ENOMEM, or what has ended all.
 */
QV_API int qv_vranks_move(struct qv_vranks *vranks, uint32_t vrank, uint32_t to, uint64_t now);

/*
 * Append to what a vrank takes along.
 *   state        as given to calls.leave
 *   data, bytes  copied
 * QV_ENOMEM; QV_EMSGSIZE: more than spec.state in all. Either ends all when calls.leave returns, the
 * second as QV_ECANCELED.
 */
QV_API int qv_vrank_add(struct qv_vrank_state *state, const void *data, size_t bytes);

/*
 * A message has come.
 *   vranks      from qv_vranks_create
 *   from        the rank that sent it
 *   buf, bytes  may be used again after the call
 *   now         as for qv_vranks_insert
 * QV_EPROTO: it is not one of these, and nothing of it was taken; or some of its items make no
 * sense here, which are dropped and counted (refused). QV_ENOMEM: all is ended, for something is
 * lost; or what else has ended all.
 */
QV_API int qv_vranks_deliver(struct qv_vranks *vranks, uint32_t from, const void *buf, size_t bytes,
			     uint64_t now);

/* Send all that waits, as qv_stream_flush. Returns as qv_vranks_progress. */
QV_API int qv_vranks_flush(struct qv_vranks *vranks);

/*
 * Send what has waited long enough, as qv_stream_progress.
 *   vranks  from qv_vranks_create
 *   now     as for qv_vranks_insert
 * QV_OK: nothing waits, nothing is under way from here; QV_EAGAIN: something does; another value is
 * what ended all.
 */
QV_API int qv_vranks_progress(struct qv_vranks *vranks, uint64_t now);

/*
 * A message is over.
 *   vranks  from qv_vranks_create
 *   id      as given to calls.send; one that is not under way is ignored
 *   status  QV_OK, or why it failed, a negative value, which ends all
 */
QV_API void qv_vranks_done(struct qv_vranks *vranks, uint32_t id, int status);

/*
 * A fence, of all ranks: the first call begins it, and it is to be called again, while messages are
 * delivered, until it answers QV_OK, once. Then every item inserted before has come, and so have those
 * that functions inserted meanwhile; every vrank is at its home. Items that others insert behind it may
 * come before the last call.
 *   vranks  from qv_vranks_create
 *   now     as for qv_vranks_insert
 * QV_OK: it is over; QV_EAGAIN: not yet; another value: what ended all.
 */
QV_API int qv_vranks_fence(struct qv_vranks *vranks, uint64_t now);

struct qv_vranks_stats {
	uint64_t inserted, delivered; /* items of vranks, here; of a multicast each */
	uint64_t forwarded;           /* sent on from here, since one of their vranks has moved */
	uint64_t moved;               /* vranks that have come */
	uint64_t refused;             /* items of other ranks that made no sense */
	uint64_t fences;              /* that are over */
	struct qv_stream_stats stream;
};

/*
 * Read the counters.
 *   vranks  from qv_vranks_create
 *   stats   out: since the beginning
 */
QV_API void qv_vranks_stats(const struct qv_vranks *vranks, struct qv_vranks_stats *stats);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_VRANK_H */
