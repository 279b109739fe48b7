/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange_net.c - exchanges of a whole group in one process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exchange_net.h"

#define OPS (1 << 18)

struct end {
	uint32_t group, rank;
};

struct op {
	struct end at;
	uint32_t id, peer, tag;
	int is_send;
	char *buf; /* of a send, a copy: spoiled at times */
	size_t bytes;
};

static struct op ops[OPS];
static size_t ops_n;
static struct qv_exchange *ranks[QV_NET_GROUPS][QV_NET_RANKS];
static struct end ends[QV_NET_GROUPS][QV_NET_RANKS];
static uint32_t group_ranks[QV_NET_GROUPS];
static int last[QV_NET_GROUPS][QV_NET_RANKS]; /* what each has said */
static uint64_t state = 1;
static int spoil = -1, fail;

uint64_t qv_net_draw(uint64_t n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (state >> 20) % n;
}

void qv_net_seed(uint64_t seed)
{
	state = seed * 2654435761u + 88172645463325252u;
	spoil = -1;
	fail = 0;
}

void qv_net_spoil(int at)
{
	spoil = at;
}

void qv_net_fail(void)
{
	fail = 1;
}

static int fit(const struct op *a, const struct op *b)
{
	return a->at.group == b->at.group && a->is_send != b->is_send && a->at.rank == b->peer &&
	       a->peer == b->at.rank && a->tag == b->tag;
}

static int start(const struct op *op)
{
	if (qv_net_draw(8) == 0)
		return QV_EAGAIN;
	assert_true(ops_n < OPS);
	ops[ops_n++] = *op;
	return QV_OK;
}

static int net_send(void *port, uint32_t id, uint32_t peer, uint32_t tag, const void *buf,
		    size_t bytes)
{
	const struct end *end = port;
	struct op op = {*end, id, peer, tag, 1, malloc(bytes + 1), bytes};
	int rc = fail ? QV_EIO : start(&op);

	fail = 0;
	if (rc) {
		free(op.buf);
		return rc;
	}
	memcpy(op.buf, buf, bytes);
	if (spoil >= 0 && (size_t)spoil < bytes) {
		op.buf[spoil] ^= 0x55;
		spoil = -1;
	}
	return QV_OK;
}

static int net_receive(void *port, uint32_t id, uint32_t peer, uint32_t tag, void *buf,
		       size_t bytes)
{
	const struct end *end = port;

	return start(&(struct op){*end, id, peer, tag, 0, buf, bytes});
}

void qv_net_open(uint32_t group, const struct qv_exchange_spec *spec)
{
	static const struct qv_exchange_port calls = {net_send, net_receive};
	struct qv_exchange_spec s = *spec;

	group_ranks[group] = spec->ranks;
	for (s.rank = 0; s.rank < s.ranks; s.rank++) {
		ends[group][s.rank] = (struct end){group, s.rank};
		last[group][s.rank] = QV_EAGAIN;
		assert_int_equal(
			qv_exchange_create(&s, &calls, &ends[group][s.rank], &ranks[group][s.rank]),
			QV_OK);
	}
}

void qv_net_close(uint32_t group)
{
	for (uint32_t r = 0; r < group_ranks[group]; r++)
		qv_exchange_free(ranks[group][r]);
	while (ops_n)
		if (ops[--ops_n].is_send)
			free(ops[ops_n].buf);
}

struct qv_exchange *qv_net_rank(uint32_t group, uint32_t rank)
{
	return ranks[group][rank];
}

/* Some messages that have both ends. */
static void deliver(size_t most)
{
	const size_t first = ops_n ? qv_net_draw(ops_n) : 0;

	for (size_t k = 0; k < ops_n && most; k++) {
		const size_t i = (first + k) % ops_n;

		for (size_t j = 0; j < ops_n; j++) {
			const struct op a = ops[i].is_send ? ops[i] : ops[j];
			const struct op b = ops[i].is_send ? ops[j] : ops[i];

			if (!a.is_send || !fit(&a, &b))
				continue;
			ops[i > j ? i : j] = ops[--ops_n];
			ops[i > j ? j : i] = ops[--ops_n];
			assert_true(a.bytes <= b.bytes);
			memcpy(b.buf, a.buf, a.bytes);
			free(a.buf);
			qv_exchange_done(ranks[a.at.group][a.at.rank], a.id, a.bytes, QV_OK);
			qv_exchange_done(ranks[b.at.group][b.at.rank], b.id, a.bytes, QV_OK);
			most--;
			break;
		}
	}
}

int qv_net_turn(uint32_t groups)
{
	int open = 0;

	for (uint32_t g = 0; g < groups; g++)
		for (uint32_t r = 0; r < group_ranks[g]; r++) {
			if (last[g][r] && qv_net_draw(3))
				last[g][r] = qv_exchange_progress(ranks[g][r]);
			if (last[g][r] && last[g][r] != QV_EAGAIN)
				return last[g][r];
			open |= last[g][r] == QV_EAGAIN;
		}
	deliver(1 + ops_n / 4);
	return open ? QV_EAGAIN : QV_OK;
}

void qv_net_run(uint32_t groups)
{
	uint32_t turns = 0;
	int rc;

	for (uint32_t g = 0; g < groups; g++)
		for (uint32_t r = 0; r < group_ranks[g]; r++)
			last[g][r] = QV_EAGAIN;
	do
		rc = qv_net_turn(groups);
	while (rc == QV_EAGAIN && turns++ < 100000);
	if (rc)
		fail_msg("the exchange ends with %d", rc);
	for (uint32_t g = 0; g < groups; g++)
		for (uint32_t r = 0; r < group_ranks[g]; r++)
			assert_int_equal(qv_exchange_progress(ranks[g][r]), QV_OK);
	assert_int_equal(ops_n, 0);
}
