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

/* A posted receive. The caller fills the first three fields before qv_match_post. */
struct qv_recv {
	uint64_t tag;     /* wanted tag */
	uint64_t ignore;  /* set bit = this bit of the tag is not compared (fi_tagged(3)) */
	uint32_t src;     /* wanted source, or QV_SRC_ANY */
	uint32_t flags;   /* QV_RECV_* */
	uint64_t priv[6]; /* the engine's, while queued */
};

/* The receive stays in the queue when a message takes it, until qv_match_cancel removes it
 * (FI_MULTI_RECV: one buffer for many messages, fi_msg(3)). */
#define QV_RECV_STICKY 1u

/* An unexpected message. The caller fills the first two fields before qv_match_queue. */
struct qv_msg {
	uint64_t tag;
	uint32_t src;      /* sender, never QV_SRC_ANY */
	uint32_t flags;    /* reserved, 0 */
	uint64_t priv[14]; /* the engine's, while queued; two cache lines with the above */
};

/*
 * Promises of the program (MPI 4.0 section 7.4.4: mpi_assert_*). A receive that breaks one of the
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
	/* File of what each source sends: text, a line `source count` each, blank lines and lines
	 * that begin with # are skipped; no source twice. FI_QUIVER_PROFILE */
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
 * Create an engine. QV_EINVAL: unknown structure, option, hint or ISA; the structure needs a
 * profile and there is none, or it cannot be read or breaks its format; it needs collective_mask
 * and that is 0 (the messages of collectives could not be told from others, so col* would be no
 * more than a list). QV_ENOSYS: this CPU lacks the ISA; QV_ENOMEM. settings may be NULL (defaults).
 */
QV_API int qv_match_create(const struct qv_match_settings *settings, struct qv_match **engine);

/* Destroy it. Nodes still queued are forgotten, not touched. NULL is allowed. */
QV_API void qv_match_destroy(struct qv_match *engine);

/*
 * QV_EINVAL if the hints rule out a receive with this mask and source, else QV_OK. qv_match_post
 * returns the same; qv_match_peek finds nothing for such a receive.
 */
QV_API int qv_match_allows(const struct qv_match *engine, uint64_t ignore, uint32_t src);

/*
 * Post a receive. If an unexpected message is accepted, the oldest is removed and returned in *msg
 * and the receive is not queued. Otherwise *msg is NULL and the receive is queued.
 * QV_EINVAL: it breaks a hint; QV_ENOMEM: nothing changed.
 */
QV_API int qv_match_post(struct qv_match *engine, struct qv_recv *recv, struct qv_msg **msg);

/*
 * A message arrives: return the oldest posted receive that accepts (tag, src), removed from the
 * queue unless it is sticky, or NULL. After NULL the caller normally calls qv_match_queue.
 */
QV_API struct qv_recv *qv_match_arrive(struct qv_match *engine, uint64_t tag, uint32_t src);

/* Append an unexpected message. QV_ENOMEM: nothing changed. Searches no receives. */
QV_API int qv_match_queue(struct qv_match *engine, struct qv_msg *msg);

/*
 * The two calls above in one, for whoever has the node at hand: the message msg (tag and src filled
 * in) arrives. The oldest posted receive that accepts it is returned in *recv, removed unless it is
 * sticky, and the message is not queued. Otherwise *recv is NULL and the message is queued.
 * QV_ENOMEM: nothing changed, no receive accepts it.
 */
QV_API int qv_match_deliver(struct qv_match *engine, struct qv_msg *msg, struct qv_recv **recv);

/*
 * Many calls in one, for whoever has a window of receives or a packet of messages. Same results, in
 * the same order, as calls one by one; structures that profit from it fetch what later ones will
 * touch while earlier ones are matched.
 */

/*
 * qv_match_post for recvs[0], recvs[1], ...; the message for recvs[i], or NULL, goes to msgs[i].
 * Returns how many were posted. Less than n: recvs[that] was refused, qv_match_post says why.
 */
QV_API size_t qv_match_post_many(struct qv_match *engine, struct qv_recv *const *recvs, size_t n,
				 struct qv_msg **msgs);

/*
 * qv_match_deliver for msgs[0], msgs[1], ...; the receive for msgs[i], or NULL, goes to recvs[i].
 * Returns how many have arrived. Less than n: there was no memory to queue msgs[that], which no
 * receive accepts.
 */
QV_API size_t qv_match_arrive_many(struct qv_match *engine, struct qv_msg *const *msgs, size_t n,
				   struct qv_recv **recvs);

/* Answers that are known already. */

/*
 * Whoever has matched the next calls elsewhere, on a device say, gives the answers here; the calls
 * themselves are then made as always, and need not search. A call that is not the one foreseen, or
 * that changes what the others find (cancel, take), ends it: the rest is searched.
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
	size_t used;  /* calls that came as foreseen */
	size_t wrong; /* answers that were seen to be wrong; each was searched instead */
};

/*
 * Begin. The answers must be those that the engine would give: that a receive accepts its message
 * is seen here, that no older one does is not, unless `check` is set.
 *   foresight  filled in by the caller, whose it stays; not moved before qv_match_forget
 */
QV_API void qv_match_foresee(struct qv_match *engine, struct qv_foresight *foresight);

/* End, if it has not ended yet: what was not used is forgotten. */
QV_API void qv_match_forget(struct qv_match *engine);

/* The oldest unexpected message that (tag, ignore, src) accepts, left in the queue, or NULL. */
QV_API struct qv_msg *qv_match_peek(struct qv_match *engine, uint64_t tag, uint64_t ignore,
				    uint32_t src);

/* Remove a queued unexpected message (FI_CLAIM after FI_PEEK; discard). It must be queued here. */
QV_API void qv_match_take(struct qv_match *engine, struct qv_msg *msg);

/* Remove a queued receive (cancel; end of a sticky one). It must be queued here. */
QV_API void qv_match_cancel(struct qv_match *engine, struct qv_recv *recv);

/* Iterate in order, oldest first: NULL starts, NULL ends. The queue must not change in between. */
QV_API struct qv_recv *qv_match_next_recv(struct qv_match *engine, const struct qv_recv *prev);
QV_API struct qv_msg *qv_match_next_msg(struct qv_match *engine, const struct qv_msg *prev);

/*
 * The oldest posted receive for which `fits` returns other than 0, or NULL. The queue stays as it
 * is: receives are looked at in no particular order, each once, and nothing is sorted. Those that
 * are younger than one that fits may be left out. `fits` must not call the engine.
 *   age  of two receives, the older one has the smaller
 */
typedef int qv_match_fits(void *ctx, struct qv_recv *recv, uint64_t age);
QV_API struct qv_recv *qv_match_find_recv(struct qv_match *engine, qv_match_fits *fits, void *ctx);

QV_API void qv_match_get_stats(const struct qv_match *engine, struct qv_match_stats *stats);

/* Bytes of heap that the engine holds beyond the caller's nodes. */
QV_API size_t qv_match_memory(const struct qv_match *engine);

/* What was chosen at creation: structure name and ISA. */
QV_API const char *qv_match_structure(const struct qv_match *engine);
QV_API enum qv_isa qv_match_isa(const struct qv_match *engine);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_MATCH_H */
