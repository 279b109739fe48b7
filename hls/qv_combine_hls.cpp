// SPDX-License-Identifier: BSD-2-Clause
/*
 * qv_combine_hls.cpp - out = a op b, 64 bytes of each per cycle: a stage per port, and one that
 * computes, none of which carries anything from beat to beat. The arithmetic: qv_lanes_hls.h.
 */
#include "qv_lanes_hls.h"
#include "qv_stages_hls.h"

extern "C" void qv_combine_hls(const qv_hls_beat *a, const qv_hls_beat *b, qv_hls_beat *out,
			       uint32_t beats, uint32_t what, uint32_t nonce)
{
#pragma HLS INTERFACE m_axi port = a bundle = gmem0 offset = slave
#pragma HLS INTERFACE m_axi port = b bundle = gmem1 offset = slave
#pragma HLS INTERFACE m_axi port = out bundle = gmem2 offset = slave
#pragma HLS INTERFACE s_axilite port = beats
#pragma HLS INTERFACE s_axilite port = what
#pragma HLS INTERFACE s_axilite port = nonce
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS DATAFLOW
	hls::stream<qv_hls_beat, QV_HLS_STREAM> left, right, result;
	QV_HLS_FLOW;

	QV_HLS_STAGE(qv_load_beats<QV_HLS_STREAM>, a, left, beats);
	QV_HLS_STAGE(qv_load_beats<QV_HLS_STREAM>, b, right, beats);
	QV_HLS_STAGE(qv_compute_beats<QV_HLS_STREAM>, left, right, result, beats, what);
	QV_HLS_STAGE(qv_store_beats<QV_HLS_STREAM>, result, out, beats, what, nonce);
}
