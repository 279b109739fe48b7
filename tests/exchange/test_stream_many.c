/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stream_many.c - items for many ranks of a stream: they come once to each, in order with items
 * for one; they travel once over each part of the way that several receivers have in common.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "many_group.h"

static const enum qv_way ways[] = {QV_WAY_DIRECT, QV_WAY_MESH2, QV_WAY_MESH3, QV_WAY_HYPERCUBE};

static uint32_t draw(uint32_t n)
{
	return (uint32_t)qv_packet_draw(n);
}

static void comes(struct qv_stream_spec spec)
{
	qv_many_open(&spec, spec.limit ? spec.limit - 33 - spec.envelope : 300);
	for (uint32_t n = 0; n < 10 * spec.ranks; n++) {
		const uint32_t from = draw(spec.ranks), to = draw(spec.ranks);

		qv_many.lively = draw(2);
		if (draw(3))
			qv_many_insert(from, &to, 1, QV_SECTION_WAY);
		else
			qv_many_insert_any(from);
	}
	qv_many.lively = false;
	qv_many_finish();
	qv_net_close();
}

static void all_come(void **state)
{
	qv_many_each(comes);
}

/* Every `step`-th rank gets 1000 bytes of rank 0. Messages and bytes of all; messages of rank 0. */
static struct qv_stream_stats links(enum qv_way way, uint32_t first, uint32_t step, uint64_t *own)
{
	const struct qv_stream_spec spec = {.way = way, .ranks = 64, .wait_ns = UINT64_MAX};
	uint32_t to[QV_MANY_RANKS];
	struct qv_stream_stats s;
	size_t n = 0;

	qv_many_open(&spec, 1000);
	for (uint32_t r = first; r < 64; r += step)
		to[n++] = r;
	while (qv_many.number * 31u % 999 != 998)
		qv_many.number++;
	qv_many_insert(0, to, n, QV_SECTION_WAY);
	qv_many_finish();
	qv_stream_stats(qv_net.streams[0], &s);
	*own = s.messages;
	s = qv_net_sum();
	assert_int_equal(s.inserted, n);
	qv_net_close();
	return s;
}

/* A head, who inserted it, its length, it. */
#define LAST (8 + 1 + 2 + 1000)
/* A head, that it is for many, its length, eight receivers and the end, it. */
#define FIRST (8 + 1 + 2 + 9 + 1000)

static void once_over_each_link(void **state)
{
	static const uint64_t of_sender[] = {63, 7 + 7, 3 + 3 + 3,
					     6}; /* the last: a binomial tree */
	uint64_t own;
	struct qv_stream_stats s = links(QV_WAY_MESH2, 3, 8, &own); /* a column */

	assert_int_equal(own, 1);
	assert_int_equal(s.messages, 1 + 7);
	assert_int_equal(s.bytes, FIRST + 7 * LAST);
	assert_int_equal(s.forwarded, 7);
	s = links(QV_WAY_MESH2, 0, 1, &own);
	assert_int_equal(s.messages, 63);
	assert_int_equal(s.bytes, 7 * FIRST + 56 * LAST);
	for (size_t w = 0; w < 4; w++) {
		s = links(ways[w], 0, 1, &own); /* each but the first gets it once */
		assert_int_equal(s.messages, 63);
		assert_int_equal(own, of_sender[w]);
		assert_in_range(s.bytes, 63 * (LAST - 1), 63 * (LAST + 33));
	}
}

static void full_window(void **state)
{
	const struct qv_stream_spec spec = {
		.way = QV_WAY_MESH2, .ranks = 9, .items = 1, .window = 2};
	static const uint32_t to[] = {3, 6};

	qv_many_open(&spec, 30);
	qv_packet_set(true, false);
	qv_many_insert(0, to, 2, QV_SECTION_WAY);
	assert_int_equal(
		qv_stream_multicast(qv_net.streams[0], QV_SECTION_WAY, to, 2, NULL, 0, qv_net.now),
		QV_EAGAIN);
	assert_int_equal(qv_net_sum().inserted, 2);
	qv_packet_set(false, false);
	qv_many_finish();
	qv_net_close();
}

static void bad_arguments(void **state)
{
	const struct qv_stream_spec spec = {.way = QV_WAY_MESH2, .ranks = 9};
	static const uint32_t right[] = {1, 2, 8}, twice[] = {1, 1}, falling[] = {2, 1},
			      high[] = {1, 9};
	static const char big[8192];
	struct qv_stream *s;

	qv_many_open(&spec, 30);
	s = qv_net.streams[0];
	assert_int_equal(qv_stream_multicast(s, QV_SECTION_WAY, right, 0, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, QV_SECTION_WAY, NULL, 1, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, QV_SECTION_WAY, right, 3, NULL, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, QV_SECTION_WAY, twice, 2, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, QV_SECTION_WAY, falling, 2, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, QV_SECTION_WAY, high, 2, big, 1, 0), QV_EINVAL);
	assert_int_equal(
		qv_stream_multicast(s, QV_SECTION_WAY, right, 3, big, qv_stream_longest(s) + 1, 0),
		QV_EMSGSIZE);
	assert_int_equal(qv_stream_multicast(s, QV_N_SECTIONS, right, 3, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_net_sum().inserted, 0);
	qv_net_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come), cmocka_unit_test(once_over_each_link),
		cmocka_unit_test(full_window), cmocka_unit_test(bad_arguments)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
