/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unit.c - combine units on random trees: reductions back to back, each with a root of its
 * own, over links that are late as they like. The root of each gets one result, the right one, and
 * every other leaf gets it once by multicast.
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

#include <quiver/unit.h>

#define PLACES     48
#define REDUCTIONS 40
#define COUNT      3
#define WAITING    4096

struct packet {
	struct packet *next;
	uint32_t number;
	bool multicast;
	int64_t data[COUNT];
};

/* To a place, over its port; packets stay in order. */
struct link {
	uint32_t peer;      /* at the other end */
	unsigned int there; /* its port */
	bool used;
	struct packet *first, **last;
};

/* A place with one link is a leaf. */
struct place {
	struct link links[64];
	uint64_t ports;
	struct qv_unit *unit;
	uint32_t next; /* reduction of a leaf that it has not begun */
	unsigned int got[REDUCTIONS];
};

/* Left a unit, and is still read there. */
struct leaving {
	uint32_t place, number;
	struct qv_unit_out out;
};

static struct place places[PLACES];
static uint32_t places_n, roots[REDUCTIONS];
static struct leaving leaving[WAITING];
static size_t leaving_n;
static enum qv_op op;
static const struct qv_combine *combine;
static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (state >> 20) % n;
}

static bool is_leaf(uint32_t p)
{
	return !(places[p].ports & (places[p].ports - 1));
}

/* The tree. */

static unsigned int new_port(uint32_t p)
{
	unsigned int port;

	do
		port = (unsigned int)draw(64);
	while (places[p].links[port].used);
	places[p].ports |= UINT64_C(1) << port;
	places[p].links[port].used = true;
	places[p].links[port].last = &places[p].links[port].first;
	return port;
}

static void join(uint32_t a, uint32_t b)
{
	const unsigned int at_a = new_port(a), at_b = new_port(b);

	places[a].links[at_a].peer = b;
	places[a].links[at_a].there = at_b;
	places[b].links[at_b].peer = a;
	places[b].links[at_b].there = at_a;
}

static void open_units(uint32_t at_once)
{
	for (uint32_t p = 0; p < places_n; p++) {
		const struct qv_unit_spec spec = {.ports = places[p].ports,
						  .at_once = at_once,
						  .op = op,
						  .type = QV_TYPE_INT64,
						  .count = COUNT};

		if (!is_leaf(p))
			assert_int_equal(qv_unit_create(combine, &spec, &places[p].unit), QV_OK);
	}
}

/* Each place is joined to an earlier one, to the last with this share of a hundred. */
static void open_tree(uint32_t n, uint32_t line, uint32_t at_once)
{
	memset(places, 0, sizeof(places));
	places_n = n;
	leaving_n = 0;
	for (uint32_t p = 1; p < n; p++)
		join(p, draw(100) < line ? p - 1 : (uint32_t)draw(p));
	open_units(at_once);
}

static void close_tree(void)
{
	for (uint32_t p = 0; p < places_n; p++) {
		for (unsigned int port = 0; port < 64; port++)
			while (places[p].links[port].first) {
				struct packet *packet = places[p].links[port].first;

				places[p].links[port].first = packet->next;
				free(packet);
			}
		qv_unit_free(places[p].unit);
	}
}

/* What is reduced. */

static int64_t operand(uint32_t leaf, uint32_t number, uint32_t i)
{
	return (int64_t)(leaf * 1000003u + number * 7919u + i * 31u) - (1 << 24);
}

static void check(uint32_t root, uint32_t number, const int64_t *data)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		int64_t want = op == QV_OP_MIN ? INT64_MAX : 0;

		for (uint32_t p = 0; p < places_n; p++) {
			const int64_t one = operand(p, number, i);

			if (!is_leaf(p) || p == root)
				continue;
			if (op == QV_OP_SUM)
				want += one;
			else if (op == QV_OP_BXOR)
				want ^= one;
			else
				want = one < want ? one : want;
		}
		assert_true(data[i] == want);
	}
}

/* What moves. */

static void put(uint32_t from, unsigned int port, uint32_t number, bool multicast,
		const int64_t *data)
{
	const struct link *here = &places[from].links[port];
	struct link *to = &places[here->peer].links[here->there];
	struct packet *packet = calloc(1, sizeof(*packet));

	packet->number = number;
	packet->multicast = multicast;
	memcpy(packet->data, data, sizeof(packet->data));
	*to->last = packet;
	to->last = &packet->next;
}

/* A leaf begins its next reduction. */
static void begin(uint32_t p)
{
	const uint32_t number = places[p].next++;
	int64_t data[COUNT];

	for (uint32_t i = 0; i < COUNT; i++)
		data[i] = operand(p, number, i);
	if (roots[number] != p)
		put(p, (unsigned int)__builtin_ctzll(places[p].ports), number, false, data);
}

static int at_leaf(uint32_t p, const struct packet *packet)
{
	check(roots[packet->number], packet->number, packet->data);
	assert_true(packet->multicast == (roots[packet->number] != p));
	assert_int_equal(places[p].got[packet->number]++, 0);
	if (!packet->multicast)
		put(p, (unsigned int)__builtin_ctzll(places[p].ports), packet->number, true,
		    packet->data);
	return QV_OK;
}

static int at_unit(uint32_t p, unsigned int port, const struct packet *packet)
{
	struct leaving l = {p, packet->number, {0}};
	uint64_t ports;
	int rc;

	if (packet->multicast) {
		assert_int_equal(qv_unit_multicast(places[p].unit, port, &ports), QV_OK);
		for (; ports; ports &= ports - 1)
			put(p, (unsigned int)__builtin_ctzll(ports), packet->number, true,
			    packet->data);
		return QV_OK;
	}
	rc = qv_unit_reduce(places[p].unit, port, packet->number, packet->data, &l.out);
	if (!rc && l.out.port >= 0)
		leaving[leaving_n++] = l;
	return rc;
}

/* The first packet over some link of a place, if there is one and it is taken. */
static int arrive(uint32_t p)
{
	const unsigned int first = (unsigned int)draw(64);
	int rc;

	for (unsigned int i = 0; i < 64; i++) {
		const unsigned int port = (first + i) % 64;
		struct link *link = &places[p].links[port];
		struct packet *packet = link->first;

		if (!packet)
			continue;
		rc = is_leaf(p) ? at_leaf(p, packet) : at_unit(p, port, packet);
		if (rc == QV_EAGAIN)
			continue;
		link->first = packet->next;
		if (!link->first)
			link->last = &link->first;
		free(packet);
		return rc;
	}
	return QV_EAGAIN;
}

static void send_one(void)
{
	const size_t i = (size_t)draw(leaving_n);
	const struct leaving l = leaving[i];

	leaving[i] = leaving[--leaving_n];
	put(l.place, (unsigned int)l.out.port, l.number, false, l.out.data);
	assert_int_equal(qv_unit_sent(places[l.place].unit, l.number), QV_OK);
}

/* Everything that can move does, in any order, until nothing can. */
static int run(void)
{
	for (unsigned int idle = 0; idle < 3000; idle++) {
		const uint32_t p = (uint32_t)draw(places_n);
		int rc;

		if (is_leaf(p) && places[p].next < REDUCTIONS && !draw(3))
			begin(p), idle = 0;
		if (leaving_n && !draw(2))
			send_one(), idle = 0;
		rc = arrive(p);
		if (rc && rc != QV_EAGAIN)
			return rc;
		idle = rc ? idle : 0;
	}
	return QV_OK;
}

/* What must hold. */

static uint32_t a_leaf(void)
{
	uint32_t p;

	do
		p = (uint32_t)draw(places_n);
	while (!is_leaf(p));
	return p;
}

static void random_trees(void **unused)
{
	static const enum qv_op ops[] = {QV_OP_SUM, QV_OP_BXOR, QV_OP_MIN};

	for (uint32_t tree = 0; tree < 150; tree++) {
		op = ops[tree % 3];
		open_tree(3 + (uint32_t)draw(PLACES - 2), (uint32_t)draw(101), 1u << draw(4));
		for (uint32_t i = 0; i < REDUCTIONS; i++)
			roots[i] = i && tree % 2 ? roots[0] : a_leaf();
		assert_int_equal(run(), QV_OK);
		for (uint32_t p = 0; p < places_n; p++)
			for (uint32_t i = 0; i < REDUCTIONS && is_leaf(p); i++)
				assert_int_equal(places[p].got[i], 1);
		assert_int_equal(leaving_n, 0);
		close_tree();
	}
}

/* Without a root two places send their results to each other. */
static void no_root(void **unused)
{
	for (uint32_t tree = 0; tree < 100; tree++) {
		int rc = QV_OK;

		op = QV_OP_SUM;
		open_tree(4 + (uint32_t)draw(20), 30, 2);
		for (uint32_t i = 0; i < REDUCTIONS; i++)
			roots[i] = UINT32_MAX;
		for (uint32_t p = 0; p < places_n; p++)
			if (is_leaf(p))
				begin(p);
		for (uint32_t turns = 0; rc != QV_EPROTO; turns++) { /* leaves only give */
			const uint32_t p = (uint32_t)draw(places_n);

			rc = is_leaf(p) ? QV_EAGAIN : arrive(p);
			if (leaving_n)
				send_one();
			assert_true(!rc || rc == QV_EAGAIN || rc == QV_EPROTO);
			assert_in_range(turns, 0, 100000);
		}
		close_tree();
	}
}

static void refuses(void **unused)
{
	const struct qv_unit_spec good = {
		.ports = 0x15, .at_once = 2, .op = QV_OP_SUM, .type = QV_TYPE_INT32, .count = 4};
	const struct qv_unit_spec bad[] = {
		{.ports = 0x10, .at_once = 2, .op = QV_OP_SUM, .type = QV_TYPE_INT32, .count = 4},
		{.ports = 0x15, .at_once = 3, .op = QV_OP_SUM, .type = QV_TYPE_INT32, .count = 4},
		{.ports = 0x15, .at_once = 128, .op = QV_OP_SUM, .type = QV_TYPE_INT32, .count = 4},
		{.ports = 0x15, .at_once = 2, .op = QV_OP_BXOR, .type = QV_TYPE_FLOAT, .count = 4},
		{.ports = 0x15, .at_once = 2, .op = QV_OP_SUM, .type = QV_N_TYPES, .count = 4},
		{.ports = 0x15, .at_once = 2, .op = QV_OP_SUM, .type = QV_TYPE_INT32, .count = 0},
		{.ports = 0x15,
		 .at_once = 2,
		 .op = QV_OP_SUM,
		 .type = QV_TYPE_INT32,
		 .count = SIZE_MAX / 4},
	};
	static const int32_t data[4] = {1, 2, 3, 4}, want[4] = {2, 4, 6, 8};
	struct qv_unit_out out = {77, NULL};
	struct qv_unit *u = NULL;
	uint64_t ports = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(qv_unit_create(combine, &bad[i], &u), QV_EINVAL);
	assert_null(u);
	assert_int_equal(qv_unit_create(combine, &good, &u), QV_OK);
	assert_int_equal(qv_unit_reduce(u, 1, 0, data, &out), QV_EPROTO);
	assert_int_equal(qv_unit_reduce(u, 64, 0, data, &out), QV_EPROTO);
	assert_int_equal(qv_unit_reduce(u, 0, UINT32_MAX, data, &out), QV_EPROTO);
	assert_int_equal(qv_unit_reduce(u, 0, 2, data, &out), QV_EAGAIN);
	assert_int_equal(out.port, 77);
	assert_int_equal(qv_unit_sent(u, 0), QV_EINVAL);
	assert_int_equal(qv_unit_reduce(u, 0, 0, data, &out), QV_OK);
	assert_int_equal(out.port, -1);
	assert_int_equal(qv_unit_reduce(u, 0, 0, data, &out), QV_EPROTO); /* twice */
	assert_int_equal(qv_unit_reduce(u, 4, 0, data, &out), QV_OK);
	assert_int_equal(out.port, 2);
	assert_memory_equal(out.data, want, sizeof(want));
	assert_int_equal(qv_unit_reduce(u, 2, 0, data, &out), QV_EPROTO); /* nobody is root */
	assert_memory_equal(out.data, want, sizeof(want));
	assert_int_equal(qv_unit_reduce(u, 2, 2, data, &out), QV_EAGAIN);
	assert_int_equal(qv_unit_sent(u, 0), QV_OK);
	assert_int_equal(qv_unit_sent(u, 0), QV_EINVAL);
	assert_int_equal(qv_unit_reduce(u, 2, 0, data, &out), QV_EPROTO); /* over */
	assert_int_equal(qv_unit_reduce(u, 2, 2, data, &out), QV_OK);
	assert_int_equal(qv_unit_multicast(u, 1, &ports), QV_EPROTO);
	assert_int_equal(qv_unit_multicast(u, 2, &ports), QV_OK);
	assert_int_equal(ports, 0x11);
	qv_unit_free(u);
	qv_unit_free(NULL);
}

static void larger(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const unsigned char *x = a, *y = b;

	for (size_t i = 0; i < count; i++)
		((unsigned char *)dst)[i] = x[i] > y[i] ? x[i] : y[i];
	*(size_t *)context += count;
}

/* An operation of the caller's, and operands that are shorter than others. */
static void own_operation(void **unused)
{
	size_t combined = 0;
	struct qv_unit_spec spec = {.size = sizeof(spec),
				    .ports = 7,
				    .count = 3,
				    .reduce = larger,
				    .context = &combined};
	struct qv_unit_out out;
	struct qv_unit *u = NULL;

	assert_int_equal(qv_unit_create(NULL, &spec, &u), QV_EINVAL); /* of no bytes */
	spec.item = 1;
	assert_int_equal(qv_unit_create(NULL, &spec, &u), QV_OK);
	assert_int_equal(qv_unit_reduce(u, 0, 0, "abc", &out), QV_OK);
	assert_int_equal(qv_unit_reduce_part(u, 0, 1, "", 0, &out), QV_EINVAL);
	assert_int_equal(qv_unit_reduce_part(u, 0, 1, "1234", 4, &out), QV_EINVAL);
	assert_int_equal(qv_unit_reduce_part(u, 0, 1, "5", 1, &out), QV_OK);
	assert_int_equal(qv_unit_reduce(u, 1, 0, "bab", &out), QV_OK);
	assert_memory_equal(out.data, "bbc", 3);
	assert_int_equal(qv_unit_reduce_part(u, 1, 1, "7", 1, &out), QV_OK);
	assert_memory_equal(out.data, "7", 1);
	assert_int_equal(combined, 3 + 1);
	qv_unit_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_trees),
					   cmocka_unit_test(no_root), cmocka_unit_test(refuses),
					   cmocka_unit_test(own_operation)};

	if (qv_combine_open(QV_ISA_AUTO, &combine))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
