/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_structs.c - what the structures from the literature must show beyond right answers:
 * how holes, starts, levels and limits behave.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/match/literature/col.h"
#include "engine/match/literature/pnp.h"
#include "kernels/select.h"

#define N_NODES 6000

/* What the lists need of an engine, without one. */
struct bench {
	struct qv_match m;
	struct qv_match_settings s;
	struct qv_recv r[N_NODES];
	struct qv_msg msg[N_NODES];
};

static int set_up(void **state)
{
	struct bench *b = aligned_alloc(64, (sizeof(*b) + 63) & ~(size_t)63);

	assert_non_null(b);
	memset(b, 0, sizeof(*b));
	b->m.kern = qv_kern_select(QV_ISA_SCALAR);
	b->m.settings = &b->s;
	assert_int_equal(qv_options_parse(NULL, 0, &b->m.options), QV_OK);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	assert_int_equal(b->m.mem.bytes, 0); /* every list has given everything back */
	free(b);
	return 0;
}

static uint64_t *make_recv(struct bench *b, int i, uint64_t tag, uint32_t src)
{
	b->r[i] = (struct qv_recv){.tag = tag, .src = src};
	b->r[i].priv[QV_E_SEQ] = (uint64_t)i;
	return b->r[i].priv;
}

static uint64_t *make_msg(struct bench *b, int i, uint64_t tag, uint32_t src)
{
	b->msg[i] = (struct qv_msg){.tag = tag, .src = src};
	b->msg[i].priv[QV_E_SEQ] = (uint64_t)i;
	return b->msg[i].priv;
}

static uint32_t count_blocks(const struct qv_lla *l)
{
	uint32_t n = 0;

	for (const struct qv_lla_block *b = l->first; b; b = b->next)
		n++;
	return n;
}

/* Entries that a search which finds nothing passes. */
static uint64_t walk(const struct qv_lla *l)
{
	uint64_t seen = 0;

	assert_null(qv_lla_find_recv(l, UINT64_MAX, 0, &seen));
	return seen;
}

/* Nine slots: six in; the 2nd, the 3rd, then the 1st leave, then the 5th and 6th; refill. */
static void test_lla_holes(void **state)
{
	struct bench *b = *state;
	struct qv_lla l;
	uint64_t seen = 0;

	qv_lla_init(&l, &b->m.mem, QV_POSTED, 9);
	for (int i = 0; i < 6; i++)
		assert_int_equal(qv_lla_append(&l, make_recv(b, i, (uint64_t)i, 1)), QV_OK);
	qv_lla_remove(&l, b->r[1].priv);
	qv_lla_remove(&l, b->r[2].priv);
	assert_int_equal(walk(&l), 6); /* holes are passed */
	qv_lla_remove(&l, b->r[0].priv);
	assert_int_equal(l.first->head, 3);
	assert_int_equal(walk(&l), 3);
	qv_lla_remove(&l, b->r[4].priv);
	assert_int_equal(l.first->tail, 6); /* a hole before the last */
	qv_lla_remove(&l, b->r[5].priv);
	assert_int_equal(l.first->tail, 4);
	for (int i = 6; i < 6 + 5 + 9 + 2; i++)
		assert_int_equal(qv_lla_append(&l, make_recv(b, i, (uint64_t)i, 1)), QV_OK);
	/* The five slots at the end were used, the three at the start were not. */
	assert_int_equal(count_blocks(&l), 3);
	assert_int_equal(walk(&l), 6 + 9 + 2);
	assert_ptr_equal(qv_lla_first(&l), b->r[3].priv);
	for (int i = 6; i < 22; i++)
		assert_ptr_equal(qv_lla_find_recv(&l, (uint64_t)i, 1, &seen), b->r[i].priv);
	qv_lla_clear(&l);
}

static int next_to_remove(int how, int i, int n)
{
	switch (how) {
	case 0: return i;
	case 1: return n - 1 - i;
	case 2: return i % 2 ? (n + i) / 2 : (n - 1 - i) / 2; /* from the middle outward */
	default: return (int)((long)i * 7919 % n);
	}
}

/* However entries leave, empty blocks go: at the end there is one, and one in reserve. */
static void test_lla_frees_blocks(void **state)
{
	enum { N = 1000 };
	struct bench *b = *state;
	struct qv_lla l;

	for (int how = 0; how < 4; how++) {
		size_t least;

		qv_lla_init(&l, &b->m.mem, QV_UNEXPECTED, 0);
		assert_int_equal(l.room, 4);
		for (int i = 0; i < N; i++)
			assert_int_equal(qv_lla_append(&l, make_msg(b, i, (uint64_t)i, 1)), QV_OK);
		assert_int_equal(count_blocks(&l), N / 4);
		least = b->m.mem.bytes / (N / 4);
		for (int i = 0; i < N; i++)
			qv_lla_remove(&l, b->msg[next_to_remove(how, i, N)].priv);
		assert_null(qv_lla_first(&l));
		assert_int_equal(b->m.mem.bytes, 2 * least);
		qv_lla_clear(&l);
	}
}

/* A search through vectors begins at the group of sixteen that the oldest entry is in: 24 in, 8
 * out, and it still begins at 0; 10 more out, and it begins at 16. */
static void test_llv_start(void **state)
{
	struct bench *b = *state;
	struct qv_vlist v;

	qv_vlist_init(&v, &b->m, QV_UNEXPECTED, QV_E_LINK);
	for (int i = 0; i < 24; i++)
		assert_int_equal(qv_vlist_append(&v, make_msg(b, i, (uint64_t)i, 1)), QV_OK);
	for (int i = 0; i < 24; i++) {
		uint64_t seen = 0;

		assert_null(qv_vlist_find_msg(&v, UINT64_MAX, 0, 1, &seen));
		assert_int_equal(seen, 24 - i / 16 * 16);
		qv_vlist_remove(&v, b->msg[i].priv);
	}
	qv_vlist_clear(&v);
}

/* One hot receiver, every source sends n_each: partners stay within c * sqrt(sources). */
static void check_pnp_cap(struct bench *b, uint32_t sources, uint32_t c)
{
	struct qv_pnp p;
	uint64_t seen = 0;

	b->s.sources = sources;
	b->m.options.c = c;
	b->m.options.t = 25;
	qv_pnp_init(&p, &b->m, QV_UNEXPECTED);
	for (int i = 0; i < N_NODES; i++)
		assert_int_equal(qv_pnp_append(&p, make_msg(b, i, 7, (uint32_t)i * 7 % sources)),
				 QV_OK);
	assert_true(p.n_partners > 0 && p.n_shared > 1);
	/* sqrt is rounded up, to have whole buckets. */
	assert_true((uint64_t)(p.n_buckets - 1) * (p.n_buckets - 1) < sources);
	assert_int_equal(p.cap, p.n_buckets * c);
	assert_true(p.n_partners <= p.cap && p.n_shared - 1 <= p.n_partners);
	for (uint32_t src = 0; src < sources && src < 200; src++) {
		uint64_t *e = qv_pnp_find_msg(&p, 7, 0, src, NULL, &seen);

		assert_non_null(e);
		assert_int_equal(qv_msg_of(e)->src, src);
		qv_list_remove(e);
	}
	/* The oldest left is the first of a source that the loop above did not come to, or 200 (or
	 * all sources) later in order of arrival. */
	for (int i = 0; i < N_NODES; i++) {
		if (i < (int)sources && b->msg[i].src < 200)
			continue;
		assert_ptr_equal(qv_pnp_find_msg(&p, 7, 0, QV_SRC_ANY, NULL, &seen),
				 b->msg[i].priv);
		break;
	}
	qv_pnp_fini(&p);
}

static void test_pnp_cap(void **state)
{
	check_pnp_cap(*state, 1024, 1);
	check_pnp_cap(*state, 1000, 2);
	check_pnp_cap(*state, 64, 4);
	check_pnp_cap(*state, 4000, 4);
}

/* Below the threshold there are no levels, whoever sends. */
static void test_pnp_below_threshold(void **state)
{
	struct bench *b = *state;
	struct qv_pnp p;

	qv_pnp_init(&p, &b->m, QV_POSTED);
	for (int i = 0; i < 100; i++)
		assert_int_equal(qv_pnp_append(&p, make_recv(b, i, 7, (uint32_t)i % 3)), QV_OK);
	assert_int_equal(p.n_shared, 1);
	assert_int_equal(qv_pnp_append(&p, make_recv(b, 100, 7, 0)), QV_OK);
	assert_int_equal(p.n_shared, 2);
	qv_pnp_fini(&p);
}

/* The root of a gather: one receive for each of n sources, messages in the other order. */
static uint32_t gather(struct bench *b, uint32_t n, uint32_t k)
{
	struct qv_list prof;
	struct qv_col c;
	uint32_t lists;

	b->s.sources = n;
	b->m.options.k = k;
	qv_list_init(&prof, &b->m, QV_POSTED);
	qv_col_init(&c, &b->m, QV_POSTED, &prof);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(qv_col_append(&c, make_recv(b, (int)i, 4, i)), QV_OK);
		for (uint32_t i = n; i-- > 0;) {
			uint64_t seen = 0, *e = qv_col_find_recv(&c, 4, i, &seen);

			assert_ptr_equal(e, b->r[i].priv);
			qv_list_remove(e);
		}
	}
	lists = c.n_lists;
	qv_col_fini(&c);
	qv_list_clear(&prof);
	return lists;
}

static void test_col_cap(void **state)
{
	assert_int_equal(gather(*state, 1024, 1), 32);
	assert_int_equal(gather(*state, 2048, 1), 45);
	assert_int_equal(gather(*state, 4096, 1), 64);
	assert_int_equal(gather(*state, 1024, 8), 256);
}

/* More sources turn up: a second level takes what comes, the first keeps what is older. */
static void test_col_levels(void **state)
{
	struct bench *b = *state;
	struct qv_list prof;
	struct qv_col c;
	uint64_t seen = 0;
	uint32_t first;
	const struct qv_col_op *op = NULL;

	qv_list_init(&prof, &b->m, QV_UNEXPECTED);
	qv_col_init(&c, &b->m, QV_UNEXPECTED, &prof);
	for (int i = 0; i < 200; i++)
		assert_int_equal(qv_col_append(&c, make_msg(b, i, 4, (uint32_t)i % 9)), QV_OK);
	for (int i = 0; i < QV_COL_PERIOD; i++)
		(void)qv_col_find_msg(&c, 5, 0, 3, &seen);
	first = c.n_lists;
	assert_int_equal(first, 24); /* 8 * sqrt(9) */
	for (int i = 200; i < 1200; i++)
		assert_int_equal(qv_col_append(&c, make_msg(b, i, 4, (uint32_t)i % 500)), QV_OK);
	for (int i = 0; i < QV_COL_PERIOD; i++)
		(void)qv_col_find_msg(&c, 5, 0, 3, &seen);
	assert_in_range(c.n_lists, 2 * first + 1, 178); /* 8 * sqrt(500) */
	for (int i = 0; i < QV_COL_OPS; i++)
		if (c.op[i].n_levels)
			op = &c.op[i];
	assert_non_null(op);
	assert_int_equal(op->n_levels, 2);
	for (int i = 1200; i < 1700; i++)
		assert_int_equal(qv_col_append(&c, make_msg(b, i, 4, (uint32_t)i % 500)), QV_OK);
	assert_int_equal(op->level[1].lists[3 % op->level[1].nq].ll.head[QV_E_SEQ] >= 1200, 1);
	for (int i = 0; i < 1700; i++) {
		uint64_t *e = qv_col_find_msg(&c, 4, 0, b->msg[i].src, &seen);

		assert_ptr_equal(e, b->msg[i].priv);
		qv_list_remove(e);
	}
	qv_list_clear(&prof);
	qv_col_fini(&c);
}

/* Point-to-point messages that wait in the shared list ask for no more lists: these would not help. */
static void test_col_beside_others(void **state)
{
	struct bench *b = *state;
	struct qv_list prof;
	struct qv_col c;
	uint64_t seen = 0;

	b->s.sources = 1024;
	qv_list_init(&prof, &b->m, QV_UNEXPECTED);
	qv_col_init(&c, &b->m, QV_UNEXPECTED, &prof);
	for (int i = 0; i < 4; i++)
		assert_int_equal(qv_col_append(&c, make_msg(b, i, 4, (uint32_t)i)), QV_OK);
	for (int i = 0; i < QV_COL_PERIOD; i++)
		(void)qv_col_find_msg(&c, 5, 0, 3, &seen);
	assert_int_equal(c.n_lists, 4);
	for (int i = 4; i < 200; i++)
		assert_int_equal(qv_list_append(&prof, make_msg(b, i, 6, (uint32_t)i)), QV_OK);
	for (int i = 0; i < QV_COL_PERIOD; i++)
		(void)qv_col_find_msg(&c, 5, 0, 3, &seen);
	assert_int_equal(c.n_lists, 4);
	qv_list_clear(&prof);
	qv_col_fini(&c);
}

/* Two operations share the limit. */
static void test_col_two_operations(void **state)
{
	struct bench *b = *state;
	struct qv_list prof;
	struct qv_col c;
	uint64_t seen = 0;

	b->s.sources = 1024;
	b->s.collective_op = 1;
	b->m.options.k = 1;
	qv_list_init(&prof, &b->m, QV_UNEXPECTED);
	qv_col_init(&c, &b->m, QV_UNEXPECTED, &prof);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(
			qv_col_append(&c, make_msg(b, i, (uint64_t)i % 2, 1 + (uint32_t)i)), QV_OK);
	for (int i = 0; i < 1000; i++)
		(void)qv_col_find_msg(&c, (uint64_t)i % 2, 0, (uint32_t)(2000 - i), &seen);
	assert_in_range(c.n_lists, 1, 32);
	qv_list_clear(&prof);
	qv_col_fini(&c);
}

/*
 * Two calls of one operation are under way, the later one of a kind not seen before, with the same
 * source and tag. Sending its messages to the shared list, which searches look at first, hands the
 * second message to the first receive; sending them after the first's does not.
 */
static void test_col_order(void **state)
{
	struct bench *b = *state;
	struct qv_list prof;
	struct qv_col c;
	uint64_t seen = 0;

	b->s.sources = 1024;
	qv_list_init(&prof, &b->m, QV_UNEXPECTED);
	qv_col_init(&c, &b->m, QV_UNEXPECTED, &prof);
	for (int i = 0; i < 500; i++)
		assert_int_equal(qv_col_append(&c, make_msg(b, i, 4, (uint32_t)i)), QV_OK);
	for (uint32_t i = 500; i-- > 0;)
		qv_list_remove(qv_col_find_msg(&c, 4, 0, i, &seen));
	assert_true(c.n_lists > 0);

	/* By kind: the first goes to the lists, the second to the shared one. */
	assert_int_equal(qv_col_append(&c, make_msg(b, 0, 4, 9)), QV_OK);
	assert_int_equal(qv_list_append(&prof, make_msg(b, 1, 4, 9)), QV_OK);
	assert_ptr_equal(qv_col_find_msg(&c, 4, 0, 9, &seen), b->msg[1].priv);
	qv_list_remove(b->msg[1].priv);

	/* As it is done. */
	assert_int_equal(qv_col_append(&c, make_msg(b, 1, 4, 9)), QV_OK);
	assert_ptr_equal(qv_col_find_msg(&c, 4, 0, 9, &seen), b->msg[0].priv);
	qv_list_remove(b->msg[0].priv);
	assert_ptr_equal(qv_col_find_msg(&c, 4, 0, 9, &seen), b->msg[1].priv);
	qv_list_clear(&prof);
	qv_col_fini(&c);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_lla_holes),           CASE(test_lla_frees_blocks),
		CASE(test_llv_start),           CASE(test_pnp_cap),
		CASE(test_pnp_below_threshold), CASE(test_col_cap),
		CASE(test_col_levels),          CASE(test_col_beside_others),
		CASE(test_col_two_operations),  CASE(test_col_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
