// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_lane_rtl.cpp - the combine lane as Verilator has compiled it, against the definition.
 *
 *     test_lane_rtl random N      N beats of each operation on each integer type up to 8 bytes
 *     test_lane_rtl corpus FILE   the arrays of the vector corpus of these types
 */
#include "Vqv_combine_lane.h"
#include "tests/offload/vectors.h"
#include "verilated.h"
extern "C" {
#include "tests/kernel/combine_ref.h"
}

#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#define BYTES   64
#define LATENCY 2

namespace
{
typedef std::array<char, BYTES> beat;

struct expectation {
	qv_op op;
	qv_type type;
	beat result;
	unsigned due;
};

long beats, cycles, wrong;

class lane
{
	VerilatedContext context;
	Vqv_combine_lane unit;
	std::deque<expectation> under_way;

	void cycle()
	{
		unit.clk = 0;
		unit.eval();
		unit.clk = 1;
		unit.eval();
		cycles++;
		for (expectation &e : under_way)
			e.due--;
		const bool due = !under_way.empty() && !under_way.front().due;
		bool good = unit.answer == due;
		if (due) {
			const expectation &e = under_way.front();

			good = good && unit.known &&
			       !std::memcmp(&unit.result, e.result.data(), BYTES);
			if (!good && wrong < 10)
				std::fprintf(stderr, "wrong: %s of %s\n", qv_op_name(e.op),
					     qv_type_name(e.type));
			under_way.pop_front();
		}
		wrong += !good;
	}

      public:
	lane() : unit{&context}
	{
		unit.reset = 1;
		idle();
		idle();
		unit.reset = 0;
	}

	void idle()
	{
		unit.valid = 0;
		cycle();
	}

	void combine(qv_op op, qv_type type, const beat &a, const beat &b, const beat &expected)
	{
		under_way.push_back({op, type, expected, LATENCY});
		unit.valid = 1;
		unit.op = op;
		unit.size = type / 2;
		unit.is_signed = type % 2 == 0;
		std::memcpy(&unit.a, a.data(), BYTES);
		std::memcpy(&unit.b, b.data(), BYTES);
		cycle();
		beats++;
	}

	void drain()
	{
		while (!under_way.empty())
			idle();
	}
};

beat expected(qv_op op, qv_type type, const beat &a, const beat &b)
{
	beat r;

	for (size_t at = 0; at < BYTES; at += qv_type_size(type))
		qv_ref_combine(op, type, &r[at], &a[at], &b[at]);
	return r;
}

/* Operations and types in turn, and now and then a cycle without. */
void random_beats(lane &x, long each)
{
	for (long i = 0; i < each; i++)
		for (int op = 0; op < QV_N_OPS; op++)
			for (int type = QV_TYPE_INT8; type <= QV_TYPE_UINT64; type++) {
				const auto t = static_cast<qv_type>(type);
				const auto o = static_cast<qv_op>(op);
				beat a, b;

				for (size_t at = 0; at < BYTES; at += qv_type_size(t)) {
					qv_ref_draw(t, &a[at]);
					qv_ref_draw(t, &b[at]);
				}
				x.combine(o, t, a, b, expected(o, t, a, b));
				if (qv_ref_random() % 13 == 0)
					x.idle();
			}
}

/* The k arrays of a record from left to right, a beat at a time. */
void record(lane &x, const qv_vec_combine &v)
{
	const size_t bytes = v.count * qv_type_size(v.type);

	for (size_t at = 0; at < bytes; at += BYTES) {
		const size_t n = bytes - at < BYTES ? bytes - at : BYTES;
		beat a, b, r = beat();

		a.fill(0);
		std::memcpy(a.data(), static_cast<const char *>(v.src[0]) + at, n);
		for (uint32_t j = 1; j < v.k; j++, a = r) {
			b.fill(0);
			std::memcpy(b.data(), static_cast<const char *>(v.src[j]) + at, n);
			r = expected(v.op, v.type, a, b);
			x.combine(v.op, v.type, a, b, r);
		}
		wrong += std::memcmp(r.data(), static_cast<const char *>(v.result) + at, n) != 0;
	}
}

void corpus(lane &x, const char *file)
{
	struct qv_vectors all;
	struct qv_vec_combine v;

	if (qv_vec_open(&all, file))
		std::exit(1);
	while (qv_vec_next_combine(&all, &v))
		if (v.type <= QV_TYPE_UINT64)
			record(x, v);
	qv_vec_close(&all);
}
} // namespace

int main(int argc, char **argv)
{
	const char *scale = std::getenv("QV_TEST_SCALE");
	lane x;

	if (argc != 3)
		return 2;
	if (!std::strcmp(argv[1], "corpus"))
		corpus(x, argv[2]);
	else
		random_beats(x, 1 + static_cast<long>(std::atof(argv[2]) *
						      (scale ? std::atof(scale) : 1)));
	x.drain();
	std::printf("lane: %ld beats of %d bytes in %ld cycles: %ld wrong\n", beats, BYTES, cycles,
		    wrong);
	return wrong || !beats;
}
