/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sizes.c - specs of programs that were compiled with older or newer headers: fields that they
 * do not have get their defaults, fields that the library does not know must be 0.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/choose.h>
#include <quiver/unit.h>
#include <quiver/vrank.h>

/* A spec, and what a later version may have. */
union spec {
	size_t size;
	struct qv_exchange_spec exchange;
	struct qv_stream_spec stream;
	struct qv_vranks_spec vranks;
	struct qv_unit_spec unit;
	struct qv_neighbor_spec neighbor;
	struct qv_schedule_spec schedule;
	unsigned char bytes[512];
};

static int send_none(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	(void)port, (void)id, (void)peer, (void)buf, (void)bytes;
	return QV_EAGAIN;
}

static void item_none(void *port, uint32_t from, const void *data, size_t bytes)
{
	(void)port, (void)from, (void)data, (void)bytes;
}

static void vrank_item_none(void *port, const struct qv_vrank_item *item)
{
	(void)port, (void)item;
}

static int leave_none(void *port, uint32_t vrank, struct qv_vrank_state *state)
{
	(void)port, (void)vrank, (void)state;
	return QV_OK;
}

static int arrive_none(void *port, uint32_t vrank, const void *state, size_t bytes)
{
	(void)port, (void)vrank, (void)state, (void)bytes;
	return QV_OK;
}

static int make_exchange(const union spec *s)
{
	const struct qv_exchange_port calls = {NULL, NULL};
	struct qv_exchange *made = NULL;
	const int rc = qv_exchange_create(&s->exchange, &calls, NULL, &made);

	qv_exchange_free(made);
	return rc;
}

static int make_stream(const union spec *s)
{
	const struct qv_stream_calls calls = {.send = send_none, .item = item_none};
	struct qv_stream *made = NULL;
	const int rc = qv_stream_create(&s->stream, &calls, NULL, &made);

	qv_stream_free(made);
	return rc;
}

static int make_vranks(const union spec *s)
{
	const struct qv_vranks_calls calls = {send_none, vrank_item_none, leave_none, arrive_none};
	struct qv_vranks *made = NULL;
	const int rc = qv_vranks_create(&s->vranks, &calls, NULL, &made);

	qv_vranks_free(made);
	return rc;
}

static int make_unit(const union spec *s)
{
	const struct qv_combine *combine;
	struct qv_unit *made = NULL;
	int rc;

	assert_int_equal(qv_combine_open(QV_ISA_AUTO, &combine), QV_OK);
	rc = qv_unit_create(combine, &s->unit, &made);
	qv_unit_free(made);
	return rc;
}

static int make_plan(const union spec *s)
{
	struct qv_neighbor_plan *made = NULL;
	const int rc = qv_neighbor_plan(&s->neighbor, &made);

	qv_neighbor_free(made);
	return rc;
}

static int choose_plan(const union spec *s)
{
	const struct qv_network network = {.alpha = 1e-6};
	struct qv_neighbor_plan *made = NULL;
	const int rc =
		qv_choose_neighbor(&network, &s->neighbor, QV_COLL_ALLTOALL, 8, 1, &made, NULL);

	qv_neighbor_free(made);
	return rc;
}

static int make_schedule(const union spec *s)
{
	struct qv_schedule *made = NULL;
	const int rc = qv_schedule_build(&s->schedule, 0, &made);

	qv_schedule_free(made);
	return rc;
}

static int make_all(const union spec *s)
{
	const struct qv_schedule_spec two = {.ranks = 2};
	struct qv_schedule *made[2] = {NULL, NULL}, *others[2];
	const int rc = qv_schedule_build_all(&s->schedule, made);

	/* The check reads a spec, too; it is given schedules of its own. */
	assert_int_equal(qv_schedule_build_all(&two, others), QV_OK);
	assert_int_equal(qv_schedule_check(&s->schedule, others, NULL, 0), rc);
	for (int i = 0; i < 2; i++) {
		qv_schedule_free(made[i]);
		qv_schedule_free(others[i]);
	}
	return rc;
}

/*
 * What is right in all of its fields but those behind `end`, which stand for ones that an older
 * program does not have.
 */
struct kind {
	int (*make)(const union spec *);
	union spec good;
	size_t size; /* today's */
	size_t end;
};

#define KIND(fn, field, last, ...)                                                              \
	{                                                                                       \
		.make = (fn), .good.field = {__VA_ARGS__}, .size = sizeof(kinds[0].good.field), \
		.end = offsetof(__typeof__(kinds[0].good.field), last)                          \
	}

static const uint32_t none[2], *const lists[2];

static const struct kind kinds[] = {
	KIND(make_exchange, exchange, rank, .ranks = 2),
	KIND(make_stream, stream, limit, .ranks = 2, .way = QV_WAY_DIRECT),
	KIND(make_vranks, vranks, homes, .stream = {.ranks = 2, .way = QV_WAY_DIRECT}, .vranks = 2),
	KIND(make_unit, unit, count, .ports = 3, .type = QV_TYPE_INT32, .count = 1),
	KIND(make_plan, neighbor, k, .graph = {2, none, none, lists, lists}),
	KIND(choose_plan, neighbor, k, .graph = {2, none, none, lists, lists}),
	KIND(make_schedule, schedule, root, .ranks = 2),
	KIND(make_all, schedule, root, .ranks = 2),
};

static void one(const struct kind *k)
{
	union spec s = k->good;

	assert_int_equal(k->make(&s), QV_OK);
	s.size = k->size;
	assert_int_equal(k->make(&s), QV_OK);
	/* Newer. */
	s.size = k->size + 8;
	assert_int_equal(k->make(&s), QV_OK);
	s.bytes[k->size + 7] = 1;
	assert_int_equal(k->make(&s), QV_EINVAL);
	s.size = k->size;
	assert_int_equal(k->make(&s), QV_OK);
	/* Older: the rest is not looked at, and here would be wrong. */
	memset(s.bytes + k->end, 0xff, k->size - k->end);
	if (k->make != make_unit) /* whose last field must be set */
		s.size = k->end;
	else
		memcpy(s.bytes + k->end, k->good.bytes + k->end, k->size - k->end);
	assert_int_equal(k->make(&s), QV_OK);
	/* None. */
	s.size = sizeof(size_t) - 1;
	assert_int_equal(k->make(&s), QV_EINVAL);
	s.size = SIZE_MAX;
	assert_int_equal(k->make(&s), QV_EINVAL);
}

static void test_sizes(void **state)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		one(&kinds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
