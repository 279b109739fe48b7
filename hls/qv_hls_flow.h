/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_hls_flow.h - streams and the stages between them: the vendor's for synthesis, ours for any C++
 * compiler. A kernel declares its streams, then QV_HLS_FLOW, then one QV_HLS_STAGE per function.
 */
#ifndef QV_HLS_FLOW_H
#define QV_HLS_FLOW_H

#if defined(__SYNTHESIS__)
#include <hls_stream.h>
#define QV_HLS_FLOW
#define QV_HLS_STAGE(f, ...) f(__VA_ARGS__)
#else
#include "sim/qv_hls_sim.h"
#define QV_HLS_FLOW          qv_sim::flow qv_flow
#define QV_HLS_STAGE(f, ...) qv_flow.run([&] { f(__VA_ARGS__); })
#endif

#endif /* QV_HLS_FLOW_H */
