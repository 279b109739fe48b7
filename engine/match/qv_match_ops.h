/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_match_ops.h - what a matching structure provides, and what all of them share. */
#ifndef QV_MATCH_OPS_H
#define QV_MATCH_OPS_H

#include <stdint.h>
#include <string.h>

#include <quiver/match.h>

#define qv_likely(x)   __builtin_expect(!!(x), 1)
#define qv_unlikely(x) __builtin_expect(!!(x), 0)

/*
 * One structure. Every call has the meaning that match.h gives it; `size` bytes, zeroed and aligned
 * to 64, are allocated for an engine and begin with struct qv_match.
 */
struct qv_match_ops {
	const char *name;
	size_t size;
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
	size_t (*memory)(const struct qv_match *m);
};

struct qv_match {
	const struct qv_match_ops *ops;
	enum qv_isa isa;
	struct qv_match_stats stats;
};

extern const struct qv_match_ops qv_match_ll;

/* The rule of match.h. */
static inline int qv_accepts(uint64_t want, uint64_t ignore, uint32_t want_src, uint64_t tag,
			     uint32_t src)
{
	return ((want ^ tag) & ~ignore) == 0 && (want_src == src || want_src == QV_SRC_ANY);
}

static inline void qv_count_posted(struct qv_match *m)
{
	if (++m->stats.posted_now > m->stats.posted_max)
		m->stats.posted_max = m->stats.posted_now;
}

static inline void qv_count_unexpected(struct qv_match *m)
{
	m->stats.unexpected++;
	if (++m->stats.unexpected_now > m->stats.unexpected_max)
		m->stats.unexpected_max = m->stats.unexpected_now;
}

#endif /* QV_MATCH_OPS_H */
