/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.h - the matching engine: posted receives against arriving messages.
 *
 * Rule (MPI 4.0 section 3.5, libfabric fi_tagged(3)): receive r accepts message m when
 *     ((r.tag ^ m.tag) & ~r.ignore) == 0 && (r.src == m.src || r.src == QV_SRC_ANY)
 * An arriving message takes the oldest posted receive that accepts it; a receive takes the oldest
 * unexpected message that it accepts. The order is exact in every structure and on every ISA.
 *
 * The caller embeds struct qv_recv and struct qv_msg in its own requests; the engine keeps pointers
 * to them while they are queued and never copies, frees or calls back. A node must stay at its
 * address while queued and may be reused the moment it has left the queue.
 *
 * No locks: calls on one engine must be serialised by the caller; different engines are
 * independent. No global state.
 */
#ifndef QUIVER_MATCH_H
#define QUIVER_MATCH_H

#include <quiver/isa.h>
#include <quiver/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct qv_match; /* the engine, opaque */

/* A posted receive. The caller fills all but priv before qv_match_post. */
struct qv_recv {
	uint64_t tag;     /* wanted tag */
	uint64_t ignore;  /* set bit = this bit of the tag is not compared (fi_tagged(3)) */
	uint32_t src;     /* wanted source, or QV_SRC_ANY */
	uint32_t flags;   /* QV_RECV_* */
	uint64_t priv[6]; /* the engine's, while queued */
};

/* A persistent receive: it stays in the queue when a message takes it, until qv_match_cancel
 * removes it (FI_MULTI_RECV: one buffer for many messages, fi_msg(3)). */
#define QV_RECV_STICKY 1u

/* An unexpected message. The caller fills all but priv before qv_match_queue. */
struct qv_msg {
	uint64_t tag;
	uint32_t src;      /* sender, never QV_SRC_ANY */
	uint32_t flags;    /* reserved, 0 */
	uint64_t priv[14]; /* the engine's, while queued; two cache lines with the above */
};

/*
 * Assertions of the program (MPI 4.0 section 7.4.4: mpi_assert_*). A receive that breaks one of the
 * first two is refused, see qv_match_allows. The others concern what the engine does not see
 * (lengths) or does not need (it keeps the order even where it may be lost): they are accepted.
 */
enum qv_hint {
	QV_HINT_NO_ANY_SOURCE = 1,    /* no receive has source QV_SRC_ANY */
	QV_HINT_NO_ANY_TAG = 2,       /* no receive ignores a bit outside settings.protocol_bits */
	QV_HINT_EXACT_LENGTH = 4,     /* receives are as long as their messages */
	QV_HINT_ALLOW_OVERTAKING = 8, /* messages may match out of order */
};

/*
 * How an engine is to be built. Start from qv_match_settings_default. Strings are read during
 * qv_match_create only.
 *
 * structure is "auto" or one of qv_match_structures() (FI_QUIVER_MATCH). Some of them take options
 * after a colon, separated by commas, as in "pnp:lla,t=50":
 *     lla                      block=N: entries of a block, 2..4096 (default 3 receives, 4
 *                              messages)
 *     clu pnp pnp-static col*  ll, lla, llv: what their lists are (default ll); block=N for lla
 *     pnp col-pnp              t=N: a list longer than this is split (100); c=N: partners per hash
 *                              bucket (4)
 *     pnp pnp-static col-pnp   mean, median, fence: a source with more entries than this statistic
 *                              of all sources (mean) is a partner; present: of the sources seen
 *     clu                      kmeans=N: N clusters by K-means (default: by the greedy heuristic);
 *                              strict: the heuristic closes a cluster before its limit, not after
 *     col*                     k=N: at most N * sqrt(sources) lists (8)
 * pnp-static and clu need `profile`, col* needs `collective_mask`.
 */
struct qv_match_settings {
	size_t size; /* of this structure, see types.h; qv_match_settings_default fills it in */
	const char *structure;
	enum qv_isa isa; /* which kernels; FI_QUIVER_ISA */
	/* File of what each source adds to the queues: text, a line `source posted unexpected` each,
	 * in decimal: how many receives that name the source, and how many messages from it, are
	 * queued. A line `source count` has one count for both queues. Blank lines and lines that
	 * begin with # are skipped; no source twice; counts below 2^32. FI_QUIVER_PROFILE */
	const char *profile;
	uint32_t sources; /* how many sources there are, for limits that depend on it; 0: learn */
	uint32_t hints;   /* QV_HINT_*; FI_QUIVER_HINTS */
	/* Bits that a receive may ignore without being a wildcard: the MPI's own. */
	uint64_t protocol_bits;
	/* A message is part of a collective operation if its tag has one of these bits; 0: that
	 * cannot be seen. collective_op: the bits of such a tag that tell operations apart. */
	uint64_t collective_mask, collective_op;
};

/* Counters since creation; read at any time. */
struct qv_match_stats {
	uint64_t posted;     /* receives given to qv_match_post */
	uint64_t arrived;    /* messages given to qv_match_arrive */
	uint64_t matched;    /* pairs made */
	uint64_t unexpected; /* messages queued */
	uint64_t inspected;  /* entries compared while searching, both queues (0 if not counted) */
	uint64_t posted_now, posted_max; /* length of the posted queue, and its high-water mark */
	uint64_t unexpected_now, unexpected_max; /* the same for the unexpected queue */
	uint64_t mode_flips; /* changes of the internal form (list to hash and back) */
};

/*
 * Fill in the defaults: structure "auto", isa QV_ISA_AUTO, the rest 0.
 *   s     out: the caller's structure, size bytes of it
 *   size  sizeof(*s) where the caller is compiled
 */
QV_API void qv_match_settings_init(struct qv_match_settings *s, size_t size);

/* Fill *s with the defaults, its size as the caller is compiled. */
static inline void qv_match_settings_default(struct qv_match_settings *s)
{
	qv_match_settings_init(s, sizeof(*s));
}

/* Names of the structures of this build, NULL-terminated, static storage. */
QV_API const char *const *qv_match_structures(void);

/*
 * Create an engine.
 *   settings  read during the call, with the strings that it names; NULL: the defaults
 *   engine    out: to be given to qv_match_destroy
 * QV_EINVAL: unknown structure, option, hint or ISA, or settings of a size that is wrong or with
 * fields that are not known; the structure needs a profile and there is none, or it cannot be read
 * or breaks its format; it needs collective_mask and that is 0 (the messages of collectives could
 * not be told from others, so col* would be no more than a list). QV_ENOSYS: this CPU lacks the
 * ISA. QV_ENOMEM.
 */
QV_API int qv_match_create(const struct qv_match_settings *settings, struct qv_match **engine);

/* Destroy it. Nodes still queued are forgotten, not touched. NULL is allowed. */
QV_API void qv_match_destroy(struct qv_match *engine);

/*
 * Whether the hints allow a receive. qv_match_post returns the same; qv_match_peek finds nothing
 * for one that they rule out.
 *   engine  from qv_match_create
 *   ignore  its mask, as in struct qv_recv
 *   src     its source, or QV_SRC_ANY
 * QV_EINVAL: the hints rule it out.
 */
QV_API int qv_match_allows(const struct qv_match *engine, uint64_t ignore, uint32_t src);

/*
 * Post a receive (fi_trecv(3), MPI_Irecv(3)). If an unexpected message is accepted, the oldest is
 * removed and the receive is not queued. Otherwise the receive is queued.
 *   engine  from qv_match_create
 *   recv    the caller's, tag, ignore, src and flags filled in; if queued it stays where it is
 *           until it has left the queue
 *   msg     out: the message, the caller's again; NULL: the receive is queued
 * QV_EINVAL: it breaks a hint; QV_ENOMEM: no memory to queue it. Then nothing has changed.
 */
QV_API int qv_match_post(struct qv_match *engine, struct qv_recv *recv, struct qv_msg **msg);

/*
 * A message arrives.
 *   engine  from qv_match_create
 *   tag     of the message
 *   src     its sender, not QV_SRC_ANY
 * Returns the oldest posted receive that accepts it, removed from the queue unless it is
 * persistent, or NULL. After NULL the caller normally calls qv_match_queue.
 */
QV_API struct qv_recv *qv_match_arrive(struct qv_match *engine, uint64_t tag, uint32_t src);

/*
 * Append an unexpected message. Searches no receives.
 *   engine  from qv_match_create
 *   msg     the caller's, tag and src filled in, flags 0; it stays where it is until it has left
 *           the queue
 * QV_ENOMEM: nothing has changed.
 */
QV_API int qv_match_queue(struct qv_match *engine, struct qv_msg *msg);

/*
 * The two calls above in one, for a caller that has the node at hand: a message arrives, and is
 * queued if no posted receive accepts it.
 *   engine  from qv_match_create
 *   msg     as for qv_match_queue
 *   recv    out: the oldest posted receive that accepts it, removed from the queue unless it is
 *           persistent; NULL: the message is queued
 * QV_ENOMEM: no receive accepts it and there is no memory to queue it. Then nothing has changed.
 */
QV_API int qv_match_deliver(struct qv_match *engine, struct qv_msg *msg, struct qv_recv **recv);

/*
 * Many calls in one, for a caller that has a window of receives or a packet of messages. Same
 * results, in the same order, as calls one by one; structures that profit from it fetch what later
 * ones will touch while earlier ones are matched.
 */

/*
 * qv_match_post for recvs[0], recvs[1], ...
 *   engine  from qv_match_create
 *   recvs   n receives, each as for qv_match_post; the array is read during the call
 *   n       how many
 *   msgs    out: n of them; msgs[i] is the message for recvs[i], or NULL. Only those of receives
 *           that were posted are written.
 * Returns how many were posted. Less than n: recvs[that] was refused, qv_match_post says why.
 */
QV_API size_t qv_match_post_many(struct qv_match *engine, struct qv_recv *const *recvs, size_t n,
				 struct qv_msg **msgs);

/*
 * qv_match_deliver for msgs[0], msgs[1], ...
 *   engine  from qv_match_create
 *   msgs    n messages, each as for qv_match_queue; the array is read during the call
 *   n       how many
 *   recvs   out: n of them; recvs[i] is the receive for msgs[i], or NULL. Only those of messages
 *           that have arrived are written.
 * Returns how many have arrived. Less than n: there was no memory to queue msgs[that], which no
 * receive accepts.
 */
QV_API size_t qv_match_arrive_many(struct qv_match *engine, struct qv_msg *const *msgs, size_t n,
				   struct qv_recv **recvs);

/* Precomputed matches. */

/*
 * A caller that has matched the next calls elsewhere, on a device say, gives the matches here; the
 * calls themselves are then made as always, and need not search. A call that is not the next one of
 * the list, or that changes what the others find (cancel, take), ends it: the rest is searched.
 */
struct qv_foreseen {
	uint64_t tag;         /* arrivals: of the message */
	uint32_t src;         /* arrivals: its sender */
	uint32_t flags;       /* reserved, 0 */
	struct qv_recv *recv; /* arrivals: the posted receive that it takes, or NULL */
	/* posts: the receive that is posted */
	struct qv_msg *msg; /* posts: the unexpected message that it takes, or NULL */
};

struct qv_foresight {
	const struct qv_foreseen *calls; /* in order; stay until qv_match_forget */
	size_t n;
	int posts; /* not 0: calls of qv_match_post; 0: of qv_match_arrive or qv_match_deliver */
	int check; /* not 0: search all the same, and compare */
	/* Out, until qv_match_forget: */
	size_t used;  /* calls that came as the list has them */
	size_t wrong; /* matches that were seen to be wrong; each was searched instead */
};

/*
 * Begin with a list; one that is still in use ends. The matches must be those that the engine would
 * make: that a receive accepts its message is seen here, that no older one does is not, unless
 * `check` is set.
 *   engine     from qv_match_create
 *   foresight  calls, n, posts and check filled in by the caller, whose it stays; it and its list
 *              stay where they are until qv_match_forget. out: used and wrong, from 0
 */
QV_API void qv_match_foresee(struct qv_match *engine, struct qv_foresight *foresight);

/* End the list, if it has not ended yet: what was not used is forgotten. */
QV_API void qv_match_forget(struct qv_match *engine);

/*
 * Look for an unexpected message (FI_PEEK, fi_tagged(3); MPI_Iprobe(3)); it is left in the queue.
 *   engine  from qv_match_create
 *   tag     wanted
 *   ignore  bits of it that are not compared
 *   src     wanted source, or QV_SRC_ANY
 * Returns the oldest message that such a receive accepts, or NULL: there is none, or the hints rule
 * out the receive.
 */
QV_API struct qv_msg *qv_match_peek(struct qv_match *engine, uint64_t tag, uint64_t ignore,
				    uint32_t src);

/*
 * Remove an unexpected message (FI_CLAIM after FI_PEEK, or FI_DISCARD, fi_tagged(3)).
 *   engine  from qv_match_create
 *   msg     one that is queued here; the caller's again after the call
 */
QV_API void qv_match_take(struct qv_match *engine, struct qv_msg *msg);

/*
 * Remove a receive (fi_cancel(3); the end of a persistent one).
 *   engine  from qv_match_create
 *   recv    one that is queued here; the caller's again after the call
 */
QV_API void qv_match_cancel(struct qv_match *engine, struct qv_recv *recv);

/*
 * Iterate over posted receives or unexpected messages, oldest first. The queue must not change in
 * between.
 *   engine  from qv_match_create
 *   prev    what the call before returned; NULL: start
 * Returns the next one, left in the queue; NULL: there is no more.
 */
QV_API struct qv_recv *qv_match_next_recv(struct qv_match *engine, const struct qv_recv *prev);
QV_API struct qv_msg *qv_match_next_msg(struct qv_match *engine, const struct qv_msg *prev);

/*
 * Whether a receive is one that is looked for. Must not call the engine.
 *   ctx   as given to qv_match_find_recv
 *   recv  a posted receive
 *   age   of two receives, the older one has the smaller
 * Returns 0 if it is not.
 */
typedef int qv_match_fits(void *ctx, struct qv_recv *recv, uint64_t age);

/*
 * Look for a posted receive by the caller's own rule. The queue stays as it is: receives are looked
 * at in no particular order, each at most once, and nothing is sorted. Those that are younger than
 * one that fits may be left out.
 *   engine  from qv_match_create
 *   fits    called for receives
 *   ctx     given to fits
 * Returns the oldest receive for which fits returns other than 0, left in the queue, or NULL.
 */
QV_API struct qv_recv *qv_match_find_recv(struct qv_match *engine, qv_match_fits *fits, void *ctx);

/*
 * Read the counters.
 *   engine  from qv_match_create
 *   stats   out: all of them, since creation
 */
QV_API void qv_match_get_stats(const struct qv_match *engine, struct qv_match_stats *stats);

/* Bytes of heap that the engine holds beyond the caller's nodes. */
QV_API size_t qv_match_memory(const struct qv_match *engine);

/* The name of the structure, without options; static storage. */
QV_API const char *qv_match_structure(const struct qv_match *engine);

/* The instruction set of the kernels; never QV_ISA_AUTO. */
QV_API enum qv_isa qv_match_isa(const struct qv_match *engine);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_MATCH_H */
