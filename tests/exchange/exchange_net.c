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

static struct qv_exchange *ranks[QV_NET_GROUPS][QV_NET_RANKS];
static struct qv_end ends[QV_NET_GROUPS][QV_NET_RANKS];
static uint32_t group_ranks[QV_NET_GROUPS];
static int last[QV_NET_GROUPS][QV_NET_RANKS]; /* what each has said */

static void over(struct qv_end at, uint32_t id, size_t bytes, int status)
{
	qv_exchange_done(ranks[at.group][at.rank], id, bytes, status);
}

void qv_net_seed(uint64_t seed)
{
	qv_tagged = (struct qv_tagged){0};
	qv_tagged_seed(seed);
}

void qv_net_open(uint32_t group, const struct qv_exchange_spec *spec)
{
	static const struct qv_exchange_port calls = {qv_tagged_send, qv_tagged_receive};
	struct qv_exchange_spec s = *spec;

	qv_tagged.over = over;
	qv_tagged.busy = 8;
	group_ranks[group] = spec->ranks;
	for (s.rank = 0; s.rank < s.ranks; s.rank++) {
		ends[group][s.rank] = (struct qv_end){group, s.rank};
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
	qv_tagged_clear();
}

struct qv_exchange *qv_net_rank(uint32_t group, uint32_t rank)
{
	return ranks[group][rank];
}

int qv_net_turn(uint32_t groups)
{
	int open = 0;

	for (uint32_t g = 0; g < groups; g++)
		for (uint32_t r = 0; r < group_ranks[g]; r++) {
			if (last[g][r] && qv_tagged_draw(3))
				last[g][r] = qv_exchange_progress(ranks[g][r]);
			if (last[g][r] && last[g][r] != QV_EAGAIN)
				return last[g][r];
			open |= last[g][r] == QV_EAGAIN;
		}
	for (size_t most = 1 + qv_tagged_n() / 4; most && qv_tagged_deliver(); most--)
		;
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
	assert_int_equal(qv_tagged_n(), 0);
}
