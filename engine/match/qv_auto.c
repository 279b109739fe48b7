/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_auto.c - structure "auto": the calls, and the paths that most traffic takes. */
#include <sys/random.h>

#include "match/qv_auto.h"

/* First terms of the R2 sequence; low bits are drawn per engine, they do not hurt the spread. */
#define MUL_TAG    UINT64_C(0xc13fa9a902a6328f)
#define MUL_SRC    UINT64_C(0x91e10da5c79e7b1d)
#define DRAWN_BITS UINT64_C(0xfffffffffff)

static void init_line(struct qv_auto *a, struct qv_line *q, enum qv_side side,
		      const uint64_t mul[2])
{
	q->side = side;
	q->mode = QV_AUTO_LIST;
	q->seq = a->base.tuning.first_seq;
	q->hash_since = q->calm_since = q->seq;
	q->patience = 1024;
	q->empties_max = 16;
	q->log_limit = 65536;
	for (int i = 0; i < QV_N_CLASSES; i++) {
		struct qv_index *ix = &q->ix[i];

		qv_index_set_class(ix, 0, 0);
		ix->mul_tag = mul[0];
		ix->mul_src = mul[1];
		ix->word = side == QV_POSTED
				   ? QV_RECV_LINKS
				   : (uint8_t)(QV_MSG_LINKS + QV_LINKS * (i % QV_N_VIEWS));
	}
	qv_vlist_init(&q->log, &a->base, side, side == QV_POSTED ? QV_RECV_LOG : QV_MSG_LOG);
}

static int auto_init(struct qv_match *m)
{
	struct qv_auto *a = qv_auto_of(m);
	uint64_t drawn[4] = {0}, mul[2];

	/* If the system has no random numbers to give, the address of the engine must do. */
	if (getrandom(drawn, sizeof(drawn), GRND_NONBLOCK) != sizeof(drawn))
		for (int i = 0; i < 4; i++)
			drawn[i] = qv_mix((uintptr_t)a + (uint64_t)i, MUL_TAG);
	mul[0] = MUL_TAG ^ (drawn[0] & DRAWN_BITS & ~UINT64_C(1));
	mul[1] = MUL_SRC ^ (drawn[1] & DRAWN_BITS & ~UINT64_C(1));
	a->secret[0] = drawn[2];
	a->secret[1] = drawn[3];
	if (m->tuning.multiplier[0])
		memcpy(mul, m->tuning.multiplier, sizeof(mul));
	init_line(a, &a->posted, QV_POSTED, mul);
	init_line(a, &a->unexpected, QV_UNEXPECTED, mul);
	if (qv_ring_resize(a, &a->posted, 0))
		return QV_ENOMEM;
	if (qv_ring_resize(a, &a->unexpected, 0)) {
		qv_ring_free(a, &a->posted);
		return QV_ENOMEM;
	}
	return QV_OK;
}

static void fini_line(struct qv_auto *a, struct qv_line *q)
{
	for (int i = 0; i < QV_N_CLASSES; i++)
		qv_index_free(&q->ix[i], &a->base.mem);
	qv_vlist_clear(&q->log);
	qv_ring_free(a, q);
}

static void auto_fini(struct qv_match *m)
{
	fini_line(qv_auto_of(m), &qv_auto_of(m)->posted);
	fini_line(qv_auto_of(m), &qv_auto_of(m)->unexpected);
}

/* Append in HASH. */
QV_INLINE int hash_append(struct qv_auto *a, struct qv_line *q, enum qv_side side, uint64_t *e)
{
	struct qv_index *ix = &q->ix[q->newest];
	const struct qv_recv *r = qv_recv_of(e);
	uint32_t seen;

	if (side == QV_UNEXPECTED) {
		qv_unexpected_insert(a, q, e);
		return QV_OK;
	}
	if (qv_unlikely(!ix->slots || !qv_index_is_class(ix, r->ignore, r->src)))
		return qv_posted_insert(a, q, e);
	e[QV_HOME] = q->newest;
	ix->live++;
	q->active |= 1u << q->newest;
	seen = qv_index_insert(ix, QV_POSTED, e);
	if (qv_unlikely(seen != 0)) {
		q->inspected += seen;
		if (seen > QV_BUCKET_MAX)
			qv_index_watch(a, q, ix);
	}
	return QV_OK;
}

QV_INLINE int append(struct qv_auto *a, struct qv_line *q, enum qv_side side, uint64_t *e)
{
	uint64_t seq = q->seq;

	if (qv_unlikely(seq % QV_TICK == QV_TICK - 1) && qv_line_tick(a, q))
		return QV_ENOMEM;
	e[QV_SEQ] = seq;
	if (qv_likely(q->mode == QV_AUTO_LIST))
		q->ring[q->tail & q->ring_mask] = e;
	else if (hash_append(a, q, side, e))
		return QV_ENOMEM;
	q->seq = seq + 1;
	q->tail++;
	if (qv_line_len(q) > q->max)
		q->max = qv_line_len(q);
	return QV_OK;
}

/* An entry has left in HASH. */
QV_INLINE void leave(struct qv_line *q)
{
	if (qv_unlikely(++q->head == q->tail))
		qv_line_emptied(q);
}

/* The number of the one index that is active, -1 if there are more or the log is in use. */
QV_INLINE int only_index(const struct qv_line *q)
{
	return qv_likely((q->active & (q->active - 1)) == 0) ? __builtin_ctz(q->active) : -1;
}

QV_INLINE int recv_fits(const uint64_t *e, uint64_t tag, uint32_t src)
{
	const struct qv_recv *r = qv_recv_of(e);

	return qv_accepts(r->tag, r->ignore, r->src, tag, src);
}

QV_INLINE int msg_fits(const uint64_t *e, uint64_t tag, uint64_t ignore, uint32_t src)
{
	const struct qv_msg *msg = qv_msg_of(e);

	return qv_accepts(tag, ignore, src, msg->tag, msg->src);
}

/* Walk a list from behind the head on, which did not fit. Returns the position, the length if
 * nothing fits. `ignore` is used for messages only. */
QV_INLINE uint32_t walk(struct qv_line *q, enum qv_side side, uint64_t tag, uint64_t ignore,
			uint32_t src)
{
	uint32_t n = qv_line_len(q), i;

	for (i = 1; i < n; i++) {
		const uint64_t *e = qv_line_at(q, i);

		if (side == QV_POSTED ? recv_fits(e, tag, src) : msg_fits(e, tag, ignore, src))
			break;
	}
	q->inspected += i;
	q->debt += i + (i != q->last) * 8;
	q->last = i;
	return i;
}

static QV_COLD struct qv_recv *arrive_found(struct qv_auto *a, const struct qv_found *f)
{
	struct qv_recv *r = qv_recv_of(f->e);

	a->base.stats.matched++;
	if (!(r->flags & QV_RECV_STICKY)) {
		qv_posted_remove(&a->posted, f);
		leave(&a->posted);
	}
	return r;
}

static QV_COLD struct qv_recv *arrive_many(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_found f;

	qv_posted_find(&a->posted, tag, src, &f);
	return f.e ? arrive_found(a, &f) : NULL;
}

static QV_COLD struct qv_recv *arrive_walk(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	struct qv_recv *r;
	uint32_t pos;

	if (qv_unlikely(qv_line_in_debt(q)) && qv_line_to_hash(a, q, 0, 0) == QV_OK)
		return arrive_many(a, tag, src);
	pos = walk(q, QV_POSTED, tag, 0, src);
	if (pos == qv_line_len(q))
		return NULL;
	r = qv_recv_of(qv_line_at(q, pos));
	a->base.stats.matched++;
	if (!(r->flags & QV_RECV_STICKY))
		qv_ring_remove(q, pos);
	return r;
}

QV_INLINE struct qv_recv *arrive_hash(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	int c = only_index(q);
	struct qv_recv *r;
	uint64_t *link;

	if (qv_unlikely(c < 0))
		return arrive_many(a, tag, src);
	link = qv_index_find(&q->ix[c], QV_POSTED, tag, src, &q->inspected);
	if (!link)
		return NULL;
	r = qv_recv_of(qv_entry(*link));
	a->base.stats.matched++;
	if (qv_unlikely(r->flags & QV_RECV_STICKY))
		return r;
	qv_index_pop(&q->ix[c], link);
	if (--q->ix[c].live == 0)
		q->active = 0;
	leave(q);
	return r;
}

static struct qv_recv *auto_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	struct qv_auto *a = qv_auto_of(m);
	struct qv_line *q = &a->posted;
	uint64_t *e;

	m->stats.arrived++;
	if (q->head == q->tail)
		return NULL;
	if (q->mode == QV_AUTO_HASH)
		return arrive_hash(a, tag, src);
	e = qv_line_at(q, 0);
	if (!recv_fits(e, tag, src))
		return arrive_walk(a, tag, src);
	q->inspected++;
	m->stats.matched++;
	q->head += !(qv_recv_of(e)->flags & QV_RECV_STICKY);
	return qv_recv_of(e);
}

/* Search the unexpected queue in LIST, the head did not fit; may change to HASH and search there.
 */
static QV_COLD void find_walk(struct qv_auto *a, uint64_t tag, uint64_t ignore, uint32_t src,
			      struct qv_found *f)
{
	struct qv_line *q = &a->unexpected;
	uint32_t pos;

	if (qv_unlikely(qv_line_in_debt(q)) && qv_line_to_hash(a, q, ignore, src) == QV_OK) {
		qv_unexpected_find(a, q, tag, ignore, src, f);
		return;
	}
	pos = walk(q, QV_UNEXPECTED, tag, ignore, src);
	f->e = pos < qv_line_len(q) ? qv_line_at(q, pos) : NULL;
	f->ix = (int)pos;
}

/* Take what find_walk found; its mode is still the queue's. */
static void take_found(struct qv_line *q, const struct qv_found *f)
{
	if (q->mode == QV_AUTO_LIST) {
		qv_ring_remove(q, (uint32_t)f->ix);
	} else {
		qv_unexpected_remove(q, f);
		leave(q);
	}
}

static QV_COLD uint64_t *post_walk(struct qv_auto *a, const struct qv_recv *recv)
{
	struct qv_found f;

	find_walk(a, recv->tag, recv->ignore, recv->src, &f);
	if (f.e)
		take_found(&a->unexpected, &f);
	return f.e;
}

static QV_COLD uint64_t *post_many(struct qv_auto *a, const struct qv_recv *recv)
{
	struct qv_found f;

	qv_unexpected_find(a, &a->unexpected, recv->tag, recv->ignore, recv->src, &f);
	if (f.e)
		take_found(&a->unexpected, &f);
	return f.e;
}

QV_INLINE uint64_t *post_hash(struct qv_auto *a, const struct qv_recv *recv)
{
	struct qv_line *q = &a->unexpected;
	int i = only_index(q);
	uint64_t *link, *e;

	if (qv_unlikely(i < 0 || !qv_index_is_class(&q->ix[i], recv->ignore, recv->src)))
		return post_many(a, recv);
	q->ix[i].used = q->seq;
	link = qv_index_find(&q->ix[i], QV_UNEXPECTED, recv->tag, recv->src, &q->inspected);
	if (!link)
		return NULL;
	e = qv_entry(*link);
	qv_index_pop(&q->ix[i], link);
	leave(q);
	return e;
}

/* Take the oldest message that recv accepts out of the queue, which is not empty. */
QV_INLINE uint64_t *take_first(struct qv_auto *a, const struct qv_recv *recv)
{
	struct qv_line *q = &a->unexpected;
	uint64_t *e;

	if (q->mode == QV_AUTO_HASH)
		return post_hash(a, recv);
	e = qv_line_at(q, 0);
	if (!msg_fits(e, recv->tag, recv->ignore, recv->src))
		return post_walk(a, recv);
	q->inspected++;
	q->head++;
	return e;
}

static int auto_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_auto *a = qv_auto_of(m);
	uint64_t *e = NULL;

	if (a->unexpected.head != a->unexpected.tail)
		e = take_first(a, recv);
	if (e) {
		m->stats.matched++;
		*msg = qv_msg_of(e);
	} else {
		if (append(a, &a->posted, QV_POSTED, recv->priv))
			return QV_ENOMEM;
		*msg = NULL;
	}
	m->stats.posted++;
	return QV_OK;
}

static int auto_queue(struct qv_match *m, struct qv_msg *msg)
{
	struct qv_auto *a = qv_auto_of(m);

	if (append(a, &a->unexpected, QV_UNEXPECTED, msg->priv))
		return QV_ENOMEM;
	m->stats.unexpected++;
	return QV_OK;
}

static struct qv_msg *auto_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct qv_auto *a = qv_auto_of(m);
	struct qv_line *q = &a->unexpected;
	struct qv_found f;

	if (q->head == q->tail)
		return NULL;
	if (q->mode == QV_AUTO_HASH) {
		qv_unexpected_find(a, q, tag, ignore, src, &f);
	} else if (msg_fits(qv_line_at(q, 0), tag, ignore, src)) {
		q->inspected++;
		f.e = qv_line_at(q, 0);
	} else {
		find_walk(a, tag, ignore, src, &f);
	}
	return f.e ? qv_msg_of(f.e) : NULL;
}

/* Remove an entry that the caller names; searching for its place is part of the debt. */
static void remove_named(struct qv_auto *a, struct qv_line *q, uint64_t *e)
{
	const struct qv_found f = {e, NULL, -1};
	uint32_t pos, n = qv_line_len(q);

	if (q->mode == QV_AUTO_LIST && qv_line_in_debt(q))
		(void)qv_line_to_hash(a, q, 0, 0);
	if (q->mode == QV_AUTO_LIST) {
		pos = qv_ring_position(q, e);
		q->debt += (pos < n / 2 ? pos : n - 1 - pos) / 4;
		qv_ring_remove(q, pos);
		return;
	}
	if (q->side == QV_POSTED)
		qv_posted_remove(q, &f);
	else
		qv_unexpected_remove(q, &f);
	leave(q);
}

static void auto_take(struct qv_match *m, struct qv_msg *msg)
{
	remove_named(qv_auto_of(m), &qv_auto_of(m)->unexpected, msg->priv);
}

static void auto_cancel(struct qv_match *m, struct qv_recv *recv)
{
	remove_named(qv_auto_of(m), &qv_auto_of(m)->posted, recv->priv);
}

struct successor {
	const uint64_t *after; /* NULL: the oldest of all is wanted */
	uint64_t *best;
};

static void consider(void *ctx, uint64_t *e)
{
	struct successor *s = ctx;

	if (s->after && !qv_is_older(s->after, e))
		return;
	if (!s->best || qv_is_older(e, s->best))
		s->best = e;
}

/* In HASH there is no order to follow: become a list, which costs what sorting would. If there is
 * no memory for that, look at all entries each time. */
static uint64_t *next_entry(struct qv_auto *a, struct qv_line *q, const uint64_t *prev)
{
	struct successor s = {prev, NULL};
	uint32_t pos = 0;

	if (q->head == q->tail)
		return NULL;
	if (q->mode == QV_AUTO_HASH && qv_line_to_list(a, q)) {
		qv_line_each(q, consider, &s);
		return s.best;
	}
	if (prev)
		pos = qv_ring_position(q, prev) + 1;
	return pos < qv_line_len(q) ? qv_line_at(q, pos) : NULL;
}

static struct qv_recv *auto_next_recv(struct qv_match *m, const struct qv_recv *prev)
{
	uint64_t *e = next_entry(qv_auto_of(m), &qv_auto_of(m)->posted, prev ? prev->priv : NULL);

	return e ? qv_recv_of(e) : NULL;
}

static struct qv_msg *auto_next_msg(struct qv_match *m, const struct qv_msg *prev)
{
	uint64_t *e =
		next_entry(qv_auto_of(m), &qv_auto_of(m)->unexpected, prev ? prev->priv : NULL);

	return e ? qv_msg_of(e) : NULL;
}

static void auto_get_stats(const struct qv_match *m, struct qv_match_stats *stats)
{
	const struct qv_auto *a = (const struct qv_auto *)m;

	*stats = m->stats;
	stats->inspected = a->posted.inspected + a->unexpected.inspected;
	stats->posted_now = qv_line_len(&a->posted);
	stats->posted_max = a->posted.max;
	stats->unexpected_now = qv_line_len(&a->unexpected);
	stats->unexpected_max = a->unexpected.max;
	stats->mode_flips = a->posted.flips + a->unexpected.flips;
}

static void force_line(struct qv_auto *a, struct qv_line *q, enum qv_auto_mode mode)
{
	if (q->mode == mode)
		return;
	if (mode == QV_AUTO_HASH)
		(void)qv_line_to_hash(a, q, 0, 0);
	else
		(void)qv_line_to_list(a, q);
}

void qv_auto_force(struct qv_match *m, enum qv_auto_mode posted, enum qv_auto_mode unexpected)
{
	force_line(qv_auto_of(m), &qv_auto_of(m)->posted, posted);
	force_line(qv_auto_of(m), &qv_auto_of(m)->unexpected, unexpected);
}

const struct qv_match_ops qv_match_auto = {
	.name = "auto",
	.size = sizeof(struct qv_auto),
	.init = auto_init,
	.fini = auto_fini,
	.post = auto_post,
	.arrive = auto_arrive,
	.queue = auto_queue,
	.peek = auto_peek,
	.take = auto_take,
	.cancel = auto_cancel,
	.next_recv = auto_next_recv,
	.next_msg = auto_next_msg,
	.get_stats = auto_get_stats,
};
