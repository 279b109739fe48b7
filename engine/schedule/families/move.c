/* SPDX-License-Identifier: BSD-2-Clause */
/* move.c - collectives that combine nothing: barrier, broadcast,
 * gather, scatter, ... */
#include "engine/schedule/schedule.h"

/* Trees whose messages hold the blocks of a subtree. */

/* Ranks counted from the root, so that it is 0. */
static uint32_t counted(const struct qv_builder *b)
{
	return (b->rank + b->spec->ranks - b->spec->root) % b->spec->ranks;
}

static uint32_t uncounted(const struct qv_builder *b, uint32_t v)
{
	return (uint32_t)(((uint64_t)v + b->spec->root) % b->spec->ranks);
}

/* The blocks of the ranks counted low .. high-1, or as many of them as there are. */
static void subtree(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t low,
		    uint32_t high)
{
	const uint32_t P = b->spec->ranks;

	qv_add_range(b, kind, uncounted(b, peer), uncounted(b, low), (high < P ? high : P) - low);
}

void qv_build_gather(struct qv_builder *b)
{
	const uint32_t v = counted(b);

	for (uint32_t k = 1; k < b->spec->ranks; k *= 2) {
		qv_add_fence(b);
		if (v & k) {
			subtree(b, QV_STEP_SEND, v - k, v, v + k);
			return;
		}
		if (v + k < b->spec->ranks)
			subtree(b, QV_STEP_STORE, v + k, v + k, v + 2 * k);
	}
}

void qv_build_scatter(struct qv_builder *b)
{
	const uint32_t v = counted(b);
	uint32_t k = 1;

	while (k < b->spec->ranks && !(v & k))
		k *= 2;
	if (v)
		subtree(b, QV_STEP_STORE, v - k, v, v + k);
	qv_add_fence(b);
	for (k /= 2; k; k /= 2)
		if (v + k < b->spec->ranks)
			subtree(b, QV_STEP_SEND, v + k, v + k, v + 2 * k);
}

/* Rings and the like. */

void qv_build_round_trip(struct qv_builder *b)
{
	const uint32_t P = b->spec->ranks, r = b->rank, down = (r + P - 1) % P, up = (r + 1) % P;

	for (uint32_t i = 0; i < P - 1; i++) {
		qv_add_send(b, down, (r + i) % P, 1, QV_STEP_NONE);
		qv_add_receive(b, QV_STEP_STORE, up, (r + i + 1) % P, 1, QV_STEP_NONE);
		qv_add_fence(b);
	}
}

/* Before round k each rank has the blocks of 2^k ranks from its own on; it gives them to the rank
 * so many below. */
static void double_up(struct qv_builder *b)
{
	const uint32_t P = b->spec->ranks, r = b->rank;

	for (uint32_t have = 1; have < P; have *= 2) {
		const uint32_t n = have < P - have ? have : P - have;

		qv_add_range(b, QV_STEP_SEND, (r + P - have) % P, r, n);
		qv_add_range(b, QV_STEP_STORE, (r + have) % P, (r + have) % P, n);
		qv_add_fence(b);
	}
}

/* Segment by segment down a tree in which each rank has so many children, 1 of a chain. */
static void tree_down(struct qv_builder *b, uint32_t children)
{
	const uint32_t v = counted(b), first = children * v + 1;

	for (uint32_t i = 0; i < b->s->blocks; i++) {
		uint32_t got = QV_STEP_NONE;

		if (v)
			got = qv_add_receive(b, QV_STEP_STORE, uncounted(b, (v - 1) / children), i,
					     1, got);
		for (uint32_t c = first; c < first + children && c < b->spec->ranks; c++)
			qv_add_send(b, uncounted(b, c), i, 1, got);
	}
}

/* Everyone to its peers, not all to the same one at a time. */

static void to_root(struct qv_builder *b, int scatter)
{
	const uint32_t root = b->spec->root, r = b->rank;
	const enum qv_step_kind out = scatter ? QV_STEP_STORE : QV_STEP_SEND;
	const enum qv_step_kind in = scatter ? QV_STEP_SEND : QV_STEP_STORE;

	if (r != root)
		qv_add_range(b, out, root, r, 1);
	for (uint32_t v = 1; v < b->spec->ranks && r == root; v++)
		qv_add_range(b, in, uncounted(b, v), uncounted(b, v), 1);
}

static void to_all(struct qv_builder *b, int different)
{
	const uint32_t P = b->spec->ranks, r = b->rank;

	for (uint32_t i = 1; i < P; i++) {
		const uint32_t out = (r + i) % P, in = (r + P - i) % P;

		if (different)
			qv_add_range(b, QV_STEP_SEND_IN, out, out, 1);
		else
			qv_add_range(b, QV_STEP_SEND, out, r, 1);
		qv_add_range(b, QV_STEP_STORE, in, in, 1);
		qv_add_round(b, P - 1);
	}
}

/* Barrier. */

static void disseminate(struct qv_builder *b)
{
	const uint32_t P = b->spec->ranks, r = b->rank;

	for (uint32_t k = 1; k < P; k *= 2) {
		qv_add_signal(b, QV_STEP_SEND, (r + k) % P);
		qv_add_signal(b, QV_STEP_STORE, (r + P - k) % P);
		qv_add_fence(b);
	}
}

void qv_add_round(struct qv_builder *b, uint32_t of)
{
	b->rounds++;
	if (!b->spec->pace || b->rounds % b->spec->pace || b->rounds >= of)
		return;
	qv_add_fence(b);
	disseminate(b);
}

/* Up a tree and down again. */
static void up_and_down(struct qv_builder *b)
{
	const uint32_t P = b->spec->ranks, r = b->rank;
	uint32_t k = 1;

	for (; k < P && !(r & k); k *= 2)
		if (r + k < P)
			qv_add_signal(b, QV_STEP_STORE, r + k);
	qv_add_fence(b);
	if (r) {
		qv_add_signal(b, QV_STEP_SEND, r - k);
		qv_add_fence(b);
		qv_add_signal(b, QV_STEP_STORE, r - k);
		qv_add_fence(b);
	}
	for (k /= 2; k; k /= 2)
		if (r + k < P)
			qv_add_signal(b, QV_STEP_SEND, r + k);
}

void qv_build_move(struct qv_builder *b)
{
	const enum qv_algorithm algorithm = b->spec->algorithm;

	switch (algorithm) {
	case QV_ALG_MESH2:
	case QV_ALG_MESH3:
	case QV_ALG_HYPERCUBE:
	case QV_ALG_HYBRID: qv_build_forward(b); return;
	case QV_ALG_PREFIX: qv_build_prefix(b); return;
	case QV_ALG_KPREFIX: qv_build_kprefix(b); return;
	case QV_ALG_KSHIFT: qv_build_kshift(b); return;
	default: break;
	}
	switch (b->spec->coll) {
	case QV_COLL_BARRIER:
		algorithm == QV_ALG_BINOMIAL ? up_and_down(b) : disseminate(b);
		return;
	case QV_COLL_BROADCAST:
		if (algorithm == QV_ALG_PIPELINE || algorithm == QV_ALG_BINARY) {
			tree_down(b, algorithm == QV_ALG_BINARY ? 2 : 1);
			return;
		}
		qv_build_scatter(b);
		qv_add_fence(b);
		qv_build_round_trip(b);
		return;
	case QV_COLL_GATHER:
		algorithm == QV_ALG_DIRECT ? to_root(b, 0) : qv_build_gather(b);
		return;
	case QV_COLL_SCATTER:
		algorithm == QV_ALG_DIRECT ? to_root(b, 1) : qv_build_scatter(b);
		return;
	case QV_COLL_ALLGATHER:
		if (algorithm == QV_ALG_DIRECT)
			to_all(b, 0);
		else if (algorithm == QV_ALG_RING)
			qv_build_round_trip(b);
		else
			double_up(b);
		return;
	default: to_all(b, 1); return;
	}
}
