/* SPDX-License-Identifier: BSD-2-Clause */
/* rig.c - see rig.h: nodes, their callbacks, time. rig_req.c has the requests. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "need.h"

uint64_t rig_seed(void)
{
	static uint64_t seed;
	const char *given = getenv("QV_SEED");

	if (!seed) {
		seed = given ? strtoull(given, NULL, 0) : qv_proc_random() >> 32;
		fprintf(stderr, "QV_SEED=%llu\n", (unsigned long long)seed);
	}
	return seed;
}

unsigned rig_scaled(unsigned n)
{
	const char *scale = getenv("QV_TEST_SCALE");
	double scaled = scale ? n * strtod(scale, NULL) : n;

	return scaled < 1 ? 1 : (unsigned)scaled;
}

struct rig_settings rig_defaults(unsigned nodes)
{
	return (struct rig_settings){
		.nodes = nodes,
		.limits = {.inject_max = 256,
			   .inject_iov = 2,
			   .send_iov = 8,
			   .packet_max = QV_WIRE_MIN_PACKET,
			   .read_max = 4096},
		.eager_max = 3000,
		.budget = 16384,
	};
}

static struct qv_peer *peer_at(struct qv_proto *p, uint64_t addr)
{
	struct qv_peer *peer = NULL;

	while ((peer = qv_proto_next_peer(p, peer)) && qv_proto_peer_addr(peer) != addr)
		;
	return peer;
}

static int take(struct rig_node *node, struct qv_xport *x, const void *buf, size_t len,
		uint64_t from)
{
	uint64_t head[2] = {0};
	bool was;
	int rc;

	if (len >= sizeof head)
		memcpy(head, buf, sizeof head);
	if (head[0] == QV_LOOP_HEADERLESS && peer_at(node->p, from))
		rc = qv_proto_tagged(peer_at(node->p, from), head[1],
				     (const char *)buf + sizeof head, len - sizeof head);
	else
		rc = qv_proto_packet(node->p, x, buf, len, from);
	was = qv_nomem_pause();

	assert_true(rc == QV_OK || rc == QV_ENOMEM);
	if (node->rig->on_packet)
		node->rig->on_packet(node, from, buf, len, rc);
	qv_nomem_resume(was);
	return rc;
}

static int sink(void *ctx, const void *buf, size_t len, uint64_t from)
{
	struct rig_node *node = ctx;

	return take(node, node->x, buf, len, from);
}

static int other_sink(void *ctx, const void *buf, size_t len, uint64_t from)
{
	struct rig_node *node = ctx;

	return take(node, node->other, buf, len, from);
}

static void complete(void *owner, const struct qv_comp *comp)
{
	struct rig_node *node = owner;
	struct rig_req *req = comp->context;
	bool was = qv_nomem_pause();

	assert_non_null(req);
	assert_int_equal(req->node, node->index);
	assert_int_equal(comp->cookie, req->stamp);
	assert_int_equal(comp->recv, !req->is_send);
	req->comp = *comp;
	req->done++;
	if (req->flags & QV_REQ_MULTI) {
		assert_false(req->ended);
		req->ended = comp->multi_end;
		req->all = realloc(req->all, req->done * sizeof *req->all);
		QV_NEED(req->all);
		req->all[req->done - 1] = *comp;
	} else {
		assert_int_equal(req->done, 1);
		assert_false(comp->multi_end);
	}
	if (req->is_send)
		for (size_t i = 0; i < req->cnt; i++)
			if (req->iov[i].iov_len)
				memset(req->iov[i].iov_base, 0xdd, req->iov[i].iov_len);
	if (node->rig->on_complete)
		node->rig->on_complete(req, comp);
	qv_nomem_resume(was);
}

/* A good send, told the short way: as if complete had been called. */
static void sent(void *owner, void *context, uint64_t cookie, bool tagged)
{
	struct rig_req *req = context;
	struct qv_comp comp = {
		.context = context,
		.cookie = cookie,
		.tagged = tagged,
		.len = req->len,
		.full = req->len,
		.tag = req->tag,
		.user = QV_USER_UNKNOWN,
	};

	complete(owner, &comp);
}

/* Names are "node<index>"; the transport's word on the sender must agree. */
static struct qv_peer *identify(void *owner, struct qv_xport *x, uint64_t from, const void *name,
				size_t len)
{
	struct rig_node *node = owner;
	const char *text = name;
	unsigned b;

	if (len != 5 || memcmp(text, "node", 4) || text[4] < '0' ||
	    text[4] >= '0' + (int)QV_LOOP_MAX)
		return NULL;
	b = (unsigned)(text[4] - '0');
	if ((from != UINT64_MAX && from != b) || node->refused[b])
		return NULL;
	if (!node->peers[b])
		node->peers[b] = qv_proto_peer_new(node->p, x, b, QV_USER_UNKNOWN);
	return node->peers[b];
}

static void warn(void *owner, const char *text)
{
	struct rig_node *node = owner;

	node->warnings++;
	snprintf(node->warning, sizeof node->warning, "%s", text);
}

/* A peer that the test never named is gone. */
static void ended(void *owner, struct qv_peer *peer)
{
	struct rig_node *node = owner;

	for (unsigned b = 0; b < QV_LOOP_MAX; b++)
		if (node->peers[b] == peer)
			node->peers[b] = NULL;
	node->ended++;
	qv_proto_peer_free(peer);
}

static const struct qv_proto_owner_ops owner_ops = {complete, sent, identify, warn, ended, NULL};

/* What the protocol draws by chance comes from the seed here, so that a run can be repeated. */
static void draw_by_seed(struct qv_proto *p, uint64_t *rng)
{
	p->uid = qv_random(rng) | 1;
	p->sessions = (uint32_t)qv_random(rng);
	p->turn = (uint32_t)qv_random(rng) & ~QV_ID_INDEX;
}

void rig_open(struct rig *rig, unsigned at, const struct rig_settings *set)
{
	struct rig_node *node = &rig->node[at];
	char name[] = {'n', 'o', 'd', 'e', (char)('0' + at)};
	struct qv_proto_settings ps = {
		.budget = set->budget,
		.named_sources = set->named_sources,
		.name = name,
		.namelen = sizeof name,
	};

	assert_null(node->p);
	qv_match_settings_default(&ps.match);
	ps.match.hints = set->hints;
	*node = (struct rig_node){.rig = rig, .index = at};
	node->x = qv_loop_open(rig->loop, at, &set->limits, sink, node);
	node->x->eager_max = set->eager_max;
	if (rig->other) {
		node->other = qv_loop_open(rig->other, at, set->others, other_sink, node);
		node->other->eager_max = set->eager_max;
	}
	assert_int_equal(qv_proto_create(&ps, &owner_ops, node, &node->p), QV_OK);
	draw_by_seed(node->p, &rig->rng);
}

struct rig *rig_new(const struct rig_settings *set)
{
	static uint64_t runs;
	struct rig *rig = calloc(1, sizeof *rig);

	QV_NEED(rig);
	rig->seed = rig_seed() + 1000003 * runs++;
	rig->rng = rig->seed;
	rig->set = *set;
	rig->now = 1000;
	rig->loop = qv_loop_new(&rig->rng);
	rig->other = set->others ? qv_loop_new(&rig->rng) : NULL;
	for (unsigned i = 0; i < set->nodes; i++)
		rig_open(rig, i, set);
	return rig;
}

struct rig *rig_start(unsigned nodes, bool hide_from)
{
	struct rig_settings set = rig_defaults(nodes);

	set.limits.hide_from = hide_from;
	return rig_new(&set);
}

static void node_close(struct rig_node *node)
{
	struct qv_proto *p = node->p;

	qv_loop_drain(node->rig->loop, node->index);
	if (node->other)
		qv_loop_drain(node->rig->other, node->index);
	assert_int_equal(p->flights.live, 0);
	qv_proto_destroy(p);
	node->p = NULL;
	assert_int_equal(qv_loop_registered(node->rig->loop, node->index), 0);
	if (node->other)
		assert_int_equal(qv_loop_registered(node->rig->other, node->index), 0);
}

void rig_kill(struct rig *rig, unsigned at, enum qv_loop_death how, bool last_words)
{
	node_close(&rig->node[at]);
	qv_loop_kill(rig->loop, at, how, last_words);
}

void rig_free(struct rig *rig)
{
	assert_true(rig->hostile || qv_loop_bad_reads(rig->loop) == 0);
	for (unsigned i = 0; i < QV_LOOP_MAX; i++)
		if (rig->node[i].p)
			node_close(&rig->node[i]);
	qv_loop_free(rig->loop);
	if (rig->other) {
		assert_int_equal(qv_loop_bad_reads(rig->other), 0);
		qv_loop_free(rig->other);
	}
	rig_reqs_free(rig);
	free(rig);
}

struct qv_peer *rig_peer(struct rig *rig, unsigned a, unsigned b)
{
	struct rig_node *node = &rig->node[a];

	if (!node->peers[b]) {
		node->peers[b] = qv_proto_peer_new(node->p, node->x, b, RIG_USER(b));
		assert_non_null(node->peers[b]);
	}
	return node->peers[b];
}

struct qv_peer *rig_other_peer(struct rig *rig, unsigned a, unsigned b)
{
	struct rig_node *node = &rig->node[a];

	if (!node->peers[b]) {
		node->peers[b] = qv_proto_peer_new(node->p, node->other, b, RIG_USER(b));
		assert_non_null(node->peers[b]);
	}
	return node->peers[b];
}

bool rig_step(struct rig *rig)
{
	struct qv_proto *p = rig->node[qv_random_below(&rig->rng, QV_LOOP_MAX)].p;

	if (p && qv_proto_wants_progress(p)) {
		qv_nomem_enter();
		qv_proto_progress(p);
		qv_nomem_leave();
	}
	if (rig->other && qv_random(&rig->rng) & 1)
		return qv_loop_step(rig->other) || qv_loop_step(rig->loop);
	return qv_loop_step(rig->loop) || (rig->other && qv_loop_step(rig->other));
}

static bool somebody_tries(const struct rig *rig)
{
	for (unsigned i = 0; i < QV_LOOP_MAX; i++)
		if (rig->node[i].p && qv_proto_wants_progress(rig->node[i].p))
			return true;
	return false;
}

/* Steps without an event are tolerated while somebody still tries: the transport may say EAGAIN. */
void rig_settle(struct rig *rig)
{
	for (unsigned quiet = 0; quiet < (somebody_tries(rig) ? 300 : 5); quiet++)
		if (rig_step(rig))
			quiet = 0;
}

void rig_wait(struct rig *rig, const struct rig_req *a, const struct rig_req *b)
{
	for (unsigned quiet = 0; !a->done || (b && !b->done); quiet++) {
		if (rig_step(rig))
			quiet = 0;
		if (quiet > 300)
			fail_msg("nothing moves, a request is not complete (QV_SEED=%llu)",
				 (unsigned long long)rig_seed());
	}
}

void rig_ticks(struct rig *rig, uint64_t ms)
{
	for (uint64_t end = rig->now + ms; rig->now < end;) {
		rig->now += 50;
		for (unsigned i = 0; i < QV_LOOP_MAX; i++)
			if (rig->node[i].p)
				qv_proto_tick(rig->node[i].p, rig->now);
		rig_settle(rig);
	}
}

void rig_wait_long(struct rig *rig, const struct rig_req *a, const struct rig_req *b)
{
	rig_settle(rig);
	for (uint64_t end = rig->now + 60000; !a->done || (b && !b->done);) {
		if (rig->now >= end)
			fail_msg("a request is not complete after a minute (QV_SEED=%llu)",
				 (unsigned long long)rig_seed());
		rig_ticks(rig, 50);
	}
}

struct qv_proto_stats rig_stats(const struct rig *rig, unsigned node)
{
	struct qv_proto_stats stats;

	qv_proto_get_stats(rig->node[node].p, &stats);
	return stats;
}

void rig_check_idle(const struct rig *rig, unsigned node)
{
	const struct qv_proto *p = rig->node[node].p;

	assert_int_equal(qv_proto_unsent(p), 0);
	assert_false(qv_proto_wants_progress(p));
	assert_int_equal(p->txs.live, 0);
	assert_int_equal(p->ins.live, 0);
	assert_int_equal(p->flights.live, 0);
	assert_int_equal(p->tx_handles.used, 0);
	assert_int_equal(p->in_handles.used, 0);
	assert_null(p->ins_head);
	for (uint32_t i = 0; i < p->npeers; i++) {
		const struct qv_peer *peer = p->peers[i];

		if (!peer)
			continue;
		assert_int_equal(peer->outstanding, 0);
		assert_int_equal(peer->flying, 0);
		assert_int_equal(peer->unsure, 0);
		assert_null(peer->head);
		assert_null(peer->ctl_head);
		assert_null(peer->txs);
		assert_null(peer->open_in);
		assert_null(peer->open_unexp);
	}
}

void rig_give_up(struct qv_proto *p, const struct qv_xport *x, uint64_t addr)
{
	for (uint32_t i = 0; i < p->npeers; i++) {
		struct qv_peer *peer = p->peers[i];

		if (!peer || peer->x != x || peer->addr != addr)
			continue;
		peer->gone = true;
		qv_peer_fail(peer, "the test says so");
	}
}
