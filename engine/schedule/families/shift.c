/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shift.c - alltoall and allgather in which every block goes straight to its rank, in
 * an order that does not make messages meet on a fat tree.
 */
#include "route.h"
#include "engine/schedule/schedule.h"

#include <stdlib.h>

#define DEFAULT_K 8 /* of the partitions */

/* Ranks that differ in the bits of i exchange. Partners that do not exist are left out. */
void qv_build_prefix(struct qv_builder *b)
{
	const uint32_t P = b->spec->ranks, r = b->rank, rounds = (2u << qv_log2(P - 1)) - 1;

	for (uint32_t i = 1; i <= rounds; i++) {
		const uint32_t peer = r ^ i;

		if (peer < P) {
			if (b->spec->coll == QV_COLL_ALLTOALL)
				qv_add_range(b, QV_STEP_SEND_IN, peer, peer, 1);
			else
				qv_add_range(b, QV_STEP_SEND, peer, r, 1);
			qv_add_range(b, QV_STEP_STORE, peer, peer, 1);
		}
		qv_add_round(b, rounds);
	}
}

/* By prefix among k neighbours, and from them to those k further on. */
void qv_build_kprefix(struct qv_builder *b)
{
	const uint32_t P = b->spec->ranks, r = b->rank;
	uint32_t k = 1, have = QV_STEP_NONE; /* the step by which the current block came */

	while (2 * k <= (b->spec->k ? b->spec->k : DEFAULT_K) && P % (2 * k) == 0)
		k *= 2;
	for (uint32_t t = 0; t < P; t += k) {
		const uint32_t block = (r + P - t) % P;

		for (uint32_t i = 1; i < k; i++) {
			const uint32_t peer = r ^ i;

			qv_add_send(b, peer, block, 1, have);
			qv_add_receive(b, QV_STEP_STORE, peer, (peer + P - t) % P, 1, QV_STEP_NONE);
			qv_add_round(b, P - 1);
		}
		if (t + k >= P)
			break;
		qv_add_send(b, (r + k) % P, block, 1, have);
		have = qv_add_receive(b, QV_STEP_STORE, (r + P - k) % P, (block + P - k) % P, 1,
				      QV_STEP_NONE);
		qv_add_round(b, P - 1);
	}
}

/* The block from `distance` below is passed on by `by`, unless all have it already. By how many
 * ranks a block has been passed is the same for all of them. came: by distance, 1 + step. */
static void pass(struct qv_builder *b, uint32_t *came, uint32_t distance, uint32_t by)
{
	const uint32_t P = b->spec->ranks, r = b->rank, sum = (distance + by) % P;

	if (!sum || came[sum])
		return;
	qv_add_send(b, (r + by) % P, (r + P - distance) % P, 1,
		    distance ? came[distance] - 1 : QV_STEP_NONE);
	came[sum] = 1 + qv_add_receive(b, QV_STEP_STORE, (r + P - by) % P, (r + P - sum) % P, 1,
				       QV_STEP_NONE);
	qv_add_round(b, P - 1);
}

/* To the k - 1 nearest ranks on both sides, and then k further on. */
void qv_build_kshift(struct qv_builder *b)
{
	const uint32_t P = b->spec->ranks;
	uint32_t k = b->spec->k ? b->spec->k : DEFAULT_K;
	uint32_t *came = calloc(P, sizeof(*came));

	k = k > P ? P : k;
	for (uint32_t t = 0; t < P && came; t += k) {
		for (uint32_t o = k / 2; o; o--)
			pass(b, came, t, P - o);
		for (uint32_t o = 1; o <= (k - 1) / 2; o++)
			pass(b, came, t, o);
		if (t + k < P)
			pass(b, came, t, k);
	}
	b->failed |= !came;
	free(came);
}
