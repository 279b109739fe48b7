/* SPDX-License-Identifier: BSD-2-Clause */
/* pnp.c - one queue of structure "pnp": levels of shared lists, lists of partners. */
#include "engine/match/partners.h"
#include "pnp.h"

/* A higher source may be a stray number: the table is not sized by it. */
#define MAX_LEARNED (UINT32_C(1) << 20)

void qv_pnp_init(struct qv_pnp *p, struct qv_match *m, enum qv_side side)
{
	memset(p, 0, sizeof(*p));
	p->m = m;
	p->side = side;
	p->sources = m->settings->sources;
	p->n_shared = 1;
	p->trigger = m->options.t;
	qv_list_init(&p->base, m, side);
	qv_list_init(&p->any, m, side);
}

static struct qv_list *shared_list(const struct qv_pnp *p, uint32_t i)
{
	return i ? &p->lists[i - 1] : (struct qv_list *)&p->base;
}

static struct qv_list *own_list(const struct qv_pnp *p, uint32_t i)
{
	return &p->lists[p->cap + i];
}

void qv_pnp_fini(struct qv_pnp *p)
{
	struct qv_mem *mem = &p->m->mem;

	for (uint32_t i = 0; i < p->n_shared; i++)
		qv_list_clear(shared_list(p, i));
	for (uint32_t i = 0; i < p->n_partners; i++)
		qv_list_clear(own_list(p, i));
	qv_list_clear(&p->any);
	qv_mem_put(mem, p->partner, p->cap * sizeof(*p->partner));
	qv_mem_put(mem, p->lists, (size_t)2 * p->cap * sizeof(*p->lists));
}

/* The place of a source in the table: its own, or one that is free; NULL: neither. */
static struct qv_pnp_partner *find_place(const struct qv_pnp *p, uint32_t src)
{
	uint32_t c = p->m->options.c;
	struct qv_pnp_partner *row;

	if (!p->cap)
		return NULL;
	row = p->partner + (size_t)(src % p->n_buckets) * c;
	for (uint32_t i = 0; i < c; i++)
		if (row[i].src == src || row[i].src == QV_SRC_ANY)
			return &row[i];
	return NULL;
}

static const struct qv_pnp_partner *find_partner(const struct qv_pnp *p, uint32_t src)
{
	const struct qv_pnp_partner *place = find_place(p, src);

	return place && place->src == src ? place : NULL;
}

/* The table and the lists, at the first level. The number of sources is what it is now. */
static int make_table(struct qv_pnp *p)
{
	struct qv_mem *mem = &p->m->mem;
	uint32_t n = 1, cap;

	while ((uint64_t)n * n < p->sources)
		n++;
	cap = n * p->m->options.c;
	p->partner = qv_mem_get(mem, cap * sizeof(*p->partner));
	if (!p->partner)
		return QV_ENOMEM;
	p->lists = qv_mem_get(mem, (size_t)2 * cap * sizeof(*p->lists));
	if (!p->lists) {
		qv_mem_put(mem, p->partner, cap * sizeof(*p->partner));
		p->partner = NULL;
		return QV_ENOMEM;
	}
	memset(p->partner, 0xff, cap * sizeof(*p->partner));
	p->n_buckets = n;
	p->cap = cap;
	return QV_OK;
}

struct counter {
	enum qv_side side;
	struct qv_source_count *v;
	uint32_t n;
};

static void count_entry(void *ctx, uint64_t *e)
{
	struct counter *c = ctx;

	c->v[c->n++] = (struct qv_source_count){qv_key_src(c->side, e), 1};
}

/* One record for each source, in place of one for each entry. */
static uint32_t add_up(struct qv_source_count *v, uint32_t n)
{
	uint32_t out = 0;

	qv_counts_by_source(v, n);
	for (uint32_t i = 0; i < n; i++) {
		if (out && v[out - 1].src == v[i].src)
			v[out - 1].count++;
		else
			v[out++] = v[i];
	}
	return out;
}

/* Sources of v above the edge become partners, most entries first; returns how many. */
static uint32_t take_partners(struct qv_pnp *p, const struct qv_source_count *v, uint32_t n)
{
	double edge = qv_counts_edge(v, n, p->sources, &p->m->options);
	uint32_t before = p->n_partners;

	while (n-- && (double)v[n].count > edge) {
		struct qv_pnp_partner *place = find_place(p, v[n].src);

		if (!place || place->src == v[n].src)
			continue;
		*place = (struct qv_pnp_partner){v[n].src, p->n_partners, p->n_shared};
		qv_list_init(own_list(p, p->n_partners++), p->m, p->side);
	}
	return p->n_partners - before;
}

/*
 * The last shared list is too long: begin a level. Where that cannot be done or brings nothing it
 * is tried again at twice the length.
 */
static QV_COLD void begin_level(struct qv_pnp *p, const struct qv_list *last)
{
	struct counter c = {p->side, NULL, 0};
	uint32_t room = last->count;

	p->trigger *= 2;
	if ((!p->cap && make_table(p)) || p->n_partners == p->cap)
		return;
	c.v = qv_mem_get(&p->m->mem, room * sizeof(*c.v));
	if (!c.v)
		return;
	qv_list_each(last, count_entry, &c);
	c.n = add_up(c.v, c.n);
	qv_counts_by_count(c.v, c.n);
	if (take_partners(p, c.v, c.n)) {
		qv_list_init(shared_list(p, p->n_shared), p->m, p->side);
		p->n_shared++;
		p->trigger = p->m->options.t;
	}
	qv_mem_put(&p->m->mem, c.v, room * sizeof(*c.v));
}

int qv_pnp_append_levels(struct qv_pnp *p, uint64_t *e)
{
	uint32_t src = qv_key_src(p->side, e);
	const struct qv_pnp_partner *partner;
	struct qv_list *last;

	if (src == QV_SRC_ANY)
		return qv_list_append(&p->any, e);
	if (src >= p->sources && src < MAX_LEARNED)
		p->sources = src + 1;
	partner = find_partner(p, src);
	if (partner)
		return qv_list_append(own_list(p, partner->own), e);
	last = shared_list(p, p->n_shared - 1);
	if (qv_list_append(last, e))
		return QV_ENOMEM;
	if (QV_UNLIKELY(last->count > p->trigger))
		begin_level(p, last);
	return QV_OK;
}

uint64_t *qv_pnp_find_recv_levels(struct qv_pnp *p, uint64_t tag, uint32_t src, uint64_t *seen)
{
	const struct qv_pnp_partner *partner = find_partner(p, src);
	uint32_t n = partner ? partner->level : p->n_shared;
	uint64_t *e = NULL;

	for (uint32_t i = 0; i < n && !e; i++)
		e = qv_list_find_recv(shared_list(p, i), tag, src, NULL, seen);
	if (!e && partner)
		e = qv_list_find_recv(own_list(p, partner->own), tag, src, NULL, seen);
	return e;
}

static uint64_t *find_any(const struct qv_pnp *p, uint64_t tag, uint64_t ignore, uint64_t *best,
			  uint64_t *seen)
{
	for (uint32_t i = 0; i < p->n_shared; i++)
		best = qv_list_find_msg(shared_list(p, i), tag, ignore, QV_SRC_ANY, best, seen);
	for (uint32_t i = 0; i < p->n_partners; i++)
		best = qv_list_find_msg(own_list(p, i), tag, ignore, QV_SRC_ANY, best, seen);
	return best;
}

uint64_t *qv_pnp_find_msg_levels(struct qv_pnp *p, uint64_t tag, uint64_t ignore, uint32_t src,
				 uint64_t *best, uint64_t *seen)
{
	const struct qv_pnp_partner *partner;
	uint64_t *e = NULL;
	uint32_t n;

	if (src == QV_SRC_ANY)
		return find_any(p, tag, ignore, best, seen);
	partner = find_partner(p, src);
	n = partner ? partner->level : p->n_shared;
	for (uint32_t i = 0; i < n && !e; i++)
		e = qv_list_find_msg(shared_list(p, i), tag, ignore, src, NULL, seen);
	if (!e && partner)
		e = qv_list_find_msg(own_list(p, partner->own), tag, ignore, src, NULL, seen);
	return qv_oldest(e, best);
}

void qv_pnp_each(const struct qv_pnp *p, qv_each_fn *fn, void *ctx)
{
	for (uint32_t i = 0; i < p->n_shared; i++)
		qv_list_each(shared_list(p, i), fn, ctx);
	for (uint32_t i = 0; i < p->n_partners; i++)
		qv_list_each(own_list(p, i), fn, ctx);
	qv_list_each(&p->any, fn, ctx);
}
