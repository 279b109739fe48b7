// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_match.cpp - the match kernel in C simulation against the definition.
 *
 *     test_match corpus FILE       the batches of the vector corpus, their oldest entries
 *     test_match random N SEED     random batches with N messages in all (times QV_TEST_SCALE)
 *     test_match bounded N SEED    the same, stages as threads and streams as long as they are
 */
#include "hls/qv_hls.h"
#include "tb.h"

#include <cstring>
#include <vector>

namespace
{
typedef std::vector<qv_offload_key> keys;

long messages, wrong;

std::vector<qv_hls_key> packed(const qv_offload_key *from, uint32_t n)
{
	std::vector<qv_hls_key> to(n);

	for (uint32_t i = 0; i < n; i++) {
		to[i].tag = from[i].tag;
		to[i].care = ~from[i].ignore;
		to[i].src = from[i].src;
		to[i].src_care = from[i].src == QV_SRC_ANY ? 0 : UINT32_MAX;
	}
	return to;
}

void expect(bool good, const char *what, uint32_t n, uint32_t m, uint32_t at)
{
	if (good || wrong++ > 10)
		return;
	std::fprintf(stderr, "wrong: %s, %u entries, %u queries, at %u\n", what, n, m, at);
}

/* expected: the answers to the queries among the entries that the kernel looks at. */
void one(const keys &entries, const keys &queries, const std::vector<uint32_t> &expected,
	 uint32_t nonce)
{
	const auto n = static_cast<uint32_t>(entries.size());
	const auto m = static_cast<uint32_t>(queries.size());
	const std::vector<qv_hls_key> e = packed(entries.data(), n), q = packed(queries.data(), m);
	std::vector<uint32_t> out(m + QV_HLS_MATCH_WORDS + 1, 0x12345678);
	uint32_t seal = nonce;

	for (uint32_t i = 0; i < n && i < QV_HLS_DEPTH; i++)
		seal += qv_hls_print(&e[i], i);
	for (uint32_t i = 0; i < m; i++)
		seal += qv_hls_print(&q[i], QV_HLS_DEPTH + i);
	qv_match_hls(e.data(), q.data(), out.data(), n, m, nonce);
	for (uint32_t i = 0; i < m; i++) {
		expect(out[i] == expected[i], "an answer", n, m, i);
		if (expected[i] != QV_HLS_NONE)
			seal += qv_hls_seal(i, expected[i]);
	}
	expect(out[m + QV_HLS_MATCH_SEAL] == seal, "the seal", n, m, 0);
	expect(out[m + QV_HLS_MATCH_VERSION] == QV_HLS_VERSION, "the version", n, m, 0);
	expect(out[m + QV_HLS_MATCH_DEPTH] == QV_HLS_DEPTH, "the depth", n, m, 0);
	expect(out[m + QV_HLS_MATCH_WORDS] == 0x12345678, "written behind the end", n, m, 0);
	messages += m;
}

std::vector<uint32_t> answers(const keys &entries, const keys &queries)
{
	const auto n = static_cast<uint32_t>(entries.size());
	const auto m = static_cast<uint32_t>(queries.size());
	std::vector<uint8_t> taken(n + 1);
	std::vector<uint32_t> result(m + 1);

	qv_vec_match(entries.data(), n < QV_HLS_DEPTH ? n : QV_HLS_DEPTH, queries.data(), m,
		     taken.data(), result.data());
	return result;
}

void corpus(const char *file)
{
	struct qv_vectors all;
	struct qv_vec_match v;
	long batches = 0;

	if (qv_vec_open(&all, file))
		std::exit(1);
	for (; qv_vec_next_match(&all, &v); batches++) {
		const keys entries(v.entries, v.entries + v.n), queries(v.queries, v.queries + v.m);
		std::vector<uint32_t> expected(v.result, v.result + v.m);

		if (v.n > QV_HLS_DEPTH)
			expected = answers(entries, queries);
		one(entries, queries, expected, static_cast<uint32_t>(batches));
	}
	qv_vec_close(&all);
	wrong += !batches;
}

/* Batches of all kinds; now and then one without entries, or queries, or with too many entries. */
void random_batches(long total, uint64_t seed)
{
	struct qv_vec_rnd rnd = {seed};

	while (messages < total && wrong < 10) {
		const uint64_t r = qv_vec_random(&rnd);
		const auto n = static_cast<uint32_t>(r % (QV_HLS_DEPTH + 9));
		const auto m = static_cast<uint32_t>((r >> 16) % 400);
		keys entries(n), queries(m);

		qv_vec_draw(&rnd, static_cast<qv_vec_kind>((r >> 32) % QV_VEC_KINDS),
			    entries.data(), n, queries.data(), m);
		one(entries, queries, answers(entries, queries), static_cast<uint32_t>(r >> 8));
	}
}
} // namespace

int main(int argc, char **argv)
{
	if (argc == 3 && !std::strcmp(argv[1], "corpus")) {
		corpus(argv[2]);
	} else if (argc == 4) {
		qv_sim::set_bounded(!std::strcmp(argv[1], "bounded"));
		random_batches(qv_tb_scaled(argv[2]), std::strtoull(argv[3], nullptr, 10));
	} else {
		return 2;
	}
	std::printf("match: %ld messages, depth %d: %ld wrong, %lu flows stood still\n", messages,
		    QV_HLS_DEPTH, wrong, qv_sim::stuck());
	return wrong || qv_sim::stuck() || !messages;
}
