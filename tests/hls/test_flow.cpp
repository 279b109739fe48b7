// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_flow.cpp - that the simulation finds what would stand still in hardware: the stages of
 * the combine kernel behind one port that reads a run of the left operand, then one of the right.
 * The stream of the left one must hold a run.
 */
#include "hls/qv_stages_hls.h"
#include "tb.h"

#define RUN 32

static int wrong;

#define EXPECT(x)                                                                   \
	do {                                                                        \
		if (!(x)) {                                                         \
			wrong++;                                                    \
			std::fprintf(stderr, "wrong: line %d: %s\n", __LINE__, #x); \
		}                                                                   \
	} while (0)

template <int D>
static void load_in_runs(const qv_hls_beat *a, const qv_hls_beat *b,
			 hls::stream<qv_hls_beat, D> &left, hls::stream<qv_hls_beat, D> &right,
			 uint32_t beats)
{
	for (uint32_t at = 0; at < beats; at += RUN) {
		const uint32_t end = beats - at < RUN ? beats : at + RUN;

		for (uint32_t i = at; i < end; i++)
			left.write(a[i]);
		for (uint32_t i = at; i < end; i++)
			right.write(b[i]);
	}
}

template <int D>
static void one_port(const qv_hls_beat *a, const qv_hls_beat *b, qv_hls_beat *out, uint32_t beats,
		     uint32_t what)
{
	hls::stream<qv_hls_beat, D> left, right, result;
	QV_HLS_FLOW;

	QV_HLS_STAGE(load_in_runs<D>, a, b, left, right, beats);
	QV_HLS_STAGE(qv_compute_beats<D>, left, right, result, beats, what);
	QV_HLS_STAGE(qv_store_beats<D>, result, out, beats, what, 1);
}

/* Whether it stands still; if not, it must have computed. */
template <int D> static bool stands_still(uint32_t beats)
{
	static qv_hls_beat a[4 * RUN], b[4 * RUN], out[4 * RUN + 1];
	const unsigned long before = qv_sim::stuck();

	for (uint32_t i = 0; i < beats; i++) {
		a[i].lane[0] = i;
		b[i].lane[0] = 1000;
		out[i].lane[0] = 0;
	}
	one_port<D>(a, b, out, beats, qv_hls_what(OP_SUM, 3));
	if (qv_sim::stuck() != before)
		return true;
	for (uint32_t i = 0; i < beats; i++)
		EXPECT(out[i].lane[0] == i + 1000);
	return false;
}

/* A stage that reads once more than is written, and one that writes what nobody reads. */
static void give(hls::stream<int, 4> &to, int n)
{
	for (int i = 0; i < n; i++)
		to.write(i);
}

static void take(hls::stream<int, 4> &from, int n)
{
	for (int i = 0; i < n; i++)
		from.read();
}

static bool transfer(int given, int taken)
{
	const unsigned long before = qv_sim::stuck();
	{
		hls::stream<int, 4> x;
		QV_HLS_FLOW;

		QV_HLS_STAGE(give, x, given);
		QV_HLS_STAGE(take, x, taken);
	}
	return qv_sim::stuck() == before;
}

int main()
{
	qv_sim::set_bounded(true, false);
	for (int i = 0; i < 20; i++) {
		EXPECT(!stands_still<RUN>(4 * RUN));
		EXPECT(!stands_still<RUN>(RUN + 1));
		/* One short. */
		EXPECT(stands_still<RUN - 2>(4 * RUN));
		EXPECT(stands_still<2>(4 * RUN));
		/* As long as nothing fills it, it does no harm. */
		EXPECT(!stands_still<2>(2));
		EXPECT(transfer(100, 100));
		EXPECT(transfer(104, 100));
		EXPECT(!transfer(105, 100));
		EXPECT(!transfer(99, 100));
	}
	/* In turn, streams that are too short are not seen, reading nothing is. */
	qv_sim::set_bounded(false, false);
	EXPECT(!stands_still<2>(4 * RUN));
	EXPECT(!transfer(99, 100));
	std::printf("flow: %lu planted faults found, %d wrong\n", qv_sim::stuck(), wrong);
	return wrong ? 1 : 0;
}
