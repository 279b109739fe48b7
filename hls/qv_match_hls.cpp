// SPDX-License-Identifier: BSD-2-Clause
/*
 * qv_match_hls.cpp - the match unit: a batch of queries against the oldest QV_HLS_DEPTH entries.
 *
 * Made for one query per cycle. All entries are in registers and compare themselves with the query
 * at once; of the result of one query, the next needs only which entries are left, a bit each. So
 * the compares can be spread over as many cycles as the clock asks for, and the loop that is
 * carried from query to query is a choice of the first set bit and an AND.
 */
#include "qv_hls.h"
#include "qv_hls_flow.h"

#define STREAM 16

struct answer {
	uint32_t entry;
	uint32_t seal; /* what it adds to the seal; behind the last answer, what the entries add */
};

template <int D>
static void load(const qv_hls_key *from, hls::stream<qv_hls_key, D> &to, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
#pragma HLS PIPELINE II = 1
		to.write(from[i]);
	}
}

static bool accepts(const qv_hls_key &e, const qv_hls_key &q)
{
#pragma HLS INLINE
	const bool tag = ((e.tag ^ q.tag) & e.care & q.care) == 0;
	const bool src = ((e.src ^ q.src) & e.src_care & q.src_care) == 0;

	return tag && src;
}

/* One query: the first entry left that accepts it. */
static uint32_t take_first(const qv_hls_key (&entry)[QV_HLS_DEPTH], bool (&left)[QV_HLS_DEPTH],
			   const qv_hls_key &query)
{
#pragma HLS INLINE
	bool hit[QV_HLS_DEPTH];
#pragma HLS ARRAY_PARTITION variable = hit complete
	uint32_t first = QV_HLS_NONE;

	for (uint32_t i = 0; i < QV_HLS_DEPTH; i++) {
#pragma HLS UNROLL
		hit[i] = accepts(entry[i], query);
	}
	for (uint32_t i = 0; i < QV_HLS_DEPTH; i++) {
#pragma HLS UNROLL
		const bool takes = hit[i] && left[i] && first == QV_HLS_NONE;

		if (takes)
			first = i;
		left[i] = left[i] && !takes;
	}
	return first;
}

static void match(hls::stream<qv_hls_key, STREAM> &entries,
		  hls::stream<qv_hls_key, STREAM> &queries, hls::stream<answer, STREAM> &answers,
		  uint32_t n, uint32_t m)
{
	qv_hls_key entry[QV_HLS_DEPTH];
	bool left[QV_HLS_DEPTH];
#pragma HLS ARRAY_PARTITION variable = entry complete
#pragma HLS ARRAY_PARTITION variable = left complete

	for (uint32_t i = 0; i < QV_HLS_DEPTH; i++) {
#pragma HLS UNROLL
		entry[i] = qv_hls_key();
		left[i] = i < n;
	}
	answer last = {QV_HLS_NONE, 0};

	for (uint32_t i = 0; i < n; i++) {
#pragma HLS PIPELINE II = 1
#pragma HLS LOOP_TRIPCOUNT min = 1 max = QV_HLS_DEPTH
		const qv_hls_key e = entries.read();

		entry[i] = e;
		last.seal += qv_hls_print(&e, i);
	}
	for (uint32_t i = 0; i < m; i++) {
#pragma HLS PIPELINE II = 1
		const qv_hls_key q = queries.read();
		answer a;

		a.entry = take_first(entry, left, q);
		a.seal = qv_hls_print(&q, QV_HLS_DEPTH + i);
		if (a.entry != QV_HLS_NONE)
			a.seal += qv_hls_seal(i, a.entry);
		answers.write(a);
	}
	answers.write(last);
}

static void store(hls::stream<answer, STREAM> &answers, uint32_t *out, uint32_t m, uint32_t nonce)
{
	uint32_t seal = nonce;

	for (uint32_t i = 0; i < m; i++) {
#pragma HLS PIPELINE II = 1
		const answer a = answers.read();

		out[i] = a.entry;
		seal += a.seal;
	}
	seal += answers.read().seal;
	for (uint32_t i = 0; i < QV_HLS_MATCH_WORDS; i++) {
#pragma HLS PIPELINE II = 1
		out[m + i] = i == QV_HLS_MATCH_SEAL      ? seal
			     : i == QV_HLS_MATCH_VERSION ? QV_HLS_VERSION
							 : QV_HLS_DEPTH;
	}
}

extern "C" void qv_match_hls(const qv_hls_key *entries, const qv_hls_key *queries, uint32_t *out,
			     uint32_t n, uint32_t m, uint32_t nonce)
{
#pragma HLS INTERFACE m_axi port = entries bundle = gmem0 offset = slave max_widen_bitwidth = 512
#pragma HLS INTERFACE m_axi port = queries bundle = gmem1 offset = slave max_widen_bitwidth = 512
#pragma HLS INTERFACE m_axi port = out bundle = gmem2 offset = slave max_widen_bitwidth = 512
#pragma HLS INTERFACE s_axilite port = n
#pragma HLS INTERFACE s_axilite port = m
#pragma HLS INTERFACE s_axilite port = nonce
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS DATAFLOW
	const uint32_t held = n < QV_HLS_DEPTH ? n : QV_HLS_DEPTH;
	hls::stream<qv_hls_key, STREAM> entry_stream;
	hls::stream<qv_hls_key, STREAM> query_stream;
	hls::stream<answer, STREAM> answers;
	QV_HLS_FLOW;

	QV_HLS_STAGE(load<STREAM>, entries, entry_stream, held);
	QV_HLS_STAGE(load<STREAM>, queries, query_stream, m);
	QV_HLS_STAGE(match, entry_stream, query_stream, answers, held, m);
	QV_HLS_STAGE(store, answers, out, m, nonce);
}
