/* SPDX-License-Identifier: BSD-2-Clause */
/* guard_pair.c - an engine whose batches go to a device, beside one whose do not. */
#include "guard.h"
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#define NODES 300

struct side {
	struct qv_match *engine;
	struct qv_recv recvs[NODES];
	struct qv_msg msgs[NODES];
	void *answer[NODES];
};

static void make(struct side *s, const char *structure)
{
	struct qv_match_settings set;

	qv_match_settings_default(&set);
	set.structure = structure;
	set.collective_mask = (uint64_t)1 << 63;
	memset(s, 0, sizeof(*s));
	if (qv_match_create(&set, &s->engine))
		abort();
}

/* A batch of n nodes that are free, to both; the second with the device. Where nodes go is the same
 * on both sides, so that places can be compared. */
struct pair {
	struct side a, b;
	struct qv_offload *o;
	uint8_t recv_used[NODES], msg_used[NODES];
	struct qv_vec_rnd rnd;
};

static size_t pick(const uint8_t *used, size_t want, size_t *at)
{
	size_t n = 0;

	for (size_t i = 0; i < NODES && n < want; i++)
		if (!used[i])
			at[n++] = i;
	return n;
}

static void arrive(struct pair *p, size_t want)
{
	struct qv_msg *am[NODES], *bm[NODES];
	struct qv_recv *ar[NODES], *br[NODES];
	size_t at[NODES], n = pick(p->msg_used, want, at);

	for (size_t i = 0; i < n; i++) {
		struct qv_msg m = {.tag = qv_vec_random(&p->rnd) % 6,
				   .src = (uint32_t)(qv_vec_random(&p->rnd) % 3)};

		p->a.msgs[at[i]] = p->b.msgs[at[i]] = m;
		am[i] = &p->a.msgs[at[i]];
		bm[i] = &p->b.msgs[at[i]];
	}
	EXPECT(qv_match_arrive_many(p->a.engine, am, n, ar) == n);
	EXPECT(qv_offload_arrive_many(p->o, p->b.engine, bm, n, br) == n);
	for (size_t i = 0; i < n; i++) {
		EXPECT((ar[i] ? ar[i] - p->a.recvs : -1) == (br[i] ? br[i] - p->b.recvs : -1));
		p->msg_used[at[i]] = !ar[i];
		if (ar[i] && !(ar[i]->flags & QV_RECV_STICKY))
			p->recv_used[ar[i] - p->a.recvs] = 0;
	}
}

static void post(struct pair *p, size_t want, int sticky)
{
	struct qv_recv *ar[NODES], *br[NODES];
	struct qv_msg *am[NODES], *bm[NODES];
	size_t at[NODES], n = pick(p->recv_used, want, at);

	for (size_t i = 0; i < n; i++) {
		const uint64_t r = qv_vec_random(&p->rnd);
		struct qv_recv v = {.tag = r % 6, .src = (uint32_t)(r >> 8) % 3};

		v.ignore = (r >> 16) % 4 ? 0 : (r >> 18) % 2 ? UINT64_MAX : 3;
		v.src = (r >> 24) % 4 ? v.src : QV_SRC_ANY;
		v.flags = sticky && (r >> 28) % 16 == 0 ? QV_RECV_STICKY : 0;
		p->a.recvs[at[i]] = p->b.recvs[at[i]] = v;
		ar[i] = &p->a.recvs[at[i]];
		br[i] = &p->b.recvs[at[i]];
	}
	EXPECT(qv_match_post_many(p->a.engine, ar, n, am) == n);
	EXPECT(qv_offload_post_many(p->o, p->b.engine, br, n, bm) == n);
	for (size_t i = 0; i < n; i++) {
		EXPECT((am[i] ? am[i] - p->a.msgs : -1) == (bm[i] ? bm[i] - p->b.msgs : -1));
		p->recv_used[at[i]] = !am[i];
		if (am[i])
			p->msg_used[am[i] - p->a.msgs] = 0;
	}
}

static void cancel(struct pair *p)
{
	for (size_t i = 0; i < NODES; i++) {
		if (p->recv_used[i] && qv_vec_random(&p->rnd) % 8 == 0) {
			qv_match_cancel(p->a.engine, &p->a.recvs[i]);
			qv_match_cancel(p->b.engine, &p->b.recvs[i]);
			p->recv_used[i] = 0;
		}
	}
}

static void same_counters(struct pair *p)
{
	struct qv_match_stats a, b;

	qv_match_get_stats(p->a.engine, &a);
	qv_match_get_stats(p->b.engine, &b);
	EXPECT(a.posted == b.posted && a.arrived == b.arrived && a.matched == b.matched);
	EXPECT(a.unexpected == b.unexpected && a.posted_now == b.posted_now);
	EXPECT(a.unexpected_now == b.unexpected_now);
	EXPECT(!strcmp(qv_match_structure(p->a.engine), qv_match_structure(p->b.engine)));
}

void qv_guard_pair(const char *structure, struct qv_offload *o, int rounds, int sticky)
{
	struct pair *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	qv_guard_now = structure;
	make(&p->a, structure);
	make(&p->b, structure);
	p->o = o;
	p->rnd.state = 5;
	for (int i = 0; i < rounds; i++) {
		const uint64_t r = qv_vec_random(&p->rnd);

		if (r % 8 == 0)
			cancel(p);
		else if (r % 2)
			arrive(p, 1 + (r >> 8) % NODES);
		else
			post(p, 1 + (r >> 8) % NODES, sticky);
		same_counters(p);
	}
	qv_match_destroy(p->a.engine);
	qv_match_destroy(p->b.engine);
	free(p);
}
