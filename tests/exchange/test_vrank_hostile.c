/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vrank_hostile.c - vranks beside a rank that says what makes no sense, and over a network
 * that changes what it carries: nothing is taken that was not sent so, and the rest goes on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/exchange/vrank/vrank.h"

#include "packet_net.h"

#define RANKS  4
#define VRANKS 10
#define STATE  1000

static struct qv_vranks *vranks[RANKS];
static struct qv_stream *rogue; /* rank 1, of two */
static uint32_t numbers_of_ranks[RANKS] = {0, 1, 2, 3}, ranks;
static unsigned int came, arrived;

static int net_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return qv_packet_send(*(uint32_t *)port, id, peer, buf, bytes);
}

static void come(void *port, const struct qv_vrank_item *item)
{
	assert_in_range(item->to, 0, VRANKS - 1);
	assert_in_range(item->from, 0, VRANKS - 1);
	came += item->bytes ? ((const uint8_t *)item->data)[item->bytes - 1] < 255 : 1;
}

static int go(void *port, uint32_t vrank, struct qv_vrank_state *state)
{
	char bytes[700];

	memset(bytes, (int)vrank, sizeof(bytes));
	return qv_vrank_add(state, bytes, sizeof(bytes));
}

static int arrive(void *port, uint32_t vrank, const void *state, size_t bytes)
{
	assert_in_range(bytes, 0, STATE);
	arrived += bytes ? ((const uint8_t *)state)[bytes - 1] < 255 : 1;
	return QV_OK;
}

static const struct qv_vranks_calls calls = {net_send, come, go, arrive};

static void open_ranks(uint32_t n, uint32_t real)
{
	struct qv_vranks_spec spec = {
		.stream = {.way = QV_WAY_DIRECT, .ranks = n, .limit = 256, .items = 10},
		.vranks = VRANKS,
		.state = STATE};

	ranks = real;
	came = arrived = 0;
	for (spec.stream.rank = 0; spec.stream.rank < real; spec.stream.rank++)
		assert_int_equal(qv_vranks_create(&spec, &calls,
						  &numbers_of_ranks[spec.stream.rank],
						  &vranks[spec.stream.rank]),
				 QV_OK);
}

static void close_ranks(void)
{
	for (uint32_t r = 0; r < ranks; r++)
		qv_vranks_free(vranks[r]);
	qv_packet_clear();
}

/* A rogue. */

static void hear(void *port, uint32_t from, const void *envelope, size_t n, const void *data,
		 size_t bytes)
{
	struct qv_vrank_envelope *last = port;

	assert_int_equal(n, sizeof(*last));
	memcpy(last, envelope, n);
}

static struct qv_vrank_envelope heard;

static int rogue_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return qv_packet_send(1, id, peer, buf, bytes);
}

static void open_rogue(void)
{
	static const struct qv_stream_calls stream_calls = {.send = rogue_send, .packed = hear};
	const struct qv_stream_spec spec = {.way = QV_WAY_DIRECT,
					    .ranks = 2,
					    .rank = 1,
					    .limit = 256,
					    .items = 10,
					    .envelope = 100};

	open_ranks(2, 1);
	assert_int_equal(qv_stream_create(&spec, &stream_calls, &heard, &rogue), QV_OK);
}

static int delivered;

static void take(const struct qv_packet *p)
{
	if (p->to) {
		qv_vranks_done(vranks[0], p->id, QV_OK);
		assert_int_equal(qv_stream_deliver(rogue, 0, p->data, p->bytes, 0), QV_OK);
		return;
	}
	qv_stream_done(rogue, p->id, QV_OK);
	delivered = qv_vranks_deliver(vranks[0], 1, p->data, p->bytes, 0);
}

/* Until nothing is under way. */
static void settle(void)
{
	for (int turns = 0; turns < 200; turns++) {
		qv_stream_flush(rogue);
		qv_vranks_flush(vranks[0]);
		qv_packet_deliver(take);
	}
	assert_null(qv_packet_first());
}

struct say {
	uint8_t kind, fences;
	uint16_t zero;
	uint8_t numbers[24]; /* below 128: a byte each */
	size_t n;
	int right;
};

static int say(const struct say *s)
{
	const struct qv_vrank_envelope e = {s->kind, s->fences, s->zero, 7};

	delivered = 77;
	assert_int_equal(qv_stream_pack(rogue, 0, &e, sizeof(e), s->numbers, s->n, 0), QV_OK);
	settle();
	return delivered;
}

static void sense_and_nonsense(void **unused)
{
	/* Vranks 0 to 4 have their home here, the others at the rogue. */
	static const struct say says[] = {
		{QV_VRANK_HOME, 0, 0, {1, 5, 66}, 3, 1},
		{QV_VRANK_HOME, 0, 0, {1, 1}, 2, 1}, /* who has sent it, its home knows */
		{QV_VRANK_SOURCE, 0, 0, {1, 2}, 2, 1},
		{QV_VRANK_HOME, 0, 0, {1}, 1, 0},
		{QV_VRANK_HOME, 0, 0, {0}, 0, 0},
		{QV_VRANK_HOME, 0, 0, {10, 5}, 2, 0},
		{QV_VRANK_HOME, 0, 0, {1, 10}, 2, 0},
		{QV_VRANK_HOME, 0, 0, {5, 5}, 2, 0},
		{QV_VRANK_HOME, 1, 0, {1, 5}, 2, 0},
		{QV_VRANK_HOME, 255, 0, {1, 5}, 2, 0},
		{QV_VRANK_HOME, 0, 1, {1, 5}, 2, 0},
		{QV_VRANK_SOURCE, 0, 0, {1, 5}, 2, 0},
		{QV_VRANK_LAST, 0, 0, {1, 5}, 2, 0},
		{QV_VRANK_LAST, 0, 0, {5, 5}, 2, 0},
		{QV_VRANK_MANY, 0, 0, {5, 0}, 2, 0},
		{QV_VRANK_MANY, 0, 0, {5, 2, 1}, 3, 0},
		{QV_VRANK_MANY, 0, 0, {5, 2, 1, 5}, 4, 0},
		{QV_VRANK_MANY, 0, 0, {10, 1, 1}, 3, 0},
		{QV_VRANK_MANY, 0, 0, {5, 120, 1}, 3, 0},
		{QV_VRANK_SPREAD, 0, 0, {0, 5, 1, 1}, 4, 0},
		{QV_VRANK_SPREAD, 0, 0, {0, 1, 1, 10}, 4, 0},
		{QV_VRANK_SPREAD, 0, 0, {QV_N_SECTIONS, 1, 1, 2, 9}, 5, 0},
		{QV_VRANK_MANY, 0, 0, {5, 1, 1}, 3, 1},
		{QV_VRANK_SPREAD, 0, 0, {QV_SECTION_RING, 1, 1, 2, 9}, 5, 1},
		{QV_VRANK_LEAVE, 0, 0, {1, 1}, 2, 0},
		{QV_VRANK_LEAVE, 0, 0, {5, 1}, 2, 0},
		{QV_VRANK_LEAVE, 0, 0, {1, 2}, 2, 0},
		{QV_VRANK_CLOSED, 0, 0, {1}, 1, 0},
		{QV_VRANK_CLOSED, 0, 0, {5}, 1, 0},
		{QV_VRANK_STATE, 0, 0, {1, 0, 1, 0, 9}, 5, 0},
		{QV_VRANK_STATE, 0, 0, {5, 1, 1, 0, 9}, 5, 0},
		{QV_VRANK_STATE, 0, 0, {5, 0, 1, 1}, 4, 0},
		{QV_VRANK_STATE, 0, 0, {5, 0, 1, 0, 9, 9}, 6, 0},
		{QV_VRANK_STATE, 0, 0, {5, 0, 0xff, 0x7f, 0, 9}, 6, 0},
		{QV_VRANK_STATE, 0, 0, {5, 0, 2, 1, 9}, 5, 0},
		{QV_VRANK_REPORT, 0, 0, {1, 0, 0}, 3, 0},
		{QV_VRANK_ASK, 0, 0, {1}, 1, 0},
		{QV_VRANK_QUIET, 0, 0, {0}, 0, 0},
		{QV_VRANK_AWAY, 0, 0, {1, 1}, 2, 0},
		{QV_VRANK_HOMES, 0, 0, {1, 1, 1}, 3, 0},
		{QV_VRANK_KINDS, 0, 0, {1, 1, 1}, 3, 0},
	};
	struct qv_vranks_stats s;
	uint64_t refused = 0, right = 0;

	open_rogue();
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		assert_int_equal(say(&says[i]), says[i].right ? QV_OK : QV_EPROTO);
		right += says[i].right != 0;
		refused += !says[i].right;
		qv_vranks_stats(vranks[0], &s);
		assert_int_equal(s.refused, refused);
		assert_int_equal(s.delivered, right);
		assert_int_equal(came, right);
	}
	assert_int_equal(qv_stream_pack(rogue, 0, "123456789", 9, "\1\5", 2, 0), QV_OK);
	settle();
	assert_int_equal(delivered, QV_EPROTO);
	for (uint32_t e = 0; e < VRANKS; e++)
		assert_int_equal(qv_vranks_here(vranks[0], e), e < 5);
	/* One comes in two pieces, of which the second changes its mind about the length. */
	assert_int_equal(say(&(struct say){QV_VRANK_STATE, 0, 0, {5, 0, 3, 0, 9}, 5, 1}), QV_OK);
	assert_int_equal(say(&(struct say){QV_VRANK_STATE, 0, 0, {5, 0, 100, 1, 9, 9, 9}, 7, 0}),
			 QV_EPROTO);
	assert_int_equal(say(&(struct say){QV_VRANK_STATE, 0, 0, {5, 0, 3, 1, 9, 9}, 6, 1}), QV_OK);
	assert_int_equal(arrived, 1);
	assert_int_equal(qv_vranks_here(vranks[0], 5), 1);
	assert_int_equal(say(&(struct say){QV_VRANK_LAST, 0, 0, {5, 1}, 2, 1}), QV_OK);
	qv_stream_free(rogue);
	close_ranks();
}

/* What comes by ring says itself who sent it: an item for vranks, and nothing else. */
static int say_by_ring(const struct say *s)
{
	const struct qv_vrank_envelope e = {s->kind, s->fences, s->zero, 7};
	const struct qv_stream_item item = {.from = 1,
					    .bytes = s->n,
					    .data = (const char *)s->numbers,
					    .envelope_bytes = sizeof(e),
					    .envelope = (const char *)&e};
	struct qv_stream_receiver to = {.to = 0};

	delivered = 77;
	assert_int_equal(qv_stream_take_many(rogue, &item, QV_SECTION_RING, &to, 1, 0), QV_OK);
	settle();
	return delivered;
}

static void by_ring(void **unused)
{
	static const struct say says[] = {
		{QV_VRANK_HOME, 0, 0, {1, 5, 66}, 3, 0},
		{QV_VRANK_SOURCE, 0, 0, {1, 2}, 2, 0},
		{QV_VRANK_STATE, 0, 0, {5, 0, 1, 0, 9}, 5, 0},
		{QV_VRANK_MANY, 0, 0, {5, 1, 1}, 3, 1},
	};

	open_rogue();
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		assert_int_equal(say_by_ring(&says[i]), says[i].right ? QV_OK : QV_EPROTO);
	assert_int_equal(came, 1);
	assert_int_equal(arrived, 0);
	qv_stream_free(rogue);
	close_ranks();
}

/* As many came as were sent, by chance: something has been sent on meanwhile, so all are asked
 * again. */
static void one_round_is_not_enough(void **unused)
{
	open_rogue();
	assert_int_equal(qv_vranks_fence(vranks[0], 0), QV_EAGAIN);
	settle();
	for (uint8_t round = 0; round < 4; round++) {
		const struct say report = {QV_VRANK_REPORT, 0, 0, {round, round, round}, 3, 1};

		assert_int_equal(say(&report), QV_OK);
		assert_int_equal(heard.kind, QV_VRANK_ASK);
		assert_int_equal(say(&report), QV_EPROTO); /* once */
	}
	assert_int_equal(say(&(struct say){QV_VRANK_REPORT, 0, 0, {4, 3, 3}, 3, 1}), QV_OK);
	assert_int_equal(heard.kind, QV_VRANK_QUIET);
	assert_int_equal(say(&(struct say){QV_VRANK_AWAY, 0, 0, {1, 11}, 2, 0}), QV_EPROTO);
	assert_int_equal(say(&(struct say){QV_VRANK_AWAY, 0, 0, {1}, 1, 1}), QV_OK);
	assert_int_equal(heard.kind, QV_VRANK_HOMES);
	assert_int_equal(qv_vranks_fence(vranks[0], 0), QV_OK);
	qv_stream_free(rogue);
	close_ranks();
}

/* A network that changes what it carries. */

static uint32_t draw(uint32_t n)
{
	return (uint32_t)qv_packet_draw(n);
}

static unsigned int changed;

static void take_changed(const struct qv_packet *p)
{
	const size_t bytes = draw(20) ? p->bytes : draw((uint32_t)p->bytes + 1);
	char *copy = malloc(bytes + 1); /* nothing behind it is looked at */

	memcpy(copy, p->data, bytes);
	if (bytes && !draw(3))
		copy[draw((uint32_t)bytes)] ^= (char)(1 << draw(8));
	qv_vranks_done(vranks[p->from], p->id, QV_OK);
	changed += qv_vranks_deliver(vranks[p->to], p->from, copy, bytes, 0) == QV_EPROTO;
	free(copy);
}

static void one_change(void)
{
	for (int i = 0; i < 100; i++) {
		const uint32_t r = draw(RANKS), e = draw(VRANKS);
		const struct qv_vrank_item item = {draw(VRANKS), e, draw(3), "abcdef", draw(7)};

		if (!draw(40))
			qv_vranks_fence(vranks[r], 0);
		if (qv_vranks_here(vranks[r], e) && draw(6))
			qv_vranks_insert(vranks[r], &item, 0);
		else if (qv_vranks_here(vranks[r], e))
			qv_vranks_move(vranks[r], e, draw(RANKS), 0);
		qv_vranks_flush(vranks[draw(RANKS)]);
		for (uint32_t n = draw(4); n; n--)
			qv_packet_deliver(take_changed);
	}
}

static void changes(void **unused)
{
	for (int i = 0; i < 400; i++) {
		open_ranks(RANKS, RANKS);
		one_change();
		close_ranks();
	}
	assert_in_range(changed, 1000, 1000000);
}

static void bad_arguments(void **unused)
{
	const uint32_t far[] = {0, 0, 2}, homes[] = {0, 1, 1};
	const struct qv_stream_spec stream = {.way = QV_WAY_DIRECT, .ranks = 2};
	const struct qv_vranks_spec good = {.stream = stream, .vranks = 3, .homes = homes};
	struct qv_vranks_spec bad[] = {good, good, good, good, good};
	const struct qv_vranks_calls none = {net_send, come, go, NULL};
	struct qv_vrank_item item = {1, 0, 0, NULL, 0};
	struct qv_vranks *v = NULL;

	bad[0].vranks = 0;
	bad[1].homes = far;
	bad[2].stream.rank = 2;
	bad[3].stream.limit = 255;
	bad[4].stream.way = QV_WAY_CRYSTAL;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(qv_vranks_create(&bad[i], &calls, NULL, &v), QV_EINVAL);
	assert_int_equal(qv_vranks_create(&good, &none, NULL, &v), QV_EINVAL);
	assert_null(v);
	assert_int_equal(qv_vranks_create(&good, &calls, &numbers_of_ranks[0], &v), QV_OK);
	assert_int_equal(qv_vranks_home(v, 2), 1);
	assert_int_equal(qv_vranks_home(v, 3), UINT32_MAX);
	assert_int_equal(qv_vranks_here(v, 3), 0);
	assert_int_equal(qv_vranks_move(v, 0, 2, 0), QV_EINVAL);
	assert_int_equal(qv_vranks_move(v, 1, 0, 0), QV_EINVAL); /* it is not here */
	assert_int_equal(qv_vranks_move(v, 0, 0, 0), QV_OK);
	item.bytes = 1;
	assert_int_equal(qv_vranks_insert(v, &item, 0), QV_EINVAL);
	item.data = "";
	item.bytes = qv_vranks_longest(v) + 1;
	assert_int_equal(qv_vranks_insert(v, &item, 0), QV_EMSGSIZE);
	item = (struct qv_vrank_item){3, 0, 0, NULL, 0};
	assert_int_equal(qv_vranks_insert(v, &item, 0), QV_EINVAL);
	item = (struct qv_vrank_item){0, 1, 0, NULL, 0};
	assert_int_equal(qv_vranks_insert(v, &item, 0), QV_EINVAL);
	assert_int_equal(qv_vranks_fence(v, 0), QV_EAGAIN);
	item = (struct qv_vrank_item){0, 0, 0, NULL, 0};
	assert_int_equal(qv_vranks_insert(v, &item, 0), QV_EAGAIN);
	assert_int_equal(qv_vranks_move(v, 0, 1, 0), QV_EAGAIN);
	qv_vranks_free(v);
	qv_vranks_free(NULL);
	qv_packet_clear();
}

/* A vrank that says no, or takes too much along, ends all. */
static int too_much(void *port, uint32_t vrank, struct qv_vrank_state *state)
{
	static const char bytes[STATE + 1];

	if (vrank)
		return QV_EIO;
	assert_int_equal(qv_vrank_add(state, bytes, sizeof(bytes)), QV_EMSGSIZE);
	return QV_OK;
}

static void failures(void **unused)
{
	const struct qv_vranks_calls fail = {net_send, come, too_much, arrive};
	const struct qv_vranks_spec spec = {
		.stream = {.way = QV_WAY_DIRECT, .ranks = 2}, .vranks = 4, .state = STATE};
	const struct qv_vrank_item item = {3, 0, 0, NULL, 0};

	for (uint32_t e = 0; e < 2; e++) {
		const int rc = e ? QV_EIO : QV_ECANCELED;
		struct qv_vranks *v;

		assert_int_equal(qv_vranks_create(&spec, &fail, &numbers_of_ranks[0], &v), QV_OK);
		assert_int_equal(qv_vranks_move(v, e, 1, 0), rc);
		assert_int_equal(qv_vranks_insert(v, &item, 0), e ? rc : QV_EINVAL);
		assert_int_equal(qv_vranks_progress(v, 0), rc);
		assert_int_equal(qv_vranks_fence(v, 0), rc);
		qv_vranks_free(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sense_and_nonsense),      cmocka_unit_test(by_ring),
		cmocka_unit_test(one_round_is_not_enough), cmocka_unit_test(changes),
		cmocka_unit_test(bad_arguments),           cmocka_unit_test(failures)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
