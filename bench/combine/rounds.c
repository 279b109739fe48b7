/* SPDX-License-Identifier: BSD-2-Clause */
/* rounds.c - every case over every implementation, in rounds, and who is slower. */
#include "combine.h"
#include "engine/base/random.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_NS 4000.0 /* short calls are timed several at once */
#define SAMPLES   256    /* of one block at most */
#define FEW       3      /* rounds that a case takes even if its time is over */
#define SLOWER    0.97   /* the whole interval below this is slower beyond noise */

/* Values to combine, what comes out, and the arrays that implementations work on. */
struct arrays {
	void *memory;
	char *left, *right, *expected, *inout, *in;
};

struct lane {
	const struct qv_bc_impl *impl;
	size_t row;
	uint64_t reps;
	double one_ns; /* of a call */
	bool in;
};

static int open_arrays(struct arrays *a, size_t bytes, size_t offset)
{
	const size_t room = (bytes + offset + 4095) / 4096 * 4096 + 4096;

	a->memory = aligned_alloc(4096, 5 * room);
	if (!a->memory)
		return -1;
	memset(a->memory, 0, 5 * room);
	a->left = (char *)a->memory + offset;
	a->right = a->left + room;
	a->expected = a->right + room;
	a->inout = a->expected + room;
	a->in = a->inout + room;
	return 0;
}

/* Of a long double, x87's has padding, which stays 0. */
#define LONG_DOUBLE_BYTES (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double))

/* n floating-point parts from 0.5 to 2, which no sum takes to the end of the range;
 * or all alike. */
#define FILL_PARTS(t)                                                                             \
	static void fill_##t(void *p, size_t n, uint64_t *state)                                  \
	{                                                                                         \
		for (size_t i = 0; i < n; i++) {                                                  \
			t value = (t)(0.5 + 1.5 * (double)(qv_random(state) >> 40) / 16777216.0); \
                                                                                                  \
			memcpy((char *)p + i * sizeof(t), &value,                                 \
			       sizeof(t) < LONG_DOUBLE_BYTES ? sizeof(t) : LONG_DOUBLE_BYTES);    \
		}                                                                                 \
	}                                                                                         \
	static void ones_##t(void *p, size_t n, size_t every)                                     \
	{                                                                                         \
		for (size_t i = 0; i < n; i++)                                                    \
			((t *)p)[i] = i % every ? 0 : 1;                                          \
	}
typedef long double ldouble;
FILL_PARTS(float)
FILL_PARTS(double)
FILL_PARTS(ldouble)

static bool is_complex(enum qv_type type)
{
	return type >= QV_TYPE_FLOAT_COMPLEX;
}

static size_t parts(const struct qv_bc_case *what)
{
	return is_complex(what->type) ? 2 * what->count : what->count;
}

/* Every second element false: what a branch makes of that depends on whether it can be learned. */
static void some_zeros(const struct qv_bc_case *what, char *p, uint64_t *state)
{
	const size_t item = what->bytes / what->count;

	for (size_t i = 0; i < what->bytes; i += item)
		if (qv_random(state) >> 32 & 1)
			memset(p + i, 0, item);
}

static void fill(const struct qv_bc_case *what, char *p, uint64_t *state)
{
	memset(p, 0, what->bytes); /* the padding of long double, too */
	switch (what->type) {
	case QV_TYPE_FLOAT:
	case QV_TYPE_FLOAT_COMPLEX: fill_float(p, parts(what), state); break;
	case QV_TYPE_DOUBLE:
	case QV_TYPE_DOUBLE_COMPLEX: fill_double(p, parts(what), state); break;
	case QV_TYPE_LONG_DOUBLE:
	case QV_TYPE_LONG_DOUBLE_COMPLEX: fill_ldouble(p, parts(what), state); break;
	default: /* sums that fit: Open MPI's vector operators saturate where others wrap around */
		for (size_t i = 0; i < what->bytes; i++)
			p[i] = (char)(qv_random(state) >> 32 &
				      (what->op == QV_OP_SUM ? 0x3f : 0xff));
	}
	if (what->op >= QV_OP_LAND && what->op <= QV_OP_LXOR)
		some_zeros(what, p, state);
}

/* Repeated products would leave the range of the type, and become slow there: multiply by 1. */
static void tame(const struct qv_bc_case *what, char *in)
{
	const size_t every = is_complex(what->type) ? 2 : 1;

	if (what->op != QV_OP_PROD)
		return;
	if (what->type == QV_TYPE_FLOAT || what->type == QV_TYPE_FLOAT_COMPLEX)
		ones_float(in, parts(what), every);
	else if (what->type == QV_TYPE_DOUBLE || what->type == QV_TYPE_DOUBLE_COMPLEX)
		ones_double(in, parts(what), every);
	else if (what->type >= QV_TYPE_LONG_DOUBLE)
		ones_ldouble(in, parts(what), every);
}

static int call(const struct lane *lane, const struct qv_bc_case *what, struct arrays *a)
{
	return lane->impl->run(lane->impl->combine, what->op, what->type, a->inout, a->in,
			       what->count);
}

static void drop(struct lane *lane, struct qv_bench_row *row, const char *why)
{
	lane->in = false;
	row->n = row->rounds = 0;
	snprintf(row->answer, sizeof(row->answer), "%s", why);
}

/* One call on new values, compared bit by bit. */
static int check(struct lane *lane, const struct qv_bc_case *what, struct arrays *a,
		 struct qv_bench_row *row)
{
	memcpy(a->inout, a->left, what->bytes);
	memcpy(a->in, a->right, what->bytes);
	if (call(lane, what, a)) {
		drop(lane, row, "undefined");
		return -1;
	}
	if (memcmp(a->inout, a->expected, what->bytes)) {
		drop(lane, row, "wrong result");
		return -1;
	}
	tame(what, a->in);
	return 0;
}

static double timed(struct lane *lane, const struct qv_bc_case *what, struct arrays *a)
{
	const uint64_t start = qv_ticks();

	for (uint64_t i = 0; i < lane->reps; i++)
		call(lane, what, a);
	return (double)(qv_ticks() - start) * qv_bench_tick_ns() / (double)lane->reps;
}

/* The shortest of three: not one that was interrupted. */
static double timed_undisturbed(struct lane *lane, const struct qv_bc_case *what, struct arrays *a)
{
	double ns, shortest = timed(lane, what, a);

	for (unsigned i = 0; i < 2; i++)
		if ((ns = timed(lane, what, a)) < shortest)
			shortest = ns;
	return shortest;
}

/* How many calls make a sample. */
static void calibrate(struct lane *lane, const struct qv_bc_case *what, struct arrays *a,
		      struct qv_bench_row *row)
{
	if (check(lane, what, a, row))
		return;
	lane->in = true;
	lane->reps = 1;
	while ((lane->one_ns = timed_undisturbed(lane, what, a)) * (double)lane->reps < SAMPLE_NS)
		lane->reps *= 2;
}

static void take_round(struct qv_bc_plan *plan, struct lane *lane, const struct qv_bc_case *what,
		       struct arrays *a, struct qv_bench_row *row)
{
	float samples[SAMPLES];
	double fit = plan->block_ns / (lane->one_ns * (double)lane->reps);
	size_t n = fit < 2 ? 2 : fit > SAMPLES ? SAMPLES : (size_t)fit;

	if (check(lane, what, a, row))
		return;
	timed(lane, what, a);
	for (size_t i = 0; i < n; i++)
		samples[i] = (float)(1e3 * (double)what->bytes / timed(lane, what, a));
	qv_bench_row_round(row, samples, n);
	snprintf(row->answer, sizeof(row->answer), "checked");
}

/* Each ISA against the loop and against Open MPI. */
static void compare(const struct lane *lanes, size_t n, struct qv_bench *bench)
{
	for (size_t i = 0; i < n; i++) {
		const struct qv_bench_row *row = &bench->rows[lanes[i].row];

		for (size_t j = 0; lanes[i].impl->combine && j < n; j++) {
			const struct qv_bench_row *of = &bench->rows[lanes[j].row];
			size_t rounds = of->rounds < row->rounds ? of->rounds : row->rounds;

			if (rounds && !lanes[j].impl->combine)
				qv_bench_ratio_add(
					bench, lanes[i].row, of->impl,
					qv_bench_ratio(row->medians, of->medians, rounds));
		}
	}
}

static void prepare(const struct qv_bc_case *what, struct arrays *a, uint64_t seed)
{
	uint64_t state = 0x9e3779b97f4a7c15u + seed;

	fill(what, a->left, &state);
	fill(what, a->right, &state);
	memcpy(a->expected, a->left, what->bytes);
	qv_bc_loop(NULL, what->op, what->type, a->expected, a->right, what->count);
}

static void measure_case(struct qv_bc_plan *plan, size_t at, struct arrays *a,
			 struct qv_bench *bench)
{
	const struct qv_bc_case *what = &plan->cases[at];
	const size_t n = plan->impls_n, first = bench->rows_n;
	const double now = qv_bench_seconds();
	const double end = now + (plan->deadline - now) / (double)(plan->cases_n - at);
	struct lane lanes[QV_BC_IMPLS] = {{0}};

	prepare(what, a, at);
	for (size_t i = 0; i < n; i++) {
		lanes[i].impl = &plan->impls[i];
		lanes[i].row = first + i;
		qv_bench_row_add(bench, what->name, plan->impls[i].name, "MB/s", true);
		if (now < plan->deadline)
			calibrate(&lanes[i], what, a, &bench->rows[first + i]);
		else
			drop(&lanes[i], &bench->rows[first + i], "no time");
	}
	for (uint32_t r = 0; r < plan->rounds; r++) {
		if (r >= FEW && qv_bench_seconds() > end)
			break;
		qv_bench_progress("[%zu/%zu] %s round %u", at + 1, plan->cases_n, what->name, r);
		for (size_t k = 0; k < n; k++) {
			struct lane *lane = &lanes[(k + r) % n];

			if (lane->in)
				take_round(plan, lane, what, a, &bench->rows[lane->row]);
		}
	}
	compare(lanes, n, bench);
}

int qv_bc_measure(struct qv_bc_plan *plan, struct qv_bench *bench)
{
	struct arrays arrays;
	size_t bytes = 0;

	for (size_t i = 0; i < plan->cases_n; i++)
		if (plan->cases[i].bytes > bytes)
			bytes = plan->cases[i].bytes;
	if (open_arrays(&arrays, bytes, plan->offset)) {
		fprintf(stderr, "quiver: no memory for arrays of %zu bytes\n", bytes);
		return -1;
	}
	for (size_t at = 0; at < plan->cases_n; at++)
		measure_case(plan, at, &arrays, bench);
	qv_bench_progress(NULL);
	free(arrays.memory);
	return 0;
}

void qv_bc_verdict(const struct qv_bench *bench, FILE *out)
{
	const char *widest = qv_isa_name(qv_isa_best());
	size_t cells = 0, slower = 0;

	for (size_t i = 0; i < bench->ratios_n; i++) {
		const struct qv_bench_ratio_line *line = &bench->ratios[i];

		if (strcmp(bench->rows[line->row].impl, widest))
			continue;
		cells++;
		if (!(line->ratio.high < SLOWER))
			continue;
		if (!slower++)
			fputc('\n', out);
		fprintf(out, "slower: %s %s: %.3f [%.3f, %.3f] x %s\n", bench->rows[line->row].name,
			widest, line->ratio.value, line->ratio.low, line->ratio.high, line->of);
	}
	fprintf(out, "\n%s: %zu comparisons, slower beyond noise (interval below %.2f) in %zu\n",
		widest, cells, SLOWER, slower);
}
