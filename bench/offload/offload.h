/* SPDX-License-Identifier: BSD-2-Clause */
/* offload.h - matching and combining on a device beside the CPU. */
#ifndef BENCH_OFFLOAD_H
#define BENCH_OFFLOAD_H

#include "bench/common/bench.h"
#include "kernels/offload/offload.h"

#define QV_BO_KEYS  65536u
#define QV_BO_BYTES ((size_t)256 << 20)

enum qv_bo_keys { QV_BO_UNIQUE, QV_BO_SAME, QV_BO_WILD };

struct qv_bo_case {
	char name[QV_BENCH_NAME];
	bool match;
	bool posts;           /* of match: receives are posted to messages, not the other way */
	enum qv_bo_keys keys; /* of match */
	size_t piece;         /* bytes; not 0: pieces are packed */
	enum qv_op op;        /* else of combine */
	enum qv_type type;
	size_t size; /* messages, or bytes */
};

enum qv_bo_impl {
	QV_BO_CPU,    /* the engine, or the kernels of the widest ISA */
	QV_BO_WHOLE,  /* as the product does it: from queues or arrays and back */
	QV_BO_KERNEL, /* what the device says that its kernels took */
	QV_BO_IMPLS
};

/* What a run has open. */
struct qv_bo {
	const struct qv_offload_ops *ops;
	struct qv_offload_dev *dev; /* with times of kernels */
	struct qv_offload *offload; /* as the product has it */
	const struct qv_combine *cpu;
	bool impl[QV_BO_IMPLS];
	const char *names[QV_BO_IMPLS];
	char *arrays[4]; /* a, b, result, expected */
	size_t array_bytes;
	struct qv_bo_nodes *nodes;
	struct qv_offload_piece *pieces;
};

int qv_bench_offload(int argc, char **argv);

/* From cases.c. */

/* Cases of a run in the order of the table; the caller frees *out. Returns how many. */
size_t qv_bo_case_list(const struct qv_bench_opts *opts, struct qv_bo_case **out);
/* Whether the open device does that at all. */
bool qv_bo_case_done_there(const struct qv_bo *bo, const struct qv_bo_case *what);

/* From match.c. */

int qv_bo_nodes_open(struct qv_bo *bo);
void qv_bo_nodes_close(struct qv_bo *bo);
/* New keys for a case. */
void qv_bo_match_fill(struct qv_bo *bo, const struct qv_bo_case *what, uint64_t seed);
/* Seconds of one batch; 0 where it failed. *right: the answers are those of a plain search. */
double qv_bo_match(struct qv_bo *bo, const struct qv_bo_case *what, enum qv_bo_impl impl,
		   bool *right);

/* From pack.c. */

/* Pieces, as far apart as they are long. 0, or -1: no memory. */
int qv_bo_pack_fill(struct qv_bo *bo, const struct qv_bo_case *what, uint64_t seed);
double qv_bo_pack(struct qv_bo *bo, const struct qv_bo_case *what, enum qv_bo_impl impl,
		  bool *right);

/* From combine.c. */

void qv_bo_combine_fill(struct qv_bo *bo, const struct qv_bo_case *what, uint64_t seed);
double qv_bo_combine(struct qv_bo *bo, const struct qv_bo_case *what, enum qv_bo_impl impl,
		     bool *right);

#endif /* BENCH_OFFLOAD_H */
