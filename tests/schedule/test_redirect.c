/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_redirect.c - Local Redirect: all interleavings of messages of up to six ranks are gone
 * through; results over real data in the order of the line; its time in the model.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/redirect.h>

#include "sched_case.h"

/* All interleavings. */

#define MOST 6 /* ranks */
#define DEEP 4 /* messages on their way from one rank to another */

/* Everything that tells one situation from another, in few bytes. */
struct message {
	uint8_t kind, value; /* 255: no place */
};

struct world {
	struct qv_redirect rank[MOST];
	uint8_t first[MOST]; /* the partial result is of the places first .. its own */
	uint8_t n[MOST][MOST];
	struct message on_way[MOST][MOST][DEEP];
};

struct search {
	uint32_t P;
	enum qv_redirect_variant variant;
	struct world *seen; /* in the order in which they were found */
	size_t n, room;
	uint32_t *table; /* number + 1, by hash */
	size_t mask;
	size_t deadlocks, ends, pending;
};

static uint64_t hash_of(const struct world *w)
{
	const unsigned char *c = (const unsigned char *)w;
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < sizeof(*w); i++)
		h = (h ^ c[i]) * 1099511628211u;
	return h ^ h >> 29;
}

static void note(struct search *s, const struct world *w)
{
	size_t at = hash_of(w) & s->mask;

	for (; s->table[at]; at = (at + 1) & s->mask)
		if (!memcmp(&s->seen[s->table[at] - 1], w, sizeof(*w)))
			return;
	if (s->n == s->room) {
		s->room = 2 * s->room + 1024;
		s->seen = realloc(s->seen, s->room * sizeof(*s->seen));
		assert_non_null(s->seen);
	}
	assert_true(2 * s->n < s->mask);
	s->seen[s->n++] = *w;
	s->table[at] = (uint32_t)s->n;
}

static void post(struct world *w, uint32_t from, const struct qv_redirect_out *out, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		uint8_t *deep = &w->n[from][out[i].to];

		assert_true(*deep < DEEP);
		w->on_way[from][out[i].to][(*deep)++] =
			(struct message){(uint8_t)out[i].kind, (uint8_t)out[i].value};
	}
}

static void come(struct search *s, struct world w, uint32_t r)
{
	struct qv_redirect_out out[QV_REDIRECT_MOST];
	struct qv_redirect machine;
	unsigned int n = qv_redirect_start(&machine, s->variant, r, s->P, out);

	memset(&w.rank[r], 0, sizeof(w.rank[r])); /* no stray bytes */
	memcpy(&w.rank[r], &machine, sizeof(machine));
	post(&w, r, out, n);
	note(s, &w);
}

static void receive(struct search *s, struct world w, uint32_t from, uint32_t to)
{
	const struct message m = w.on_way[from][to][0];
	struct qv_redirect_out out[QV_REDIRECT_MOST];
	unsigned int n;

	w.n[from][to]--;
	memmove(w.on_way[from][to], w.on_way[from][to] + 1, (DEEP - 1) * sizeof(m));
	w.on_way[from][to][DEEP - 1] = (struct message){0, 0};
	if (m.kind == QV_REDIRECT_DATA) {
		assert_int_equal(w.first[to], from + 1); /* its right neighbour in the line */
		w.first[to] = w.first[from];
	}
	n = qv_redirect_take(&w.rank[to], from, (enum qv_redirect_kind)m.kind,
			     m.value == 255 ? QV_PLACE_NONE : m.value, out);
	post(&w, to, out, n);
	note(s, &w);
}

static void judge_end(struct search *s, const struct world *w)
{
	for (uint32_t r = 0; r < s->P; r++) {
		if (w->rank[r].state != QV_REDIRECT_OVER) {
			s->deadlocks++;
			return;
		}
		for (uint32_t to = 0; to < s->P; to++)
			assert_int_equal(w->n[r][to], 0);
	}
	assert_int_equal(w->first[s->P - 1], 0);
	s->ends++;
}

static void expand(struct search *s, size_t number)
{
	const struct world w = s->seen[number];
	int moved = 0;

	for (uint32_t to = 0; to < s->P; to++) {
		size_t pending = 0;

		if (w.rank[to].state == QV_REDIRECT_BEFORE) {
			come(s, w, to);
			moved = 1;
			continue;
		}
		for (uint32_t from = 0; from < s->P; from++) {
			pending += w.n[from][to];
			if (!w.n[from][to] ||
			    !qv_redirect_accepts(&w.rank[to], from,
						 (enum qv_redirect_kind)w.on_way[from][to][0].kind))
				continue;
			receive(s, w, from, to);
			moved = 1;
		}
		s->pending = pending > s->pending ? pending : s->pending;
	}
	if (!moved)
		judge_end(s, &w);
}

static struct search search_all(uint32_t P, enum qv_redirect_variant variant)
{
	struct search s = {.P = P, .variant = variant, .mask = (1u << 19) - 1};
	struct world w;

	s.table = calloc(s.mask + 1, sizeof(*s.table));
	assert_non_null(s.table);
	memset(&w, 0, sizeof(w));
	for (uint32_t r = 0; r < P; r++)
		w.first[r] = (uint8_t)r;
	note(&s, &w);
	for (size_t i = 0; i < s.n; i++)
		expand(&s, i);
	free(s.seen);
	free(s.table);
	return s;
}

static void test_no_deadlock(void **unused)
{
	for (int v = QV_REDIRECT_FAITHFUL; v <= QV_REDIRECT_EXTENDED; v++)
		for (uint32_t P = 1; P <= MOST; P++) {
			const struct search s = search_all(P, (enum qv_redirect_variant)v);

			print_message("%s, %u ranks: %zu states, %zu deadlocks, at most %zu "
				      "messages wait for a rank\n",
				      v ? "extended" : "faithful", P, s.n, s.deadlocks, s.pending);
			assert_int_equal(s.deadlocks, 0);
			assert_true(s.ends >= 1);
		}
}

/* The search sees the deadlock of the printed algorithm. */
static void test_printed_deadlocks(void **unused)
{
	for (uint32_t P = 3; P <= 4; P++) {
		const struct search s = search_all(P, QV_REDIRECT_PRINTED);

		print_message("printed, %u ranks: %zu states, %zu deadlocks\n", P, s.n,
			      s.deadlocks);
		assert_true(s.deadlocks > 0);
	}
}

/* Real data. */

#define LINE 64

struct parcel {
	uint32_t from, to, value;
	enum qv_redirect_kind kind;
	uint32_t data[2];
};

static struct parcel parcels[8 * LINE];
static size_t parcels_n;
static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 20;
}

static void dispatch(uint32_t from, const uint32_t *work, const struct qv_redirect_out *out,
		     unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		assert_true(parcels_n < 8 * LINE);
		parcels[parcels_n++] = (struct parcel){
			from, out[i].to, out[i].value, out[i].kind, {work[0], work[1]}};
	}
}

/* y -> factor * y + sum, one after the other: does not commute. */
static void chain(uint32_t *left_and_result, const uint32_t *left, const uint32_t *right)
{
	const uint32_t factor = left[0] * right[0], sum = left[1] * right[0] + right[1];

	left_and_result[0] = factor;
	left_and_result[1] = sum;
}

/* Some parcel that is the oldest of its pair, and accepted. */
static int any(const struct qv_redirect *machines, size_t *which)
{
	const size_t first = parcels_n ? draw() % parcels_n : 0;

	for (size_t k = 0; k < parcels_n; k++) {
		const size_t i = (first + k) % parcels_n;
		const struct parcel *p = &parcels[i];
		size_t j = 0;

		while (j < i && (parcels[j].from != p->from || parcels[j].to != p->to))
			j++;
		if (j == i && qv_redirect_accepts(&machines[p->to], p->from, p->kind)) {
			*which = i;
			return 1;
		}
	}
	return 0;
}

static void run_line(uint32_t P, enum qv_redirect_variant variant)
{
	struct qv_redirect machines[LINE] = {{0}};
	struct qv_redirect_out out[QV_REDIRECT_MOST];
	uint32_t work[LINE][2], want[2], absent = P;
	size_t i;

	parcels_n = 0;
	for (uint32_t r = 0; r < P; r++) {
		work[r][0] = (uint32_t)draw() | 1;
		work[r][1] = (uint32_t)draw();
		if (r)
			chain(want, want, work[r]);
		else
			memcpy(want, work[0], sizeof(want));
	}
	for (;;) {
		const int found = any(machines, &i);

		if (absent && (!found || draw() % 5 == 0)) { /* one more comes */
			uint32_t r = (uint32_t)(draw() % P);

			while (machines[r].state != QV_REDIRECT_BEFORE)
				r = (r + 1) % P;
			absent--;
			dispatch(r, work[r], out,
				 qv_redirect_start(&machines[r], variant, r, P, out));
		} else if (found) {
			const struct parcel p = parcels[i];

			memmove(parcels + i, parcels + i + 1,
				(--parcels_n - i) * sizeof(parcels[0]));
			if (p.kind == QV_REDIRECT_DATA)
				chain(work[p.to], p.data, work[p.to]);
			dispatch(p.to, work[p.to], out,
				 qv_redirect_take(&machines[p.to], p.from, p.kind, p.value, out));
		} else {
			break;
		}
	}
	assert_int_equal(parcels_n, 0);
	for (uint32_t r = 0; r < P; r++)
		assert_int_equal(machines[r].state, QV_REDIRECT_OVER);
	assert_memory_equal(work[P - 1], want, sizeof(want));
}

static void test_data(void **unused)
{
	for (uint32_t P = 1; P <= LINE; P++)
		for (int round = 0; round < 30; round++) {
			run_line(P, QV_REDIRECT_FAITHFUL);
			run_line(P, QV_REDIRECT_EXTENDED);
		}
}

/* Time in the model. */

/* Figures of a cluster with QDR InfiniBand, on which the algorithm was measured. */
static const struct qv_network net = {.alpha = 2.66e-6, .beta = 4.8179e-10, .gamma = 1.6654e-10};
static const double sizes[] = {40 << 10, 400 << 10, 4 << 20};

static double binomial(double bytes)
{
	return 7 * (net.alpha + bytes * (net.beta + net.gamma));
}

/* 128 ranks that come within 18 us, and one of them later than that. */
static double once(enum qv_redirect_variant variant, double bytes, double late, double spread,
		   uint64_t seed)
{
	double arrive[128], end, first = 1;

	for (int r = 0; r < 128; r++)
		arrive[r] = spread * (double)(draw() % 1000) / 1000;
	arrive[seed % 128] += late;
	for (int r = 0; r < 128; r++)
		first = fmin(first, arrive[r]);
	assert_int_equal(qv_redirect_time(&net, variant, 128, bytes, arrive, seed, &end), QV_OK);
	return end - first;
}

/* The best of many, as the measurements that it is compared with. */
static double best_of(enum qv_redirect_variant variant, double bytes, double late)
{
	double best = 1;

	for (uint64_t i = 0; i < 200; i++)
		best = fmin(best, once(variant, bytes, late, 18e-6, i));
	return best;
}

static void assert_between(const char *what, double got, double least, double most)
{
	print_message("%s: %.3f\n", what, got);
	if (got < least || got > most)
		fail_msg("%s: %g, not %g .. %g", what, got, least, most);
}

/* All at about the same time: the tree is faster, by what was measured. One rank late by a share of
 * the tree's time, and it is the other way round; the gain has its peak where the thesis has it. */
static void test_time(void **unused)
{
	static const double balanced[] = {.58, .77, .80}, pays[] = {.75, .3, .25},
			    peak[] = {1.3, 1.56, 1.61};

	for (int i = 0; i < 3; i++) {
		const double tree = binomial(sizes[i]);
		double most = 0;

		assert_between("tree / redirect, balanced",
			       tree / best_of(QV_REDIRECT_FAITHFUL, sizes[i], 0), balanced[i] - .1,
			       balanced[i] + .1);
		assert_between("tree / redirect, late by the share from which it pays",
			       (1 + pays[i]) * tree /
				       best_of(QV_REDIRECT_FAITHFUL, sizes[i], pays[i] * tree),
			       1, 1.25);
		for (double share = .5; share <= 1.5; share += .25)
			most = fmax(most,
				    (1 + share) * tree /
					    best_of(QV_REDIRECT_FAITHFUL, sizes[i], share * tree));
		assert_between("tree / redirect, one late, at most", most, peak[i] - .15,
			       peak[i] + .15);
	}
}

/* One rank late: what never waits long when all come at once loses a tenth at most. */
static void test_extended_late(void **unused)
{
	for (int i = 0; i < 3; i++)
		for (double share = 0; share <= 2; share += .5) {
			const double late = share * binomial(sizes[i]);

			assert_between("faithful / extended, one late",
				       best_of(QV_REDIRECT_FAITHFUL, sizes[i], late) /
					       best_of(QV_REDIRECT_EXTENDED, sizes[i], late),
				       .9, 1.05);
		}
}

/* All at once to the last microsecond, the faithful one resolves the line one by one. */
static void test_convoy(void **unused)
{
	double end;

	assert_int_equal(qv_redirect_time(&net, QV_REDIRECT_FAITHFUL, 128, sizes[1], NULL, 1, &end),
			 QV_OK);
	assert_between("faithful, all at once, in trees", end / binomial(sizes[1]), 1.5, 10);
	assert_int_equal(qv_redirect_time(&net, QV_REDIRECT_EXTENDED, 128, sizes[1], NULL, 1, &end),
			 QV_OK);
	assert_between("extended, all at once, in trees", end / binomial(sizes[1]), 1, 1.15);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median of many, with the places of one parity late. */
static double alternating(uint32_t parity, double late)
{
	double arrive[128], end, times[51];

	for (uint64_t i = 0; i < 51; i++) {
		for (uint32_t r = 0; r < 128; r++)
			arrive[r] = 18e-6 * (double)(draw() % 1000) / 1000 +
				    (r % 2 == parity ? late : 0);
		assert_int_equal(qv_redirect_time(&net, QV_REDIRECT_FAITHFUL, 128, sizes[1], arrive,
						  i, &end),
				 QV_OK);
		times[i] = end;
	}
	qsort(times, 51, sizeof(times[0]), by_value);
	return times[25];
}

/* Every second one late: nothing is absorbed. */
static void test_alternating(void **unused)
{
	const double tree = binomial(sizes[1]);

	for (uint32_t parity = 0; parity < 2; parity++)
		assert_between("absorbed, of the tree's time",
			       (alternating(parity, 0) + tree - alternating(parity, tree)) / tree,
			       -.05, .05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_deadlock),   cmocka_unit_test(test_printed_deadlocks),
		cmocka_unit_test(test_data),          cmocka_unit_test(test_time),
		cmocka_unit_test(test_extended_late), cmocka_unit_test(test_convoy),
		cmocka_unit_test(test_alternating),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
