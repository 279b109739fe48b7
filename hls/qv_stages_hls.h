// SPDX-License-Identifier: BSD-2-Clause
/* qv_stages_hls.h - the stages of the combine kernel. D: elements that a stream holds. */
#ifndef QV_STAGES_HLS_H
#define QV_STAGES_HLS_H

#include "qv_hls_flow.h"
#include "qv_lanes_hls.h"

#define QV_HLS_STREAM 16

template <int D>
static void qv_load_beats(const qv_hls_beat *from, hls::stream<qv_hls_beat, D> &to, uint32_t beats)
{
	for (uint32_t i = 0; i < beats; i++) {
#pragma HLS PIPELINE II = 1
		to.write(from[i]);
	}
}

template <int D>
static void qv_compute_beats(hls::stream<qv_hls_beat, D> &left, hls::stream<qv_hls_beat, D> &right,
			     hls::stream<qv_hls_beat, D> &result, uint32_t beats, uint32_t what)
{
	for (uint32_t i = 0; i < beats; i++) {
#pragma HLS PIPELINE II = 1
		const qv_hls_beat a = left.read();
		const qv_hls_beat b = right.read();

		result.write(qv_lanes(a, b, what));
	}
}

template <int D>
static void qv_store_beats(hls::stream<qv_hls_beat, D> &result, qv_hls_beat *out, uint32_t beats,
			   uint32_t what, uint32_t nonce)
{
	qv_hls_beat end = qv_hls_beat();

	for (uint32_t i = 0; i < beats; i++) {
#pragma HLS PIPELINE II = 1
		out[i] = result.read();
	}
	end.lane[0] = static_cast<uint64_t>(QV_HLS_VERSION) << 32 | nonce;
	end.lane[1] = static_cast<uint64_t>(what) << 32 | beats;
	end.lane[2] = !qv_lanes_know(what);
	out[beats] = end;
}

#endif /* QV_STAGES_HLS_H */
