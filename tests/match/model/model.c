/* SPDX-License-Identifier: BSD-2-Clause */
/* model.c - see model.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* As QV_NEED, and say in which operation of what. */
/* cond is evaluated once: it may do something. */
#define NEED(t, cond)                                                                     \
	do {                                                                              \
		if (!(cond)) {                                                            \
			fprintf(stderr, "%s, operation %llu:\n%s:%d: %s does not hold\n", \
				(t)->what ? (t)->what : "", (unsigned long long)(t)->ops, \
				__FILE__, __LINE__, #cond);                               \
			abort();                                                          \
		}                                                                         \
	} while (0)

/* What an output holds before a call that may fail: only success may change it. */
static struct qv_msg untouched;
static struct qv_recv no_recv;

static void *get(void *ctx, size_t align, size_t size)
{
	struct qv_model *t = ctx;
	void *p;

	if (t->set.fails && t->set.fails(t->set.ctx))
		return NULL;
	p = aligned_alloc(align, size);
	t->out += p != NULL;
	return p;
}

static void release(void *ctx, void *p, size_t size)
{
	struct qv_model *t = ctx;

	t->out--;
	free(p);
}

int qv_model_init(struct qv_model *t, const struct qv_model_set *set, struct qv_nodes *nodes)
{
	struct qv_match_tuning tuning = {.mem = {get, release, t, 0}, .first_seq = set->first_seq};
	int err;

	memset(t, 0, sizeof(*t));
	t->nodes = nodes;
	t->set = *set;
	t->settings = *set->settings;
	err = qv_match_create_tuned(set->settings, &tuning, &t->m);
	if (err) {
		NEED(t, t->out == 0);
		return err;
	}
	qv_oracle_init(&t->o, nodes->room);
	return QV_OK;
}

void qv_model_fini(struct qv_model *t)
{
	qv_match_destroy(t->m);
	NEED(t, t->out == 0);
	for (size_t i = 0; i < t->o.n_recvs; i++)
		qv_nodes_put_recv(t->nodes, t->o.recvs[i].node);
	for (size_t i = 0; i < t->o.n_msgs; i++)
		qv_nodes_put_msg(t->nodes, t->o.msgs[i].node);
	qv_oracle_fini(&t->o);
}

static int breaks_hint(const struct qv_model *t, const struct qv_recv *want)
{
	const struct qv_match_settings *s = &t->settings;

	return (s->hints & QV_HINT_NO_ANY_SOURCE && want->src == QV_SRC_ANY) ||
	       (s->hints & QV_HINT_NO_ANY_TAG && want->ignore & ~s->protocol_bits);
}

/* A receive was refused: for one of the two reasons that there are, and without a trace. */
static void check_refusal(struct qv_model *t, const struct qv_recv *want, int err,
			  const struct qv_msg *got)
{
	NEED(t, got == &untouched);
	if (breaks_hint(t, want)) {
		NEED(t, err == QV_EINVAL);
		return;
	}
	NEED(t, err == QV_ENOMEM && t->set.fails);
	NEED(t, !qv_oracle_peek(&t->o, want->tag, want->ignore, want->src));
	t->refused++;
}

static void check_post(struct qv_model *t, struct qv_recv *r, struct qv_msg *got)
{
	NEED(t, !breaks_hint(t, r));
	NEED(t, got == qv_oracle_post(&t->o, r));
	t->want.posted++;
	if (t->o.n_recvs > t->want.posted_max)
		t->want.posted_max = t->o.n_recvs;
	if (!got) {
		t->queued++;
		return;
	}
	t->want.matched++;
	qv_nodes_put_msg(t->nodes, got);
	qv_nodes_put_recv(t->nodes, r);
}

void qv_model_post(struct qv_model *t, const struct qv_recv *want)
{
	struct qv_recv *r = qv_nodes_get_recv(t->nodes, want);
	struct qv_msg *got = &untouched;
	int err;

	t->ops++;
	NEED(t, qv_match_allows(t->m, want->ignore, want->src) ==
			(breaks_hint(t, want) ? QV_EINVAL : QV_OK));
	err = qv_match_post(t->m, r, &got);
	if (err) {
		check_refusal(t, want, err, got);
		qv_nodes_put_recv(t->nodes, r);
		return;
	}
	check_post(t, r, got);
}

void qv_model_post_many(struct qv_model *t, const struct qv_recv *want, size_t n)
{
	struct qv_recv *r[QV_MODEL_MANY];
	struct qv_msg *got[QV_MODEL_MANY];
	size_t done;

	NEED(t, n <= QV_MODEL_MANY);
	for (size_t i = 0; i < n; i++) {
		r[i] = qv_nodes_get_recv(t->nodes, &want[i]);
		got[i] = &untouched;
	}
	done = qv_match_post_many(t->m, r, n, got);
	NEED(t, done <= n);
	for (size_t i = 0; i < done; i++) {
		t->ops++;
		check_post(t, r[i], got[i]);
	}
	if (done < n)
		check_refusal(t, &want[done], breaks_hint(t, &want[done]) ? QV_EINVAL : QV_ENOMEM,
			      got[done]);
	while (n-- > done)
		qv_nodes_put_recv(t->nodes, r[n]);
}

/* What qv_match_arrive said. */
static void check_arrival(struct qv_model *t, uint64_t tag, uint32_t src, struct qv_recv *got)
{
	NEED(t, got == qv_oracle_arrive(&t->o, tag, src));
	t->want.arrived++;
	if (!got)
		return;
	t->want.matched++;
	if (!(got->flags & QV_RECV_STICKY))
		qv_nodes_put_recv(t->nodes, got);
}

static void check_queued(struct qv_model *t, struct qv_msg *msg)
{
	t->want.unexpected++;
	qv_oracle_queue(&t->o, msg);
	if (t->o.n_msgs > t->want.unexpected_max)
		t->want.unexpected_max = t->o.n_msgs;
}

void qv_model_arrive(struct qv_model *t, uint64_t tag, uint32_t src, int drop)
{
	struct qv_recv *got = qv_match_arrive(t->m, tag, src);
	struct qv_msg *msg;
	int err;

	t->ops++;
	check_arrival(t, tag, src, got);
	if (got || drop)
		return;
	msg = qv_nodes_get_msg(t->nodes, tag, src);
	err = qv_match_queue(t->m, msg);
	if (!err) {
		check_queued(t, msg);
		return;
	}
	NEED(t, err == QV_ENOMEM && t->set.fails);
	t->refused++;
	qv_nodes_put_msg(t->nodes, msg);
}

void qv_model_deliver(struct qv_model *t, uint64_t tag, uint32_t src)
{
	struct qv_msg *msg = qv_nodes_get_msg(t->nodes, tag, src);
	struct qv_recv *got = &no_recv;
	int err = qv_match_deliver(t->m, msg, &got);

	t->ops++;
	if (err) {
		NEED(t, err == QV_ENOMEM && t->set.fails && got == &no_recv);
		NEED(t, !qv_oracle_arrive(&t->o, tag, src));
		t->refused++;
		qv_nodes_put_msg(t->nodes, msg);
		return;
	}
	check_arrival(t, tag, src, got);
	if (got)
		qv_nodes_put_msg(t->nodes, msg);
	else
		check_queued(t, msg);
}

void qv_model_arrive_many(struct qv_model *t, const struct qv_msg *want, size_t n)
{
	struct qv_msg *msg[QV_MODEL_MANY];
	struct qv_recv *got[QV_MODEL_MANY] = {NULL};
	size_t done;

	NEED(t, n <= QV_MODEL_MANY);
	for (size_t i = 0; i < n; i++)
		msg[i] = qv_nodes_get_msg(t->nodes, want[i].tag, want[i].src);
	done = qv_match_arrive_many(t->m, msg, n, got);
	NEED(t, done <= n);
	for (size_t i = 0; i < done; i++) {
		t->ops++;
		check_arrival(t, want[i].tag, want[i].src, got[i]);
		if (got[i])
			qv_nodes_put_msg(t->nodes, msg[i]);
		else
			check_queued(t, msg[i]);
	}
	if (done < n) { /* there was no memory to queue this one, which no receive accepts */
		NEED(t, t->set.fails);
		NEED(t, !qv_oracle_arrive(&t->o, want[done].tag, want[done].src));
		t->refused++;
	}
	while (n-- > done)
		qv_nodes_put_msg(t->nodes, msg[n]);
}

void qv_model_peek(struct qv_model *t, const struct qv_recv *want, int take)
{
	struct qv_msg *got = qv_match_peek(t->m, want->tag, want->ignore, want->src);

	t->ops++;
	if (breaks_hint(t, want)) {
		NEED(t, !got);
		return;
	}
	NEED(t, got == qv_oracle_peek(&t->o, want->tag, want->ignore, want->src));
	if (!got || !take)
		return;
	qv_match_take(t->m, got);
	qv_oracle_take(&t->o, got);
	qv_nodes_put_msg(t->nodes, got);
}

void qv_model_cancel(struct qv_model *t, size_t i)
{
	struct qv_recv *r = t->o.recvs[i].node;

	t->ops++;
	qv_match_cancel(t->m, r);
	qv_oracle_cancel(&t->o, r);
	qv_nodes_put_recv(t->nodes, r);
}

void qv_model_take(struct qv_model *t, size_t i)
{
	struct qv_msg *msg = t->o.msgs[i].node;

	t->ops++;
	qv_match_take(t->m, msg);
	qv_oracle_take(&t->o, msg);
	qv_nodes_put_msg(t->nodes, msg);
}

static int is_recv(const struct qv_recv *r, const struct qv_oracle_recv *o)
{
	return r == o->node && r->tag == o->tag && r->ignore == o->ignore && r->src == o->src &&
	       r->flags == o->flags;
}

static int is_msg(const struct qv_msg *msg, const struct qv_oracle_msg *o)
{
	return msg == o->node && msg->tag == o->tag && msg->src == o->src;
}

void qv_model_check_order(struct qv_model *t)
{
	struct qv_recv *r = NULL;
	struct qv_msg *msg = NULL;

	for (size_t i = 0; i < t->o.n_recvs; i++) {
		r = qv_match_next_recv(t->m, r);
		NEED(t, r && is_recv(r, &t->o.recvs[i]));
	}
	NEED(t, !qv_match_next_recv(t->m, r));
	for (size_t i = 0; i < t->o.n_msgs; i++) {
		msg = qv_match_next_msg(t->m, msg);
		NEED(t, msg && is_msg(msg, &t->o.msgs[i]));
	}
	NEED(t, !qv_match_next_msg(t->m, msg));
}

void qv_model_check_stats(struct qv_model *t)
{
	struct qv_match_stats got;

	qv_match_get_stats(t->m, &got);
	NEED(t, got.posted == t->want.posted);
	NEED(t, got.arrived == t->want.arrived);
	NEED(t, got.matched == t->want.matched);
	NEED(t, got.unexpected == t->want.unexpected);
	NEED(t, got.posted_now == t->o.n_recvs);
	NEED(t, got.unexpected_now == t->o.n_msgs);
	NEED(t, got.posted_max == t->want.posted_max);
	NEED(t, got.unexpected_max == t->want.unexpected_max);
}

void qv_model_drain(struct qv_model *t)
{
	while (t->o.n_recvs)
		qv_model_cancel(t, t->o.n_recvs & 1 ? 0 : t->o.n_recvs - 1);
	while (t->o.n_msgs)
		qv_model_take(t, t->o.n_msgs & 1 ? 0 : t->o.n_msgs - 1);
	qv_model_check_order(t);
	qv_model_check_stats(t);
}
