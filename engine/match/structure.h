/* SPDX-License-Identifier: BSD-2-Clause */
/* structure.h - what a matching structure provides, and what all of them share. */
#ifndef QV_MATCH_STRUCTURE_H
#define QV_MATCH_STRUCTURE_H

#include <stdint.h>
#include <string.h>

#include <quiver/match.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "options.h"
#include "kernels/kern.h"

/*
 * One structure. Every call has the meaning that match.h gives it; `size` bytes, zeroed and aligned
 * to a cache line, are allocated for an engine and begin with struct qv_match.
 */
struct qv_match_ops {
	const char *name;
	size_t size;
	uint32_t options; /* QV_OPT_*: which options it takes */
	int (*init)(struct qv_match *m);
	void (*fini)(struct qv_match *m);
	int (*post)(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg);
	struct qv_recv *(*arrive)(struct qv_match *m, uint64_t tag, uint32_t src);
	int (*queue)(struct qv_match *m, struct qv_msg *msg);
	struct qv_msg *(*peek)(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src);
	void (*take)(struct qv_match *m, struct qv_msg *msg);
	void (*cancel)(struct qv_match *m, struct qv_recv *recv);
	struct qv_recv *(*next_recv)(struct qv_match *m, const struct qv_recv *prev);
	struct qv_msg *(*next_msg)(struct qv_match *m, const struct qv_msg *prev);
	/* May be NULL: then by next_recv. */
	struct qv_recv *(*find_recv)(struct qv_match *m, qv_match_fits *fits, void *ctx);
	void (*get_stats)(const struct qv_match *m, struct qv_match_stats *stats);
	/*
	 * May be NULL. A search, and perhaps an append, for (tag, src) will come soon: fetch what
	 * they touch first (step 0), and somewhat later what that leads to (step 1).
	 */
	void (*prefetch)(const struct qv_match *m, uint64_t tag, uint32_t src, int step);
};

/* What only tests change; see qv_match_create_tuned. All zero = the product's own values. */
struct qv_match_tuning {
	struct qv_mem mem;  /* source of memory */
	uint64_t first_seq; /* sequence number of the first entry, to reach the wrap */
};

struct qv_match {
	const struct qv_match_ops *ops;
	const struct qv_kern_ops *kern;
	struct qv_match_stats stats;
	struct qv_mem mem;
	struct qv_match_tuning tuning;
	enum qv_isa isa;
	uint32_t hints;
	uint32_t direct; /* structure "auto" without hints: the public calls need not dispatch */
	uint64_t protocol_bits;
	const struct qv_match_settings *settings; /* during init */
	struct qv_options options;
	/* While there are precomputed matches (precomputed.c), or observers (observed.c): which, and
	 * what ops and direct were. */
	struct qv_foresight *precomputed;
	struct qv_match_observer *observer; /* the first of them */
	const struct qv_match_ops *structure;
	uint32_t structure_direct;
	/* What the structure has not counted. */
	uint64_t precomputed_posted, precomputed_matched, precomputed_arrived;
};

/* qv_match_create with settings that no user needs. */
int qv_match_create_tuned(const struct qv_match_settings *settings,
			  const struct qv_match_tuning *tuning, struct qv_match **engine);

extern const struct qv_match_ops qv_match_ll;
extern const struct qv_match_ops qv_match_llv;
extern const struct qv_match_ops qv_match_auto;
extern const struct qv_match_ops qv_match_ompi;
extern const struct qv_match_ops qv_match_ucx;
extern const struct qv_match_ops qv_match_hash;
extern const struct qv_match_ops qv_match_nm;
extern const struct qv_match_ops qv_match_bins;
extern const struct qv_match_ops qv_match_lla;
extern const struct qv_match_ops qv_match_pnp;
extern const struct qv_match_ops qv_match_pnp_static;
extern const struct qv_match_ops qv_match_clu;
extern const struct qv_match_ops qv_match_col;
extern const struct qv_match_ops qv_match_col_ll;
extern const struct qv_match_ops qv_match_col_pnp;

/*
 * Inside the structures an entry is known by its priv words, whichever kind it is: the links of
 * both kinds then look alike.
 */
QV_INLINE struct qv_recv *qv_recv_of(const uint64_t *priv)
{
	return (struct qv_recv *)((uintptr_t)priv - offsetof(struct qv_recv, priv));
}

QV_INLINE struct qv_msg *qv_msg_of(const uint64_t *priv)
{
	return (struct qv_msg *)((uintptr_t)priv - offsetof(struct qv_msg, priv));
}

/* A priv word that holds the address of an entry. */
QV_INLINE uint64_t *qv_entry(uint64_t word)
{
	return (uint64_t *)(uintptr_t)word;
}

/* The structure's own calls, whoever stands before them: those that search or change nothing go to
 * these at once. */
QV_INLINE const struct qv_match_ops *qv_match_own_ops(const struct qv_match *m)
{
	return m->precomputed || m->observer ? m->structure : m->ops;
}

/* The rule of match.h. */
QV_INLINE int qv_accepts(uint64_t want, uint64_t ignore, uint32_t want_src, uint64_t tag,
			 uint32_t src)
{
	return ((want ^ tag) & ~ignore) == 0 && (want_src == src || want_src == QV_SRC_ANY);
}

/* A message for which qv_match_arrive has found no receive was not queued: it comes again, or never. */
QV_INLINE void qv_match_unarrived(struct qv_match *m)
{
	m->stats.arrived--;
}

/* An entry joins a queue: its length and high-water mark. */
QV_INLINE void qv_count_in(uint64_t *now, uint64_t *max)
{
	if (++*now > *max)
		*max = *now;
}

#endif /* QV_MATCH_STRUCTURE_H */
