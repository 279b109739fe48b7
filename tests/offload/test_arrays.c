/* SPDX-License-Identifier: BSD-2-Clause */
/* test_arrays.c - arrays combined, messages packed, by a device that fails or does not. */
#include "tests/kernel/combine_ref.h"
#include "guard.h"

#include <string.h>

static void arrays(void)
{
	static const int status[] = {QV_OK, QV_EIO, QV_EPEER};
	const struct qv_combine *cpu;
	char a[64 * 32], b[64 * 32], expected[64 * 32];
	const void *src[3] = {a, b, b};

	qv_combine_open(QV_ISA_AUTO, &cpu);
	for (int i = 0; i < 3; i++) {
		for (int type = 0; type < QV_N_TYPES; type++) {
			const size_t item = qv_type_size(type);
			struct qv_offload *o = qv_guard_open(1, 3);
			struct qv_offload_stats stats;

			qv_loop.status = status[i];
			for (size_t e = 0; e < 64; e++) {
				qv_ref_draw(type, a + e * item);
				qv_ref_draw(type, b + e * item);
			}
			qv_combine_many(cpu, QV_OP_SUM, type, expected, src, 3, 64);
			EXPECT(!qv_offload_combine_many(o, cpu, QV_OP_SUM, type, a, src, 3, 64));
			for (size_t e = 0; e < 64; e++)
				EXPECT(qv_ref_same(QV_OP_SUM, type, a + e * item,
						   expected + e * item));
			EXPECT(qv_offload_combine(o, cpu, QV_OP_SUM, type, a, a + 1, b, 4) ==
			       QV_EINVAL);
			qv_offload_get_stats(o, &stats);
			if (type == QV_TYPE_LONG_DOUBLE)
				EXPECT(stats.refused && !stats.arrays && !stats.failed);
			else
				EXPECT(stats.arrays == !status[i] &&
				       stats.failed == (status[i] != 0));
			qv_offload_destroy(o);
		}
	}
}

static void packs(void)
{
	const struct qv_offload_piece pieces[] = {{3, 5}, {20, 0}, {9, 7}}, far = {1, UINT64_MAX};
	char src[32], dst[32], back[32];

	for (int i = 0; i < 32; i++)
		src[i] = (char)i;
	for (int status = QV_OK; status >= QV_EIO; status += QV_EIO) {
		struct qv_offload *o = qv_guard_open(1, 3);
		struct qv_offload_stats stats;

		qv_loop.status = status;
		EXPECT(!qv_offload_pack(o, dst, src, pieces, 3));
		EXPECT(!memcmp(dst, src + 3, 5) && !memcmp(dst + 5, src + 9, 7));
		qv_offload_get_stats(o, &stats);
		EXPECT(stats.packs == !status && stats.failed == (status != 0));
		qv_loop.status = QV_EIO;
		memset(back, 0, sizeof(back));
		EXPECT(!qv_offload_unpack(o, back, dst, pieces, 3));
		EXPECT(!memcmp(back + 3, src + 3, 5) && !memcmp(back + 9, src + 9, 7));
		EXPECT(!back[2] && !back[8] && !back[16]);
		EXPECT(qv_offload_pack(o, dst, src, &far, 1) == QV_EINVAL);
		qv_offload_destroy(o);
	}
}

int main(void)
{
	arrays();
	packs();
	printf("%d wrong\n", qv_guard_wrong);
	return qv_guard_wrong ? 1 : 0;
}
