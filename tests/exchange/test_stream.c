/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stream.c - streams of a whole group in one process, over a network that is late and busy as
 * it likes but keeps the messages of a pair in order: all items come, once and in order; messages
 * are as few as they should be; nothing is believed of what comes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/stream.h>

#define RANKS 100
#define NEVER UINT64_MAX

struct packet {
	struct packet *next;
	uint32_t from, to, id;
	size_t bytes;
	char *data;
};

struct member {
	struct qv_stream *stream;
	uint32_t sent[RANKS], got[RANKS]; /* items, to and from each rank */
};

static struct member members[RANKS];
static uint32_t group;
static struct packet *first, **last = &first;
static bool busy, dead, spoiled;
static uint64_t rng = 88172645463325252u, now;

static uint64_t draw(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % n;
}

/* What the i-th item from one rank to another is: so long, of these bytes. */
static size_t item_of(uint32_t from, uint32_t to, uint32_t i, char *data, size_t longest)
{
	const size_t bytes = (from * 7 + to * 13 + (size_t)i * 31) % (longest + 1);

	for (size_t k = 0; k < bytes; k++)
		data[k] = (char)(from + 3 * to + 5 * i + k);
	return bytes;
}

static size_t longest_item;

static void come(void *port, uint32_t from, const void *data, size_t bytes)
{
	const uint32_t to = (uint32_t)((struct member *)port - members);
	char expected[4096];
	struct member *m = port;

	if (spoiled)
		return;
	assert_in_range(from, 0, group - 1);
	assert_int_equal(bytes, item_of(from, to, m->got[from], expected, longest_item));
	assert_memory_equal(data, expected, bytes);
	m->got[from]++;
}

static int net_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	struct packet *p;

	if (dead)
		return QV_EPEER;
	if (busy || !draw(5))
		return QV_EAGAIN;
	p = calloc(1, sizeof(*p));
	*p = (struct packet){
		NULL, (uint32_t)((struct member *)port - members), peer, id, bytes, malloc(bytes)};
	memcpy(p->data, buf, bytes);
	*last = p;
	last = &p->next;
	return QV_OK;
}

static void open_group(struct qv_stream_spec spec, size_t longest)
{
	static const struct qv_stream_calls calls = {net_send, come};

	group = spec.ranks;
	longest_item = longest;
	for (spec.rank = 0; spec.rank < group; spec.rank++) {
		memset(&members[spec.rank], 0, sizeof(members[0]));
		assert_int_equal(qv_stream_create(&spec, &calls, &members[spec.rank],
						  &members[spec.rank].stream),
				 QV_OK);
	}
}

static void close_group(void)
{
	for (uint32_t r = 0; r < group; r++)
		qv_stream_free(members[r].stream);
	while (first) {
		struct packet *p = first;

		first = p->next;
		free(p->data);
		free(p);
	}
	last = &first;
}

static struct qv_stream_stats sum(void)
{
	struct qv_stream_stats all = {0}, s;

	for (uint32_t r = 0; r < group; r++) {
		qv_stream_stats(members[r].stream, &s);
		all.inserted += s.inserted;
		all.delivered += s.delivered;
		all.forwarded += s.forwarded;
		all.messages += s.messages;
		all.bytes += s.bytes;
		all.full += s.full;
		all.late += s.late;
		all.flushed += s.flushed;
	}
	return all;
}

/* Whether an earlier packet of the pair is still under way. */
static bool is_overtaking(const struct packet *p)
{
	for (const struct packet *q = first; q != p; q = q->next)
		if (q->from == p->from && q->to == p->to)
			return true;
	return false;
}

/* Deliver one packet of those under way, not always the first. */
static void deliver(void)
{
	uint64_t skip = draw(8);

	for (struct packet **at = &first, *p; (p = *at); at = &p->next) {
		if (skip && p->next && skip--)
			continue;
		if (is_overtaking(p))
			continue;
		*at = p->next;
		if (!p->next)
			last = at;
		qv_stream_done(members[p->from].stream, p->id, QV_OK);
		assert_int_equal(
			qv_stream_deliver(members[p->to].stream, p->from, p->data, p->bytes, now),
			QV_OK);
		free(p->data);
		free(p);
		return;
	}
}

static void turn(bool flush)
{
	now += 1000;
	for (uint32_t r = 0; r < group; r++) {
		int rc = flush ? qv_stream_flush(members[r].stream)
			       : qv_stream_progress(members[r].stream, now);

		assert_true(rc == QV_OK || rc == QV_EAGAIN);
	}
	for (uint64_t n = draw(2 * group); n; n--)
		deliver();
}

static void insert(uint32_t from, uint32_t to)
{
	struct member *m = &members[from];
	char data[4096];
	const size_t bytes = item_of(from, to, m->sent[to], data, longest_item);
	int rc;

	while ((rc = qv_stream_insert(m->stream, to, data, bytes, now)) == QV_EAGAIN)
		turn(false);
	assert_int_equal(rc, QV_OK);
	m->sent[to]++;
}

static void finish(bool flush)
{
	struct qv_stream_stats s = sum();

	for (unsigned int n = 0; s.delivered != s.inserted; s = sum()) {
		turn(flush);
		assert_in_range(n++, 0, 100000);
	}
	for (uint32_t from = 0; from < group; from++)
		for (uint32_t to = 0; to < group; to++)
			assert_int_equal(members[to].got[from], members[from].sent[to]);
}

/* ---- what must hold ----------------------------------------------------------------------------
 */
static const enum qv_way ways[] = {QV_WAY_DIRECT, QV_WAY_MESH2, QV_WAY_MESH3, QV_WAY_HYPERCUBE};

static void all_come(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 27, 31, 64, 100};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t w = 0; w < 4; w++) {
			const struct qv_stream_spec spec = {
				.way = ways[w],
				.ranks = sizes[i],
				.items = (uint32_t)draw(40), /* 0: the usual */
				.limit = draw(2) ? 64 + draw(400) : 0,
				.wait_ns = draw(3) ? 1 + draw(20000) : NEVER,
				.window = (uint32_t)draw(4),
			};
			const size_t longest = spec.limit ? spec.limit - 28 : 300;

			open_group(spec, longest);
			assert_true(qv_stream_longest(members[0].stream) >= longest);
			for (uint32_t n = 0; n < 20 * spec.ranks; n++)
				insert((uint32_t)draw(spec.ranks), (uint32_t)draw(spec.ranks));
			finish(spec.wait_ns == NEVER || draw(2));
			close_group();
		}
}

/* Messages for k items from each rank to each other one. */
static uint64_t messages_of(enum qv_way way, uint32_t ranks, uint32_t k, uint32_t items)
{
	const struct qv_stream_spec spec = {
		.way = way, .ranks = ranks, .items = items, .wait_ns = NEVER, .window = 10000};
	struct qv_stream_stats s;

	open_group(spec, 4);
	for (uint32_t n = 0; n < k; n++)
		for (uint32_t from = 0; from < ranks; from++)
			for (uint32_t to = 0; to < ranks; to++)
				if (from != to)
					insert(from, to);
	for (bool more = true; more;) { /* all of the first phase before the second leaves */
		for (uint32_t r = 0; r < ranks; r++)
			qv_stream_flush(members[r].stream);
		more = first;
		while (first)
			deliver();
	}
	finish(true);
	s = sum();
	assert_int_equal(s.messages, s.full + s.late + s.flushed);
	close_group();
	return s.messages;
}

static void as_few_as_can_be(void **state)
{
	assert_int_equal(messages_of(QV_WAY_DIRECT, 2, 1000, 500), 2 * 2);
	assert_int_equal(messages_of(QV_WAY_DIRECT, 2, 1000, 1), 2 * 1000);
	assert_int_equal(messages_of(QV_WAY_DIRECT, 64, 1, 500), 64 * 63);
	/* What a rank inserts for a later phase leaves before what comes to be sent on in it. */
	assert_int_equal(messages_of(QV_WAY_MESH2, 64, 1, 500), 64 * (14 + 7));
	assert_int_equal(messages_of(QV_WAY_MESH3, 64, 1, 500), 64 * (9 + 6 + 3));
	assert_int_equal(messages_of(QV_WAY_HYPERCUBE, 64, 1, 500), 64 * (6 + 5 + 4 + 3 + 2 + 1));
	assert_int_equal(messages_of(QV_WAY_DIRECT, 64, 10, 10), 64 * 63);
}

static void tight(void **state)
{
	const struct qv_stream_spec spec = {.ranks = 2, .items = 500, .way = QV_WAY_DIRECT};
	const uint64_t value = 1;

	open_group(spec, 8);
	spoiled = true;
	for (int i = 0; i < 500; i++)
		assert_int_equal(qv_stream_insert(members[0].stream, 1, &value, 8, 0), QV_OK);
	finish(false);
	assert_int_equal(sum().bytes, 8 + 500 * 9); /* a head, and a byte for each item */
	spoiled = false;
	close_group();
}

static void waits_its_time(void **state)
{
	const struct qv_stream_spec spec = {.ranks = 3, .wait_ns = 500, .way = QV_WAY_DIRECT};

	open_group(spec, 8);
	now = 1000000;
	insert(0, 1);
	now += 300;
	insert(0, 2);
	insert(0, 1);
	assert_int_equal(qv_stream_progress(members[0].stream, 1000499), QV_EAGAIN);
	assert_int_equal(sum().late, 0);
	qv_stream_progress(members[0].stream, 1000500);
	assert_int_equal(sum().late, 1); /* both for rank 1, and not that for 2 */
	qv_stream_progress(members[0].stream, 1000799);
	assert_int_equal(sum().late, 1);
	qv_stream_progress(members[0].stream, 1000800);
	assert_int_equal(sum().late, 2);
	finish(false);
	close_group();
}

static void full_window(void **state)
{
	const struct qv_stream_spec spec = {
		.ranks = 2, .items = 4, .window = 3, .way = QV_WAY_DIRECT, .wait_ns = NEVER};
	char byte[4096];
	unsigned int n = 0;

	open_group(spec, 0);
	busy = true;
	while (qv_stream_insert(members[0].stream, 1, byte, 0, now) == QV_OK)
		assert_in_range(n++, 0, 3 * 4 - 1);
	assert_int_equal(n, 3 * 4);
	members[0].sent[1] = n;
	busy = false;
	insert(0, 1);
	finish(true);
	close_group();
}

static void dead_network(void **state)
{
	const struct qv_stream_spec spec = {.ranks = 2, .items = 1, .way = QV_WAY_DIRECT};

	open_group(spec, 0);
	dead = true;
	qv_stream_insert(members[0].stream, 1, NULL, 0, now);
	assert_int_equal(qv_stream_progress(members[0].stream, now), QV_EPEER);
	assert_int_equal(qv_stream_insert(members[0].stream, 1, NULL, 0, now), QV_EPEER);
	dead = false;
	close_group();
}

/* What comes is changed, cut, or of no sense: then none of it is taken, or it is what it says. */
static void hostile(void **state)
{
	const struct qv_stream_spec spec = {.ranks = 9, .way = QV_WAY_MESH2, .wait_ns = NEVER};
	unsigned int refused = 0;

	spoiled = true;
	for (int i = 0; i < 20000; i++) {
		struct qv_stream_stats before, after;
		struct packet *p;

		open_group(spec, 30);
		while (!first) {
			for (uint32_t to = 1; to < 9; to++)
				insert(0, to);
			qv_stream_flush(members[0].stream);
		}
		p = first;
		if (draw(2))
			p->data[draw(draw(2) ? 8 : p->bytes)] ^= (char)(1 << draw(8));
		if (draw(2))
			p->bytes = draw(p->bytes + 1);
		before = sum();
		if (qv_stream_deliver(members[p->to].stream, (uint32_t)draw(10), p->data, p->bytes,
				      now)) {
			refused++;
			after = sum();
			assert_memory_equal(&before, &after, sizeof(after));
		}
		close_group();
	}
	assert_in_range(refused, 5000, 19999);
	spoiled = false;
}

static void bad_arguments(void **state)
{
	static const struct qv_stream_calls calls = {net_send, come}, none = {NULL, NULL};
	static const struct qv_stream_spec bad[] = {
		{.ranks = 0},
		{.ranks = 4, .rank = 4, .way = QV_WAY_DIRECT},
		{.ranks = 4, .way = QV_WAY_CRYSTAL},
		{.ranks = 4, .way = (enum qv_way)QV_N_WAYS},
		{.ranks = 4, .way = QV_WAY_DIRECT, .limit = 63},
		{.ranks = 4, .way = QV_WAY_DIRECT, .limit = (size_t)1 << 31},
		{.ranks = 4, .way = QV_WAY_DIRECT, .items = 65537},
	};
	const struct qv_stream_spec good = {.ranks = 4, .way = QV_WAY_DIRECT};
	struct qv_stream *s;
	char big[8192];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(qv_stream_create(&bad[i], &calls, NULL, &s), QV_EINVAL);
	assert_int_equal(qv_stream_create(&good, &none, NULL, &s), QV_EINVAL);
	assert_int_equal(qv_stream_create(&good, &calls, members, &s), QV_OK);
	assert_int_equal(qv_stream_insert(s, 4, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_insert(s, 1, NULL, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_insert(s, 1, big, qv_stream_longest(s) + 1, 0), QV_EMSGSIZE);
	assert_int_equal(qv_stream_progress(s, 0), QV_OK);
	qv_stream_done(s, 77, QV_OK); /* no such message: nothing happens */
	qv_stream_free(s);
	qv_stream_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come),    cmocka_unit_test(as_few_as_can_be),
		cmocka_unit_test(tight),       cmocka_unit_test(waits_its_time),
		cmocka_unit_test(full_window), cmocka_unit_test(dead_network),
		cmocka_unit_test(hostile),     cmocka_unit_test(bad_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
