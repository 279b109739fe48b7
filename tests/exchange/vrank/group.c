/* SPDX-License-Identifier: BSD-2-Clause */
/* group.c - see group.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "group.h"

struct member qv_vrank_members[VRANK_RANKS];
struct qv_vranks_spec qv_vrank_group;
uint64_t qv_vrank_now;
bool qv_vrank_lively;
uint32_t qv_vrank_longest;

static int net_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return qv_packet_send((uint32_t)((struct member *)port - qv_vrank_members), id, peer, buf,
			      bytes);
}

static const struct qv_vranks_calls calls = {net_send, qv_vrank_hear, qv_vrank_go, qv_vrank_settle};

void qv_vrank_open_group(const struct qv_vranks_spec *spec)
{
	qv_vrank_group = *spec;
	qv_vrank_longest = 100;
	for (uint32_t r = 0; r < qv_vrank_group.stream.ranks; r++) {
		memset(&qv_vrank_members[r], 0, sizeof(qv_vrank_members[r]));
		qv_vrank_group.stream.rank = r;
		assert_int_equal(qv_vranks_create(&qv_vrank_group, &calls, &qv_vrank_members[r],
						  &qv_vrank_members[r].v),
				 QV_OK);
		for (uint32_t e = 0; e < qv_vrank_group.vranks; e++)
			qv_vrank_members[r].beings[e].alive =
				qv_vranks_here(qv_vrank_members[r].v, e) != 0;
	}
}

void qv_vrank_close_group(void)
{
	for (uint32_t r = 0; r < qv_vrank_group.stream.ranks; r++)
		qv_vranks_free(qv_vrank_members[r].v);
	qv_packet_clear();
}

static void take(const struct qv_packet *p)
{
	qv_vranks_done(qv_vrank_members[p->from].v, p->id, QV_OK);
	assert_int_equal(qv_vranks_deliver(qv_vrank_members[p->to].v, p->from, p->data, p->bytes,
					   qv_vrank_now),
			 QV_OK);
}

void qv_vrank_turn(void)
{
	qv_vrank_now += 1000;
	for (uint32_t r = 0; r < qv_vrank_group.stream.ranks; r++) {
		const int rc = draw(4) ? qv_vranks_progress(qv_vrank_members[r].v, qv_vrank_now)
				       : qv_vranks_flush(qv_vrank_members[r].v);

		assert_true(rc == QV_OK || rc == QV_EAGAIN);
	}
	for (uint32_t n = draw(2 * qv_vrank_group.stream.ranks + 1); n; n--)
		qv_packet_deliver(take);
}

/* Say something to anyone, if it is here: answers may make it move. */
static void say(struct member *m, uint32_t e)
{
	for (int tries = 0; tries < 20 && qv_vranks_here(m->v, e); tries++) {
		if (!(draw(5) ? qv_vrank_talk(m, e, draw(qv_vrank_group.vranks))
			      : qv_vrank_talk_to_many(m, e)))
			return;
		qv_vrank_turn();
	}
}

static void act(uint32_t rank, bool moves)
{
	struct member *m = &qv_vrank_members[rank];
	const uint32_t e = draw(qv_vrank_group.vranks);
	int rc;

	for (uint32_t n = 1 + draw(4); n; n--)
		say(m, e);
	if (!moves || draw(4) || !qv_vranks_here(m->v, e))
		return;
	rc = qv_vranks_move(m->v, e, draw(qv_vrank_group.stream.ranks), qv_vrank_now);
	assert_true(rc == QV_OK || rc == QV_EAGAIN);
}

void qv_vrank_all_act(unsigned int times, bool moves)
{
	for (unsigned int i = 0; i < times; i++) {
		act(draw(qv_vrank_group.stream.ranks), moves);
		if (!draw(4))
			qv_vrank_turn();
	}
}

void qv_vrank_fence_all(bool go_on)
{
	bool over[VRANK_RANKS] = {false};
	uint32_t left = qv_vrank_group.stream.ranks;

	for (unsigned int turns = 0; left; turns++) {
		for (uint32_t r = 0; r < qv_vrank_group.stream.ranks; r++) {
			const int rc = over[r] || draw(3) ? QV_EAGAIN
							  : qv_vranks_fence(qv_vrank_members[r].v,
									    qv_vrank_now);

			assert_true(rc == QV_OK || rc == QV_EAGAIN);
			over[r] |= rc == QV_OK;
			left -= rc == QV_OK;
			if (over[r] && go_on)
				act(r, true);
		}
		qv_vrank_turn();
		assert_in_range(turns, 0, 100000);
	}
}

static const struct being *being(uint32_t e)
{
	const struct being *found = NULL;

	for (uint32_t r = 0; r < qv_vrank_group.stream.ranks; r++)
		if (qv_vranks_here(qv_vrank_members[r].v, e)) {
			assert_null(found);
			assert_int_equal(qv_vrank_members[r].beings[e].alive, 1);
			found = &qv_vrank_members[r].beings[e];
			for (uint32_t other = 0; other < qv_vrank_group.stream.ranks; other++)
				assert_int_equal(qv_vranks_home(qv_vrank_members[other].v, e), r);
		}
	assert_non_null(found);
	return found;
}

struct qv_vranks_stats qv_vrank_sum(void)
{
	struct qv_vranks_stats all = {0}, s;

	for (uint32_t r = 0; r < qv_vrank_group.stream.ranks; r++) {
		qv_vranks_stats(qv_vrank_members[r].v, &s);
		all.inserted += s.inserted;
		all.delivered += s.delivered;
		all.forwarded += s.forwarded;
		all.moved += s.moved;
		all.refused += s.refused;
		all.stream.inserted += s.stream.inserted;
		all.stream.bytes += s.stream.bytes;
		all.stream.envelopes += s.stream.envelopes;
	}
	return all;
}

void qv_vrank_check(void)
{
	const struct qv_vranks_stats s = qv_vrank_sum();

	for (uint32_t from = 0; from < qv_vrank_group.vranks; from++)
		for (uint32_t to = 0; to < qv_vrank_group.vranks; to++) {
			assert_int_equal(being(from)->sent[to], being(to)->got[from]);
			assert_int_equal(being(from)->passed[to], being(to)->received[from]);
		}
	assert_int_equal(s.inserted, s.delivered);
	assert_int_equal(s.refused, 0);
}
