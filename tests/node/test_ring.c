/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ring.c - a ring, both ends in one process: room, order, wrap-around, nonsense. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "engine/base/random.h"
#include "engine/node/internal.h"
#include "rig/kin.h"
#include "rig/pair.h"
#include "tests/proto/rig/need.h"

static void slots_go_round(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	for (uint32_t batch = 1; batch <= QV_RING_SLOTS; batch++)
		for (unsigned round = 0; round < 3; round++) {
			pair_receive_all(&p);
			pair_begin_at(&p, p.tx.sent, p.tx.put);
			for (uint32_t i = 0; i < batch; i++)
				assert_true(pair_send(&p, i % (QV_RING_INLINE + 1)));
			pair_receive_all(&p);
		}
	for (unsigned i = 0; i < 10 * QV_RING_SLOTS; i++) {
		assert_true(pair_send(&p, 8));
		pair_receive_all(&p);
	}
	pair_close(&p);
}

static void a_full_ring_takes_no_more(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	for (unsigned i = 0; i < QV_RING_SLOTS; i++)
		assert_true(pair_send(&p, 8));
	assert_false(pair_send(&p, 8));
	for (unsigned i = 0; i < QV_RING_TELL - 1; i++)
		assert_true(pair_receive(&p));
	assert_false(pair_send(&p, 8)); /* it was not told yet */
	assert_true(pair_receive(&p));
	for (unsigned i = 0; i < QV_RING_TELL; i++)
		assert_true(pair_send(&p, 8));
	assert_false(pair_send(&p, 8));
	pair_receive_all(&p);
	pair_close(&p);
}

/* Every length at a place that no other length had, with as much before it as there is room for. */
static void all_lengths_fill_the_stage(void **state)
{
	struct pair p;
	uint64_t rng = 1;
	unsigned full = 0;

	(void)state;
	pair_open(&p);
	for (uint32_t len = 0; len <= QV_RING_PACKET; len++) {
		uint32_t keep = (uint32_t)qv_random_below(&rng, QV_RING_SLOTS);

		for (unsigned i = 0; i < 3; i++)
			if (!pair_send(&p, len)) {
				full++;
				break;
			}
		while (p.sent - p.got > keep)
			assert_true(pair_receive(&p));
	}
	assert_true(full > 100);
	pair_receive_all(&p);
	pair_close(&p);
}

/* Who has read all that there is leaves room for any packet, told or not. */
static void a_sender_always_goes_on(void **state)
{
	static const uint32_t lens[] = {
		0, 1, 40, 41, 64, 65, 4096, 4097, 8192, 16384, QV_RING_PACKET - 1, QV_RING_PACKET};
	struct pair p;
	uint64_t rng = 2;

	(void)state;
	pair_open(&p);
	for (uint32_t at = 0; at < QV_RING_STAGE; at += QV_RING_LINE)
		for (unsigned i = 0; i < sizeof lens / sizeof *lens; i++) {
			pair_begin_at(&p, p.tx.sent, at);
			for (unsigned k = 0; k < 20; k++) {
				uint32_t len = (uint32_t)qv_random_below(&rng, 3) ? 1 : 1365;

				assert_true(pair_send(&p, len));
				pair_receive_all(&p);
			}
			assert_true(pair_send(&p, lens[i]));
			pair_receive_all(&p);
		}
	pair_close(&p);
}

static void traffic(struct pair *p, unsigned packets, uint64_t seed)
{
	uint64_t rng = seed;

	while (p->sent < packets) {
		uint32_t burst = (uint32_t)qv_random_below(&rng, 2 * QV_RING_SLOTS);
		uint32_t most = qv_random_percent(&rng, 50) ? 60 : QV_RING_PACKET;

		while (burst-- && pair_send(p, (uint32_t)qv_random_below(&rng, most + 1)))
			;
		burst = (uint32_t)qv_random_below(&rng, 2 * QV_RING_SLOTS);
		while (burst-- && pair_receive(p))
			;
	}
	pair_receive_all(p);
}

static size_t pages_of(const struct pair *p)
{
	return qv_segment_touched(p->ring) / 4096;
}

/* Packets of these lengths, each read before the next. */
static void talk(struct pair *p, unsigned packets, uint32_t most)
{
	for (unsigned i = 0; i < packets; i++) {
		assert_true(pair_send(p, most - i % (most / 4)));
		pair_receive_all(p);
	}
}

static void who_says_little_has_a_page(void **state)
{
	struct pair p;

	(void)state;
	pair_open_small(&p);
	talk(&p, 1000, QV_RING_INLINE);
	assert_int_equal(pages_of(&p), 1);
	talk(&p, 1000, 256);
	assert_int_equal(pages_of(&p), 2);
	assert_int_equal(p.tx.slots, QV_RING_FIRST);
	pair_close(&p);
}

/* A burst gets the whole ring, even the first one, of which nothing is read meanwhile. */
static void a_ring_grows_when_it_is_short(void **state)
{
	struct pair p;
	unsigned sent = 0;

	(void)state;
	pair_open_small(&p);
	while (pair_send(&p, 8))
		sent++;
	assert_int_equal(sent, QV_RING_SLOTS);
	assert_int_equal(pages_of(&p), 2);
	pair_receive_all(&p);
	for (sent = 0; pair_send(&p, QV_RING_PACKET); sent++)
		;
	assert_true(sent >= 3);
	pair_receive_all(&p);
	pair_close(&p);
}

/* It grows at any moment, with any packets under way. */
static void growing_loses_nothing(void **state)
{
	struct pair p;
	uint64_t rng = 6;
	unsigned grown = 0;

	(void)state;
	pair_open(&p);
	for (unsigned round = 0; round < 3000; round++) {
		uint32_t most = qv_random_percent(&rng, 50) ? 256 : QV_RING_PACKET;

		pair_begin_small(&p, (uint32_t)qv_random(&rng),
				 (uint32_t)qv_random(&rng) / QV_RING_LINE * QV_RING_LINE);
		for (unsigned turn = 0; turn < 12; turn++) {
			uint32_t burst = (uint32_t)qv_random_below(&rng, QV_RING_FIRST);

			while (burst-- && pair_send(&p, (uint32_t)qv_random_below(&rng, most)))
				;
			burst = (uint32_t)qv_random_below(&rng, QV_RING_FIRST);
			while (burst-- && pair_receive(&p))
				;
		}
		grown += p.tx.slots == QV_RING_SLOTS;
		traffic(&p, p.sent + 2 * QV_RING_SLOTS, round);
	}
	assert_true(grown > 500 && grown < 2900);
	pair_close(&p);
}

/* Large, and small again, with any packets under way; what was given back has no memory. */
static void large_and_small_again(void **state)
{
	const bool counts = kin_madvise_works();
	struct pair p;
	uint64_t rng = 7;
	unsigned reduced = 0, refused = 0;

	(void)state;
	pair_open(&p);
	for (unsigned round = 0; round < 300; round++) {
		pair_begin_at(&p, (uint32_t)qv_random(&rng), 0);
		p.tx.base = p.tx.put = p.tx.freed =
			(uint32_t)qv_random(&rng) / QV_RING_LINE * QV_RING_LINE;
		traffic(&p, (uint32_t)qv_random_below(&rng, 100), round);
		for (unsigned turn = 0; turn < 4; turn++) {
			uint32_t under_way = (uint32_t)qv_random_below(&rng, 10);

			assert_true(qv_ring_enlarge(&p.tx));
			assert_int_equal(p.tx.stage, QV_RING_LARGE);
			traffic(&p, p.sent + (uint32_t)qv_random_below(&rng, 500), round + turn);
			while (under_way--)
				(void)pair_send(&p,
						(uint32_t)qv_random_below(&rng, QV_RING_PACKET));
			if (!qv_ring_reduce(&p.tx)) { /* more than the small one has room for */
				refused++;
				pair_receive_all(&p);
				assert_true(qv_ring_reduce(&p.tx));
			}
			reduced++;
			assert_int_equal(p.tx.stage, QV_RING_STAGE);
			assert_true(!counts || pages_of(&p) <= 2 + 2 * QV_RING_STAGE / 4096 + 2);
			traffic(&p, p.sent + (uint32_t)qv_random_below(&rng, 300), round);
		}
	}
	assert_true(reduced == 1200 && refused > 20);
	pair_close(&p);
}

static void numbers_wrap(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	for (uint32_t before = 0; before < 3 * QV_RING_SLOTS; before++) {
		pair_begin_at(&p, 0u - before, 0u - 64 * before);
		traffic(&p, 4 * QV_RING_SLOTS, before);
	}
	pair_begin_at(&p, UINT32_MAX - 5000, UINT32_MAX - (100u << 20) + 1);
	traffic(&p, 40000, 3);
	pair_close(&p);
}

/* Slots that nothing was in say nothing, even where the numbers begin again. */
static void fresh_slots_are_empty_where_numbers_wrap(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	for (uint32_t before = 0; before < 4 * QV_RING_FIRST; before++) {
		pair_begin_small(&p, 0u - before, 0);
		for (uint32_t i = QV_RING_FIRST; i < QV_RING_SLOTS; i++)
			atomic_store(&p.ring->slots[i].word, 0);
		for (unsigned round = 0; round < 8; round++) {
			for (unsigned i = 0; i < QV_RING_FIRST / 2 + round; i++)
				assert_true(pair_send(&p, 8));
			pair_receive_all(&p);
		}
		while (pair_send(&p, 8))
			;
		pair_receive_all(&p);
		traffic(&p, p.sent + 4 * QV_RING_SLOTS, before);
		assert_int_equal(p.tx.slots, QV_RING_SLOTS);
	}
	pair_close(&p);
}

/* A receiver that tells what cannot be: it only harms itself. */
static void consumed_may_be_nonsense(void **state)
{
	struct pair p;
	uint64_t rng = 4;

	(void)state;
	pair_open(&p);
	for (unsigned i = 0; i < 200000; i++) {
		uint32_t seen = p.tx.end - QV_RING_SLOTS;
		uint32_t told = (uint32_t)qv_random(&rng);

		if (qv_random_percent(&rng, 90)) /* near what is true */
			told = p.tx.sent + told % (4 * QV_RING_SLOTS) - 2 * QV_RING_SLOTS;
		atomic_store(&p.ring->consumed, told);
		(void)pair_send(&p, (uint32_t)qv_random_below(&rng, QV_RING_PACKET + 1));
		assert_true(p.tx.end - p.tx.sent <= QV_RING_SLOTS);
		assert_true(p.tx.put - p.tx.freed <= QV_RING_STAGE);
		assert_true(p.tx.at < QV_RING_SLOTS);
		assert_true(p.tx.end - QV_RING_SLOTS - seen <= QV_RING_SLOTS); /* not backwards */
	}
	/* Nothing was read for long: a ring is full whatever is told beyond what was sent. */
	pair_begin_at(&p, 7, 0);
	while (pair_send(&p, 1))
		;
	atomic_store(&p.ring->consumed, p.tx.sent + 1);
	assert_false(pair_send(&p, 1));
	atomic_store(&p.ring->consumed, 6);
	assert_false(pair_send(&p, 1));
	pair_close(&p);
}

static unsigned sum(const char *body, size_t len)
{
	unsigned all = 0;

	for (size_t i = 0; i < len; i++)
		all += (unsigned char)body[i];
	return all;
}

/* All of what a body claims to be is read: the pages around the ring would end the test. */
static void words_may_be_nonsense(void **state)
{
	static const uint32_t at[] = {0,
				      1,
				      QV_RING_LARGE - QV_RING_PACKET,
				      QV_RING_LARGE - QV_RING_PACKET + 1,
				      QV_RING_LARGE - 41,
				      QV_RING_LARGE - 40,
				      QV_RING_LARGE - 1,
				      QV_RING_LARGE,
				      UINT32_MAX,
				      UINT32_MAX - QV_RING_PACKET + 1,
				      0x80000000};
	struct pair p;
	unsigned all = 0, good = 0;

	(void)state;
	pair_open(&p);
	for (unsigned slot = 0; slot < QV_RING_SLOTS; slot += QV_RING_SLOTS - 1)
		for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
			p.rx.at = slot;
			memcpy(p.ring->slots[slot].payload, &at[i], sizeof at[i]);
			for (uint32_t k = 0; k < 2u << 16; k++) {
				uint32_t low = (k & 0xffff) | (k >> 16 ? QV_SLOT_STAGED : 0);
				size_t len;
				const char *body = qv_ring_body(&p.rx, low, &len);

				if (!body)
					continue;
				good++;
				assert_true(len <= QV_RING_PACKET);
				assert_true(body >= (char *)p.ring &&
					    body + len <= (char *)(p.ring + 1));
				if (k % 8 == 0 || len < 100)
					all += sum(body, len);
			}
		}
	assert_true(good > 30000 && all > 0);
	pair_close(&p);
}

/* Two threads, for ThreadSanitizer and for processors that order less than ours. */
static void *receive_in_thread(void *arg)
{
	struct pair *p = arg;
	char want[200];
	uint64_t rng = 5;

	for (uint32_t seq = 0; seq < 100000;) {
		uint32_t low, n;
		const char *body;
		size_t len;

		if (!qv_ring_next(&p->rx, &low)) {
			sched_yield();
			continue;
		}
		n = (uint32_t)qv_random_below(&rng, sizeof want);
		body = qv_ring_body(&p->rx, low, &len);
		QV_NEED(body && len == n);
		memset(want, (int)(seq++ & 0xff), sizeof want);
		QV_NEED(!memcmp(body, want, len));
		qv_ring_advance(&p->rx, low);
	}
	return NULL;
}

static void threads_agree(void **state)
{
	struct pair p;
	pthread_t thread;
	uint64_t rng = 5;

	(void)state;
	pair_open(&p);
	assert_int_equal(pthread_create(&thread, NULL, receive_in_thread, &p), 0);
	for (uint32_t seq = 0; seq < 100000; seq++) {
		uint32_t len = (uint32_t)qv_random_below(&rng, 200), at = 0, low = len;
		struct qv_slot *slot;

		while (!(slot = qv_ring_slot(&p.tx)) ||
		       (len > QV_RING_INLINE && (at = qv_ring_stage(&p.tx, len)) == UINT32_MAX))
			sched_yield();
		if (len > QV_RING_INLINE) {
			memcpy(slot->payload, &at, sizeof at);
			low |= QV_SLOT_STAGED;
		}
		memset(len > QV_RING_INLINE ? p.ring->stage + at : slot->payload, (int)(seq & 0xff),
		       len);
		qv_ring_publish(&p.tx, slot, low);
	}
	pthread_join(thread, NULL);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_go_round),
		cmocka_unit_test(a_full_ring_takes_no_more),
		cmocka_unit_test(all_lengths_fill_the_stage),
		cmocka_unit_test(a_sender_always_goes_on),
		cmocka_unit_test(who_says_little_has_a_page),
		cmocka_unit_test(a_ring_grows_when_it_is_short),
		cmocka_unit_test(growing_loses_nothing),
		cmocka_unit_test(large_and_small_again),
		cmocka_unit_test(numbers_wrap),
		cmocka_unit_test(fresh_slots_are_empty_where_numbers_wrap),
		cmocka_unit_test(consumed_may_be_nonsense),
		cmocka_unit_test(words_may_be_nonsense),
		cmocka_unit_test(threads_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
