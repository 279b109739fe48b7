/* SPDX-License-Identifier: BSD-2-Clause */
/* auto.c - structure "auto": its life, and the calls beside the data path. */
#include <sys/random.h>

#include "fast.h"

static void init_queue(struct qv_auto *a, struct qv_queue *q, enum qv_side side)
{
	q->side = side;
	q->mode = QV_AUTO_LIST;
	q->head = q->tail = a->base.tuning.first_seq;
	qv_policy_init(q);
	for (int i = 0; i < QV_N_CLASSES; i++) {
		struct qv_index *ix = &q->ix[i];

		qv_index_set_class(ix, 0, 0);
		ix->word = side == QV_POSTED
				   ? QV_RECV_LINKS
				   : (uint16_t)(QV_MSG_LINKS + QV_LINKS * (i % QV_N_INDEXES));
	}
	qv_vlist_init(&q->overflow, &a->base, side, QV_RECV_OVERFLOW);
}

static int auto_init(struct qv_match *m)
{
	struct qv_auto *a = qv_auto_of(m);

	/* If the system has no random numbers to give, the address of the engine must do. */
	if (getrandom(a->secret, sizeof(a->secret), GRND_NONBLOCK) != sizeof(a->secret)) {
		a->secret[0] = qv_mix((uintptr_t)a, QV_MUL_TAG);
		a->secret[1] = qv_mix((uintptr_t)a, QV_MUL_SRC);
	}
	init_queue(a, &a->posted, QV_POSTED);
	init_queue(a, &a->unexpected, QV_UNEXPECTED);
	if (qv_ring_resize(a, &a->posted, 0))
		return QV_ENOMEM;
	if (qv_ring_resize(a, &a->unexpected, 0)) {
		qv_ring_free(a, &a->posted);
		return QV_ENOMEM;
	}
	return QV_OK;
}

static void fini_queue(struct qv_auto *a, struct qv_queue *q)
{
	for (int i = 0; i < QV_N_CLASSES; i++)
		qv_index_free(&q->ix[i], &a->base.mem);
	qv_vlist_clear(&q->overflow);
	qv_ring_free(a, q);
}

static void auto_fini(struct qv_match *m)
{
	fini_queue(qv_auto_of(m), &qv_auto_of(m)->posted);
	fini_queue(qv_auto_of(m), &qv_auto_of(m)->unexpected);
}

/* Remove an entry that the caller names; searching for its place is part of the cost of walking. */
static void remove_named(struct qv_auto *a, struct qv_queue *q, uint64_t *e)
{
	const struct qv_found f = {.e = e};
	uint32_t pos;

	q->named++;
	/* What was probed for is mostly the oldest. The pattern quicksilver was 1.1 times slower without. */
	if (q->mode == QV_AUTO_LIST && e == qv_queue_at(q, 0)) {
		q->head++;
		return;
	}
	if (q->mode == QV_AUTO_LIST && qv_queue_is_costly(q, 1))
		(void)qv_queue_to_hash(a, q, 0, 0);
	if (q->mode == QV_AUTO_LIST) {
		pos = qv_ring_position(q, e);
		q->cost += pos / 4;
		qv_ring_remove(q, pos);
		return;
	}
	if (q->side == QV_POSTED)
		qv_posted_remove(q, &f);
	else
		qv_unexpected_remove(q, &f);
	qv_queue_leave(q);
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
static uint64_t *next_entry(struct qv_auto *a, struct qv_queue *q, const uint64_t *prev)
{
	struct successor s = {prev, NULL};
	uint32_t pos = 0;

	if (q->head == q->tail)
		return NULL;
	if (q->mode == QV_AUTO_HASH && qv_queue_to_list(a, q)) {
		qv_queue_each(q, consider, &s);
		return s.best;
	}
	if (prev)
		pos = qv_ring_position(q, prev) + 1;
	q->iterated = pos;
	return pos < qv_queue_len(q) ? qv_queue_at(q, pos) : NULL;
}

static struct qv_recv *auto_next_recv(struct qv_match *m, const struct qv_recv *prev)
{
	uint64_t *e = next_entry(qv_auto_of(m), &qv_auto_of(m)->posted, prev ? prev->priv : NULL);

	return e ? qv_recv_of(e) : NULL;
}

struct finding {
	qv_match_fits *fits;
	void *ctx;
	uint64_t base; /* so that older sequence numbers are less, also across the wrap */
	uint64_t *best;
};

static void try_recv(void *ctx, uint64_t *e)
{
	struct finding *f = ctx;

	if (f->fits(f->ctx, qv_recv_of(e), e[QV_SEQ] - f->base) &&
	    (!f->best || qv_is_older(e, f->best)))
		f->best = e;
}

static struct qv_recv *auto_find_recv(struct qv_match *m, qv_match_fits *fits, void *ctx)
{
	struct qv_queue *q = &qv_auto_of(m)->posted;
	struct finding f = {fits, ctx, q->tail, NULL};

	if (q->head == q->tail)
		return NULL;
	if (q->mode == QV_AUTO_HASH) {
		qv_queue_each(q, try_recv, &f);
		return f.best ? qv_recv_of(f.best) : NULL;
	}
	for (uint32_t pos = 0; pos < qv_queue_len(q); pos++)
		if (fits(ctx, qv_recv_of(qv_queue_at(q, pos)), pos)) {
			q->iterated = pos;
			return qv_recv_of(qv_queue_at(q, pos));
		}
	return NULL;
}

static struct qv_msg *auto_next_msg(struct qv_match *m, const struct qv_msg *prev)
{
	uint64_t *e =
		next_entry(qv_auto_of(m), &qv_auto_of(m)->unexpected, prev ? prev->priv : NULL);

	return e ? qv_msg_of(e) : NULL;
}

/* Entries appended since creation. */
static uint64_t appended(const struct qv_auto *a, const struct qv_queue *q)
{
	return q->tail - a->base.tuning.first_seq + q->slid;
}

/* Entries that have left because they matched. */
static uint64_t matched(const struct qv_auto *a, const struct qv_queue *q)
{
	return appended(a, q) - qv_queue_len(q) - q->named;
}

/* The data path counts only what cannot be told from the queues. */
static void auto_get_stats(const struct qv_match *m, struct qv_match_stats *stats)
{
	const struct qv_auto *a = (const struct qv_auto *)m;
	const struct qv_queue *p = &a->posted, *u = &a->unexpected;

	/* In the base, `arrived` are those messages only that no receive took, `matched` those
	 * that a persistent one took. */
	*stats = m->stats;
	stats->matched += matched(a, p);
	stats->arrived += stats->matched;
	stats->matched += matched(a, u);
	stats->posted = appended(a, p) + matched(a, u);
	stats->unexpected = appended(a, u);
	/* Each match compared one entry that fitted. */
	stats->inspected = stats->matched + p->rejected + u->rejected + u->peeked;
	stats->posted_now = qv_queue_len(p);
	stats->posted_max = p->max;
	stats->unexpected_now = qv_queue_len(u);
	stats->unexpected_max = u->max;
	stats->mode_flips = p->mode_changes + u->mode_changes;
}

static void force_queue(struct qv_auto *a, struct qv_queue *q, enum qv_auto_mode mode)
{
	if (q->mode == mode)
		return;
	if (mode == QV_AUTO_HASH)
		(void)qv_queue_to_hash(a, q, 0, 0);
	else
		(void)qv_queue_to_list(a, q);
}

void qv_auto_force(struct qv_match *m, enum qv_auto_mode posted, enum qv_auto_mode unexpected)
{
	force_queue(qv_auto_of(m), &qv_auto_of(m)->posted, posted);
	force_queue(qv_auto_of(m), &qv_auto_of(m)->unexpected, unexpected);
}

void qv_auto_hold(struct qv_match *m)
{
	qv_auto_of(m)->posted.policy.trial_after = UINT64_MAX;
	qv_auto_of(m)->unexpected.policy.trial_after = UINT64_MAX;
}

static int auto_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)
{
	return qv_auto_post_fast(qv_auto_of(m), recv, msg);
}

static struct qv_recv *auto_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	return qv_auto_arrive_fast(qv_auto_of(m), tag, src);
}

static int auto_queue(struct qv_match *m, struct qv_msg *msg)
{
	return qv_auto_queue_fast(qv_auto_of(m), msg);
}

const struct qv_match_ops qv_match_auto = {
	.name = "auto",
	.size = sizeof(struct qv_auto),
	.init = auto_init,
	.fini = auto_fini,
	.post = auto_post,
	.arrive = auto_arrive,
	.queue = auto_queue,
	.peek = qv_auto_peek,
	.take = auto_take,
	.cancel = auto_cancel,
	.next_recv = auto_next_recv,
	.next_msg = auto_next_msg,
	.find_recv = auto_find_recv,
	.get_stats = auto_get_stats,
	.prefetch = qv_auto_prefetch,
};
