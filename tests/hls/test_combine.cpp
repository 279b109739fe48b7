// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_combine.cpp - the combine kernel in C simulation against the definition.
 *
 *     test_combine corpus FILE      the arrays of the vector corpus
 *     test_combine random BEATS     every operation on every type, so many beats of each
 *     test_combine bounded BEATS    the same, stages as threads and streams as long as they are
 */
#include "hls/qv_hls_kind.h"
#include "hls/qv_lanes_hls.h"
#include "tb.h"
extern "C" {
#include "tests/kernel/combine_ref.h"
}

#include <cstring>
#include <vector>

static_assert(static_cast<int>(OP_SUM) == QV_OP_SUM && static_cast<int>(OP_PROD) == QV_OP_PROD &&
		      static_cast<int>(OP_MIN) == QV_OP_MIN &&
		      static_cast<int>(OP_MAX) == QV_OP_MAX &&
		      static_cast<int>(OP_LAND) == QV_OP_LAND &&
		      static_cast<int>(OP_LOR) == QV_OP_LOR &&
		      static_cast<int>(OP_LXOR) == QV_OP_LXOR &&
		      static_cast<int>(OP_BAND) == QV_OP_BAND &&
		      static_cast<int>(OP_BOR) == QV_OP_BOR &&
		      static_cast<int>(OP_BXOR) == QV_OP_BXOR,
	      "the kernel has the operations' numbers of its own");

namespace
{
typedef std::vector<qv_hls_beat> beats;

long elements, wrong, left_to_cpu;

beats as_beats(const void *from, size_t bytes)
{
	beats to((bytes + sizeof(qv_hls_beat) - 1) / sizeof(qv_hls_beat));

	std::memcpy(to.data(), from, bytes);
	return to;
}

void expect(bool good, qv_op op, qv_type type, const char *what)
{
	if (good || wrong++ > 10)
		return;
	std::fprintf(stderr, "wrong: %s of %s: %s\n", qv_op_name(op), qv_type_name(type), what);
}

/* a = a op b, in place or not, with what comes behind it. */
void run(beats &a, const beats &b, qv_op op, qv_type type, bool in_place)
{
	const auto n = static_cast<uint32_t>(a.size());
	const uint32_t what = qv_hls_what(op, static_cast<uint32_t>(qv_hls_kind(op, type)));
	const uint32_t nonce = 77u * n + op;
	beats out(n + 1);

	a.resize(n + 1);
	qv_combine_hls(a.data(), b.data(), in_place ? a.data() : out.data(), n, what, nonce);
	const qv_hls_beat &end = in_place ? a[n] : out[n];
	expect(end.lane[0] == (static_cast<uint64_t>(QV_HLS_VERSION) << 32 | nonce) &&
		       end.lane[1] == (static_cast<uint64_t>(what) << 32 | n) && !end.lane[2],
	       op, type, "its last beat");
	if (!in_place)
		a = out;
	a.resize(n);
}

void corpus(const char *file)
{
	struct qv_vectors all;
	struct qv_vec_combine v;

	if (qv_vec_open(&all, file))
		std::exit(1);
	while (qv_vec_next_combine(&all, &v)) {
		const size_t item = qv_type_size(v.type), bytes = v.count * item;

		if (qv_hls_kind(v.op, v.type) < 0) {
			left_to_cpu++;
			continue;
		}
		beats a = as_beats(v.src[0], bytes);
		for (uint32_t j = 1; j < v.k; j++)
			run(a, as_beats(v.src[j], bytes), v.op, v.type, j % 2);
		const auto *got = reinterpret_cast<const char *>(a.data());
		for (uint32_t i = 0; i < v.count; i++)
			expect(qv_ref_same(v.op, v.type, got + i * item,
					   static_cast<const char *>(v.result) + i * item),
			       v.op, v.type, "an element of the corpus");
		elements += v.count;
	}
	qv_vec_close(&all);
}

void pair(qv_op op, qv_type type, size_t n)
{
	const size_t item = qv_type_size(type), count = n * sizeof(qv_hls_beat) / item;
	beats a(n), b(n);
	auto *x = reinterpret_cast<char *>(a.data()), *y = reinterpret_cast<char *>(b.data());

	for (size_t i = 0; i < count; i++) {
		qv_ref_draw(type, x + i * item);
		qv_ref_draw(type, y + i * item);
	}
	beats expected = a;
	auto *z = reinterpret_cast<char *>(expected.data());
	for (size_t i = 0; i < count; i++)
		qv_ref_combine(op, type, z + i * item, z + i * item, y + i * item);
	run(a, b, op, type, n % 2);
	x = reinterpret_cast<char *>(a.data());
	for (size_t i = 0; i < count; i++)
		expect(qv_ref_same(op, type, x + i * item, z + i * item), op, type, "an element");
	elements += static_cast<long>(count);
}

void every_pair(size_t n)
{
	for (int op = 0; op < QV_N_OPS; op++)
		for (int type = 0; type < QV_N_TYPES; type++) {
			const auto o = static_cast<qv_op>(op);
			const auto t = static_cast<qv_type>(type);

			if (qv_hls_kind(o, t) < 0) {
				left_to_cpu += qv_combine_defined(o, t);
				continue;
			}
			pair(o, t, n);
			pair(o, t, 1);
			pair(o, t, 0);
		}
}

/* What the kernel does not know gives zeroes and says so. */
void unknown()
{
	static const uint32_t all[] = {qv_hls_what(10, 2),
				       qv_hls_what(0, 5),
				       qv_hls_what(0, QV_HLS_REAL | 1),
				       qv_hls_what(0, QV_HLS_REAL | 4),
				       qv_hls_what(OP_BAND, QV_HLS_REAL | 2),
				       qv_hls_what(0, QV_HLS_REAL | QV_HLS_SIGNED | 2),
				       UINT32_MAX};

	for (const uint32_t what : all) {
		qv_hls_beat a = qv_hls_beat(), out[2];

		a.lane[3] = 5;
		qv_combine_hls(&a, &a, out, 1, what, 1);
		expect(out[0].lane[3] == 0 && out[1].lane[2] == 1, QV_OP_SUM, QV_TYPE_INT8,
		       "the kernel takes what it does not know");
	}
}
} // namespace

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	qv_sim::set_bounded(!std::strcmp(argv[1], "bounded"));
	unknown();
	if (!std::strcmp(argv[1], "corpus"))
		corpus(argv[2]);
	else
		every_pair(static_cast<size_t>(qv_tb_scaled(argv[2])));
	std::printf("combine: %ld elements, %ld kinds of arrays for the CPU: %ld wrong, %lu flows "
		    "stood still\n",
		    elements, left_to_cpu, wrong, qv_sim::stuck());
	return wrong || qv_sim::stuck() || !elements;
}
