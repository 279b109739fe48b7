/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_exchange.c - sparse exchanges beside a plain list of all messages: random patterns, empty
 * messages, messages to oneself, hot receivers; how many bundles are sent, how much is copied.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exchange_net.h"

#define MOST 4096 /* messages of a group */

struct message {
	uint32_t src, dst;
	size_t bytes;
};

static struct message messages[QV_NET_GROUPS][MOST]; /* by source */
static size_t messages_n[QV_NET_GROUPS];
static char bytes_of[1 << 17]; /* a message is a part of it, by its number */

static const char *data_of(size_t number)
{
	return bytes_of + number * 31 % 4099;
}

static int by_source(const void *x, const void *y)
{
	const struct message *a = x, *b = y;

	return a->src != b->src ? (a->src > b->src ? 1 : -1) : 0;
}

/* What ranks send each other. */
enum pattern {
	RANDOM,
	ALL_TO_ONE,
	HOT, /* half of all to one rank */
	NEIGHBOURS,
	NONE,
	PATTERNS,
};

static struct message draw_message(enum pattern pattern, uint32_t P, size_t i, size_t longest)
{
	struct message m = {(uint32_t)qv_tagged_draw(P), (uint32_t)qv_tagged_draw(P),
			    qv_tagged_draw(4) ? qv_tagged_draw(longest + 1) : 0};

	if (pattern == ALL_TO_ONE)
		m.dst = P / 2;
	else if (pattern == HOT && i % 2)
		m.dst = P - 1;
	else if (pattern == NEIGHBOURS)
		m.dst = (m.src + 1 + (uint32_t)qv_tagged_draw(4)) % P;
	return m;
}

static void draw_messages(uint32_t g, enum pattern pattern, uint32_t P, size_t longest)
{
	messages_n[g] = pattern == NONE ? 0 : qv_tagged_draw(6 * P + 1);
	for (size_t i = 0; i < messages_n[g]; i++)
		messages[g][i] = draw_message(pattern, P, i, longest);
	qsort(messages[g], messages_n[g], sizeof(messages[g][0]), by_source);
}

static void start(uint32_t g, uint32_t P)
{
	struct qv_exchange_item items[MOST];
	size_t at = 0;

	for (uint32_t r = 0; r < P; r++) {
		size_t n = 0;

		for (; at < messages_n[g] && messages[g][at].src == r; at++)
			items[n++] = (struct qv_exchange_item){messages[g][at].dst, data_of(at),
							       messages[g][at].bytes};
		assert_int_equal(qv_exchange_start(qv_net_rank(g, r), items, n), QV_OK);
		if (n || P > 1)
			assert_int_equal(qv_exchange_start(qv_net_rank(g, r), items, n), QV_EAGAIN);
	}
}

static void check(uint32_t g, uint32_t P)
{
	for (uint32_t r = 0; r < P; r++) {
		size_t n, at = 0;
		const struct qv_exchange_item *got = qv_exchange_result(qv_net_rank(g, r), &n);

		for (size_t i = 0; i < messages_n[g]; i++) {
			const struct message *m = &messages[g][i];

			if (m->dst != r)
				continue;
			if (at >= n || got[at].peer != m->src || got[at].bytes != m->bytes ||
			    (m->bytes && memcmp(got[at].data, data_of(i), m->bytes)))
				fail_msg("rank %u of %u: message %zu is wrong", r, P, at);
			at++;
		}
		assert_int_equal(at, n);
	}
}

static void fill(void)
{
	for (size_t i = 0; i < sizeof(bytes_of); i++)
		bytes_of[i] = (char)(i * i / 7 + i);
}

/* What comes. */

static void one(const struct qv_exchange_spec *spec, size_t longest)
{
	qv_net_seed(spec->ranks * 100 + spec->way * 10 + spec->radix);
	qv_net_open(0, spec);
	for (enum pattern pattern = RANDOM; pattern < PATTERNS; pattern++) {
		draw_messages(0, pattern, spec->ranks, longest);
		start(0, spec->ranks);
		qv_net_run(1);
		check(0, spec->ranks);
	}
	qv_net_close(0);
}

static void test_delivery(void **unused)
{
	fill();
	for (uint32_t P = 1; P <= 64; P += P < 33 ? 1 : 31)
		for (enum qv_way way = QV_WAY_CRYSTAL; way < QV_N_WAYS; way++)
			for (uint32_t radix = 2; radix < (way == QV_WAY_CRYSTAL ? 9 : 3);
			     radix += 3) {
				const struct qv_exchange_spec spec = {
					.way = way, .ranks = P, .radix = radix};

				one(&spec, 40);
			}
}

/* Bundles that are sent in pieces. */
static void test_long(void **unused)
{
	for (uint32_t P = 1; P < 12; P++)
		for (enum qv_way way = QV_WAY_CRYSTAL; way < QV_N_WAYS; way++) {
			one(&(struct qv_exchange_spec){.way = way, .ranks = P, .limit = 4000},
			    20000);
			one(&(struct qv_exchange_spec){.way = way, .ranks = P, .limit = 100}, 2000);
		}
}

/* Exchanges of several groups under way at once, each with a way of its own. */
static void test_several(void **unused)
{
	static const struct qv_exchange_spec specs[QV_NET_GROUPS] = {
		{.way = QV_WAY_CRYSTAL, .ranks = 13},
		{.way = QV_WAY_CRYSTAL, .ranks = 13, .limit = 500},
		{.way = QV_WAY_MESH2, .ranks = 14},
		{.way = QV_WAY_HYPERCUBE, .ranks = 11}};

	qv_net_seed(5);
	for (uint32_t g = 0; g < QV_NET_GROUPS; g++)
		qv_net_open(g, &specs[g]);
	for (int turn = 0; turn < 20; turn++) {
		for (uint32_t g = 0; g < QV_NET_GROUPS; g++) {
			draw_messages(g, RANDOM, specs[g].ranks, 3000);
			start(g, specs[g].ranks);
		}
		qv_net_run(QV_NET_GROUPS);
		for (uint32_t g = 0; g < QV_NET_GROUPS; g++)
			check(g, specs[g].ranks);
	}
	for (uint32_t g = 0; g < QV_NET_GROUPS; g++)
		qv_net_close(g);
}

/* What it costs. */

/* Phases of the crystal router by halves. */
static uint32_t rounds_of(uint32_t P)
{
	uint32_t n = 0;

	for (; P > 1; P = (P + 1) / 2)
		n++;
	return n;
}

/* How often the crystal router sends a message of this source and destination on: the bits in which
 * they differ, of a group of 2^d. */
static uint32_t hops(uint32_t a, uint32_t b)
{
	uint32_t n = 0;

	for (a ^= b; a; a &= a - 1)
		n++;
	return n;
}

static void counts(uint32_t P)
{
	const struct qv_exchange_spec spec = {.ranks = P};
	const int power = (P & (P - 1)) == 0;
	uint64_t copied = 0, forwarded = 0, copied_twice = 0, sent = 0, received = 0;

	qv_net_seed(P);
	qv_net_open(0, &spec);
	draw_messages(0, RANDOM, P, 100);
	start(0, P);
	qv_net_run(1);
	for (uint32_t r = 0; r < P; r++) {
		struct qv_exchange_stats s;

		qv_exchange_stats(qv_net_rank(0, r), &s);
		assert_int_equal(s.messages, s.bundles);
		assert_true(s.bundles <= rounds_of(P) && s.bundles + 1 >= rounds_of(P));
		if (power) {
			assert_int_equal(s.bundles, rounds_of(P));
			assert_int_equal(s.received, rounds_of(P));
		}
		assert_true(s.received <= 2 * rounds_of(P));
		copied += s.copied;
		forwarded += s.forwarded;
		sent += s.bundles;
		received += s.received;
	}
	assert_int_equal(sent, received);
	/* The original copies every message twice in each dimension that it crosses. */
	for (size_t i = 0; i < messages_n[0] && power; i++)
		copied_twice +=
			2 * messages[0][i].bytes * hops(messages[0][i].src, messages[0][i].dst);
	if (power) {
		assert_int_equal(2 * forwarded, copied_twice);
		assert_true(2 * copied <= copied_twice);
	}
	assert_int_equal(copied, forwarded);
	qv_net_close(0);
}

static void test_counts(void **unused)
{
	for (uint32_t P = 1; P <= 128; P += P < 65 ? 1 : 63)
		counts(P);
}

/* By the virtual topologies the number is that of the group, whatever there is to be sent. */
static void test_topologies(void **unused)
{
	static const uint32_t most[][4] = {{14, 6, 5, 4}, {31, 10, 7, 5}, {100, 18, 11, 7}};

	for (size_t i = 0; i < 3; i++)
		for (uint32_t k = 1; k < 4; k++) {
			static const enum qv_way ways[] = {QV_WAY_DIRECT, QV_WAY_MESH2,
							   QV_WAY_MESH3, QV_WAY_HYPERCUBE};
			const struct qv_exchange_spec spec = {.way = ways[k], .ranks = most[i][0]};
			uint64_t worst = 0;

			qv_net_open(0, &spec);
			draw_messages(0, i % 2 ? NONE : RANDOM, spec.ranks, 8);
			start(0, spec.ranks);
			qv_net_run(1);
			check(0, spec.ranks);
			for (uint32_t r = 0; r < spec.ranks; r++) {
				struct qv_exchange_stats s;

				qv_exchange_stats(qv_net_rank(0, r), &s);
				worst = s.bundles > worst ? s.bundles : worst;
			}
			assert_int_equal(worst, most[i][k]);
			qv_net_close(0);
		}
}

/* What goes wrong. */

static int run_to_failure(void)
{
	int rc = QV_EAGAIN;

	for (uint32_t turns = 0; turns < 2000 && rc == QV_EAGAIN; turns++)
		rc = qv_net_turn(1);
	return rc;
}

static void test_failures(void **unused)
{
	const struct qv_exchange_spec spec = {.ranks = 8, .limit = 500, .most = 1 << 20};
	uint32_t refused = 0;

	/* A byte of a head: its length, its number of records, a length or a rank of a record. */
	for (int at = 0; at < 40; at++) {
		int rc;

		qv_net_seed((uint64_t)at);
		qv_net_open(0, &spec);
		draw_messages(0, RANDOM, 8, at % 2 ? 30 : 3000);
		start(0, 8);
		qv_tagged.spoil = (size_t)at + 1;
		rc = run_to_failure();
		assert_true(rc == QV_OK || rc == QV_EAGAIN || rc == QV_EPROTO || rc == QV_ENOMEM);
		refused += rc == QV_EPROTO;
		qv_net_close(0);
	}
	assert_true(refused > 15);
	qv_net_open(0, &spec);
	draw_messages(0, RANDOM, 8, 30);
	start(0, 8);
	qv_tagged.refuse = true;
	assert_int_equal(run_to_failure(), QV_EIO);
	qv_net_close(0);
}

static void refuse(struct qv_exchange_spec spec)
{
	struct qv_exchange *ex = NULL;

	assert_int_equal(qv_exchange_create(&spec, &(struct qv_exchange_port){0}, NULL, &ex),
			 QV_EINVAL);
	assert_null(ex);
}

static void test_bad_input(void **unused)
{
	const struct qv_exchange_item item = {3, NULL, 0}, large = {2, bytes_of, 8168};

	refuse((struct qv_exchange_spec){.ranks = 0});
	refuse((struct qv_exchange_spec){.ranks = 2, .rank = 2});
	refuse((struct qv_exchange_spec){.ranks = 2, .radix = 1});
	refuse((struct qv_exchange_spec){.ranks = 2, .limit = 63});
	refuse((struct qv_exchange_spec){.ranks = 2, .most = 8191});
	refuse((struct qv_exchange_spec){.ranks = 2, .way = (enum qv_way)QV_N_WAYS});
	assert_null(qv_way_name((enum qv_way)QV_N_WAYS));
	assert_string_equal(qv_way_name(QV_WAY_CRYSTAL), "crystal");
	qv_net_open(0, &(struct qv_exchange_spec){.ranks = 3, .most = 8192});
	assert_int_equal(qv_exchange_start(qv_net_rank(0, 0), &large, 1), QV_EMSGSIZE);
	assert_int_equal(qv_exchange_start(qv_net_rank(0, 0), &item, 1), QV_EINVAL);
	qv_exchange_done(qv_net_rank(0, 0), 7, 0, QV_OK); /* there is no such message */
	qv_net_close(0);
	qv_exchange_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delivery),   cmocka_unit_test(test_long),
		cmocka_unit_test(test_several),    cmocka_unit_test(test_counts),
		cmocka_unit_test(test_topologies), cmocka_unit_test(test_failures),
		cmocka_unit_test(test_bad_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
