/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c - see calls.h. */
#include <string.h>

#include "engine/match/auto/auto.h"
#include "calls.h"
#include "tests/match/model/hostile.h"
#include "tests/match/model/model.h"
#include "tests/proto/rig/need.h"
#include "tests/match/model/settings.h"

#define ROOM 512
/* Queues do not grow beyond this. */
#define DEPTH    400
#define PROTOCOL UINT64_C(0x100000000)
#define ANY_TAG  UINT64_C(0xffffffff)

static const char *const structures[] = {
	"auto",
	"auto", /* it has the most to it */
	"auto",
	"auto",
	"ll",
	"lla",
	"llv",
	"ompi",
	"ucx",
	"hash",
	"nm",
	"bins",
	"pnp",
	"pnp-static",
	"clu",
	"col",
	"col-ll",
	"col-pnp",
	"lla:block=2",
	"lla:block=9",
	"pnp:lla,t=8,c=1",
	"pnp:llv,t=8,median",
	"pnp:t=20,fence,present",
	"pnp-static:llv",
	"clu:lla,kmeans=4",
	"clu:llv,strict",
	"col:llv,k=1",
	"col-ll:lla,k=2",
	"col-pnp:llv,t=8,k=1",
	"nm",
	"hash",
	"llv",
};

#define N_STRUCTURES (sizeof(structures) / sizeof(structures[0]))

/* What is left of the string, and what its head has said. */
struct input {
	const uint8_t *data;
	size_t size;
	unsigned int fails, allocations, tags, srcs;
	int created, full, is_auto;
	uint64_t protocol;
	struct qv_model t;
};

static uint64_t ops;

static unsigned int next(struct input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

static int fails(void *ctx)
{
	struct input *in = ctx;

	return in->created && in->fails >> (in->allocations++ & 7) & 1;
}

static uint64_t tag_of(const struct input *in, unsigned int key)
{
	uint64_t i = key & 31;

	switch (in->tags) {
	case 0: return i;
	case 1: return i % 4; /* few keys, many entries each */
	case 2: return qv_hostile_tag(i);
	default: return (i & 3) << 40 | (i & 4 ? in->protocol : 0) | i >> 3;
	}
}

static uint32_t src_of(const struct input *in, unsigned int key)
{
	uint32_t i = key >> 5 & 7;

	switch (in->srcs) {
	case 0: return i;
	case 1: return i % 2;
	case 2: return (UINT32_C(1) << 20) - 4 + i; /* where some structures share a record */
	default: return QV_SRC_ANY - 1 - i;
	}
}

static void make_recv(const struct input *in, unsigned int key, unsigned int wild,
		      struct qv_recv *r)
{
	memset(r, 0, sizeof(*r));
	r->tag = tag_of(in, key);
	r->src = wild & 1 ? QV_SRC_ANY : src_of(in, key);
	r->ignore = in->protocol;
	if (wild & 2)
		r->ignore |= ANY_TAG;
	if (wild & 4)
		r->ignore |= UINT64_C(1) << (wild >> 4 & 7);
	if (wild & 8)
		r->ignore |= UINT64_C(1) << (32 + (wild >> 4 & 7));
	/* All of them at once: a sticky exact receive instead. */
	if ((wild & 15) == 15) {
		r->flags = QV_RECV_STICKY;
		r->ignore = in->protocol;
		r->src = src_of(in, key);
	}
}

static void post(struct input *in, unsigned int key, unsigned int wild)
{
	struct qv_recv want;

	make_recv(in, key, wild, &want);
	if (in->t.o.n_recvs < DEPTH)
		qv_model_post(&in->t, &want);
}

static void arrive(struct input *in, unsigned int key, int drop)
{
	qv_model_arrive(&in->t, tag_of(in, key), src_of(in, key), drop || in->t.o.n_msgs >= DEPTH);
}

static void deliver(struct input *in, unsigned int key)
{
	if (in->t.o.n_msgs < DEPTH)
		qv_model_deliver(&in->t, tag_of(in, key), src_of(in, key));
}

static void peek(struct input *in, unsigned int key, unsigned int wild, int take)
{
	struct qv_recv want;

	make_recv(in, key, wild, &want);
	qv_model_peek(&in->t, &want, take);
}

static void post_many(struct input *in, unsigned int key, unsigned int n, unsigned int wild)
{
	struct qv_recv want[QV_MODEL_MANY];

	for (unsigned int i = 0; i < n; i++)
		make_recv(in, key + i, wild, &want[i]);
	if (in->t.o.n_recvs < DEPTH)
		qv_model_post_many(&in->t, want, n);
}

static void arrive_many(struct input *in, unsigned int key, unsigned int n)
{
	struct qv_msg want[QV_MODEL_MANY];

	for (unsigned int i = 0; i < n; i++) {
		want[i].tag = tag_of(in, key + i);
		want[i].src = src_of(in, key + i);
	}
	if (in->t.o.n_msgs < DEPTH)
		qv_model_arrive_many(&in->t, want, n);
}

/* The entry that a byte points to, scaled to the length of its queue. */
static void cancel(struct input *in, unsigned int key)
{
	if (in->t.o.n_recvs)
		qv_model_cancel(&in->t, in->t.o.n_recvs * (key & 255) / 256);
}

static void take(struct input *in, unsigned int key)
{
	if (in->t.o.n_msgs)
		qv_model_take(&in->t, in->t.o.n_msgs * (key & 255) / 256);
}

static void force(struct input *in, unsigned int key)
{
	if (in->is_auto)
		qv_auto_force(in->t.m, key & 1 ? QV_AUTO_HASH : QV_AUTO_LIST,
			      key & 2 ? QV_AUTO_HASH : QV_AUTO_LIST);
}

static void call(struct input *in)
{
	unsigned int what = next(in), n = (what >> 4) + 1, key = next(in), wild;

	switch (what & 15) {
	case 0:
		wild = next(in);
		while (n--)
			post(in, key, wild);
		return;
	case 1:
	case 2:
		wild = next(in);
		while (n--)
			post(in, key++, wild);
		return;
	case 3:
		while (n--)
			arrive(in, key, 0);
		return;
	case 4:
		while (n--)
			arrive(in, key++, 0);
		return;
	case 5:
		while (n--)
			deliver(in, key++);
		return;
	case 6:
		while (n--)
			arrive(in, key--, n & 1);
		return;
	case 7: peek(in, key, next(in), 0); return;
	case 8:
		wild = next(in);
		while (n--)
			peek(in, key++, wild, 1);
		return;
	case 9:
		while (n--)
			cancel(in, key);
		return;
	case 10:
		while (n--)
			take(in, key);
		return;
	case 11: post_many(in, key, n, next(in)); return;
	case 12: arrive_many(in, key, n); return;
	case 13: force(in, key); return;
	case 14: qv_model_check_order(&in->t); return;
	default:
		if (key & 1)
			qv_model_drain(&in->t);
		else
			qv_model_check_stats(&in->t);
	}
}

/* Reading a profile's path anew for each string would write its file each time. */
static const struct qv_match_settings *settings_of(unsigned int i)
{
	static struct qv_match_settings known[N_STRUCTURES];

	if (!known[i].structure)
		qv_settings_for(&known[i], structures[i]);
	return &known[i];
}

static enum qv_isa isa_of(unsigned int i)
{
	enum qv_isa isa = (enum qv_isa)(QV_ISA_SCALAR + i);

	return qv_isa_usable(isa) ? isa : QV_ISA_AUTO;
}

/* The nodes are made once and stay: the tool runs string after string. */
static struct qv_nodes *the_nodes(void)
{
	static struct qv_nodes nodes;

	if (!nodes.room)
		qv_nodes_init(&nodes, ROOM);
	return &nodes;
}

static void begin(struct input *in)
{
	unsigned int structure = next(in) % N_STRUCTURES, how = next(in);
	struct qv_match_settings settings = *settings_of(structure);
	struct qv_model_set set = {.settings = &settings, .ctx = in};
	unsigned int keys;

	settings.isa = isa_of(how & 3);
	if (how >> 2 & 3)
		set.first_seq = UINT64_MAX - ((UINT64_C(1) << 2 * (how >> 2 & 3)) - 1);
	settings.hints = (how & 16 ? (uint32_t)QV_HINT_NO_ANY_SOURCE : 0) |
			 (how & 32 ? (uint32_t)QV_HINT_NO_ANY_TAG : 0);
	if (how & 64)
		settings.protocol_bits = in->protocol = PROTOCOL;
	in->full = how >> 7 & 1;
	in->fails = next(in);
	if (in->fails)
		set.fails = fails;
	keys = next(in);
	in->tags = keys & 3;
	in->srcs = keys >> 2 & 3;
	in->is_auto = qv_settings_is(&settings, "auto");
	QV_NEED(qv_model_init(&in->t, &set, the_nodes()) == QV_OK);
	in->t.what = structures[structure];
	in->created = 1;
}

void qv_fuzz_match(const uint8_t *data, size_t size)
{
	struct input in = {.data = data, .size = size};

	begin(&in);
	while (in.size)
		call(&in);
	qv_model_check_order(&in.t);
	qv_model_check_stats(&in.t);
	if (!in.full)
		qv_model_drain(&in.t);
	qv_model_fini(&in.t);
	ops += in.t.ops;
}

uint64_t qv_fuzz_match_ops(void)
{
	return ops;
}
