/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pnp.h - one queue of structure "pnp": sources that send much, the partners, are found while
 * the program runs and get lists of their own.
 *
 * All entries begin in list 0, the base. When the last shared list grows longer than t, the sources
 * that fill it most become partners, each with a list of its own, and a new shared list takes what
 * the others send from now on: a level. Nothing is moved.
 *
 *   shared[0] base | shared[1] | ... | shared[n_shared-1] <- new entries of non-partners
 *   own[0] own[1] ... own[n_partners-1]                   <- new entries of partners
 *
 * Entries of a source that became a partner at level l can only be in shared[0..l] and then in its
 * own list, so that this order is the order of arrival for every source; a directed search ends at
 * the first that it finds. Any-source receives have one list, any-source searches look everywhere.
 *
 * Partners are found in a hash table of sqrt(sources) buckets with c places each; a source whose
 * bucket is full stays a non-partner. So there are at most c * sqrt(sources) partners, and levels.
 */
#ifndef QV_PNP_H
#define QV_PNP_H

#include "list.h"

struct qv_pnp_partner {
	uint32_t src; /* QV_SRC_ANY: free */
	uint32_t own; /* number of its list */
	uint32_t level;
};

struct qv_pnp {
	struct qv_match *m;
	enum qv_side side;
	uint32_t sources; /* how many there are, as told, or the highest seen + 1 */
	uint32_t n_shared, n_partners;
	uint32_t trigger;               /* length of the last shared list that starts a level */
	uint32_t n_buckets, cap;        /* of the table, once there is one; cap: most partners */
	struct qv_pnp_partner *partner; /* cap of them, n_buckets rows */
	struct qv_list *lists;          /* shared ones after the base, cap; own ones, cap */
	struct qv_list base, any;
};

void qv_pnp_init(struct qv_pnp *p, struct qv_match *m, enum qv_side side);
void qv_pnp_fini(struct qv_pnp *p);

/* The calls below once there are levels, and for any source. */
int qv_pnp_append_levels(struct qv_pnp *p, uint64_t *e);
uint64_t *qv_pnp_find_recv_levels(struct qv_pnp *p, uint64_t tag, uint32_t src, uint64_t *seen);
uint64_t *qv_pnp_find_msg_levels(struct qv_pnp *p, uint64_t tag, uint64_t ignore, uint32_t src,
				 uint64_t *best, uint64_t *seen);

/* QV_ENOMEM: nothing changed. Entries leave by
 * qv_pnp_remove or qv_list_remove. A queue that has never been long is
 * a list and nothing else. */
QV_INLINE int qv_pnp_append(struct qv_pnp *p, uint64_t *e)
{
	if (p->cap || p->base.count >= p->trigger || qv_key_src(p->side, e) >= p->sources)
		return qv_pnp_append_levels(p, e);
	return qv_list_append(&p->base, e);
}

/* The oldest that matches, or `best` if that is older or there is none. */
QV_INLINE uint64_t *qv_pnp_find_recv(struct qv_pnp *p, uint64_t tag, uint32_t src, uint64_t *best,
				     uint64_t *seen)
{
	uint64_t *e = p->cap ? qv_pnp_find_recv_levels(p, tag, src, seen)
			     : qv_list_find_recv(&p->base, tag, src, NULL, seen);

	e = qv_oldest(e, best);
	return p->any.count ? qv_list_find_recv(&p->any, tag, src, e, seen) : e;
}

QV_INLINE uint64_t *qv_pnp_find_msg(struct qv_pnp *p, uint64_t tag, uint64_t ignore, uint32_t src,
				    uint64_t *best, uint64_t *seen)
{
	if (p->cap || best)
		return qv_pnp_find_msg_levels(p, tag, ignore, src, best, seen);
	return qv_list_find_msg(&p->base, tag, ignore, src, NULL, seen);
}

/* Remove e, which is in p. */
QV_INLINE void qv_pnp_remove(struct qv_pnp *p, uint64_t *e)
{
	struct qv_list *l = &p->base;

	/* Where there is one list, nobody has to ask the entry. */
	if (p->cap || p->any.count || l->kind != QV_LIST_LL) {
		qv_list_remove(e);
		return;
	}
	l->count--;
	qv_chain_remove(&l->ll, e, QV_E_LINK);
}

void qv_pnp_each(const struct qv_pnp *p, qv_each_fn *fn, void *ctx);

#endif /* QV_PNP_H */
