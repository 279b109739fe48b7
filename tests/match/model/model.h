/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - an engine and the linear oracle side by side: each call is made on both, and the
 * program ends with a line if they differ. What tests that draw their operations share.
 */
#ifndef QV_MODEL_H
#define QV_MODEL_H

#include "engine/match/structure.h"
#include "nodes.h"
#include "oracle.h"

/* Longest batch. */
#define QV_MODEL_MANY 16

/* How an engine is made, and which of its allocations fail. */
struct qv_model_set {
	const struct qv_match_settings *settings;
	uint64_t first_seq;
	/* 1: the allocation that is asked for now shall fail. NULL: none does. */
	int (*fails)(void *ctx);
	void *ctx;
};

struct qv_model {
	struct qv_match *m;
	struct qv_oracle o;
	struct qv_nodes *nodes;
	struct qv_model_set set;
	struct qv_match_settings settings;
	struct qv_match_stats want;
	const char *what; /* for the line: what is being tested */
	uint64_t ops;     /* calls so far */
	uint64_t refused; /* of them: QV_ENOMEM */
	uint64_t queued;  /* receives that found no message */
	long out;         /* allocations that are out */
};

/* Status of qv_match_create. The nodes serve one model after the other. */
int qv_model_init(struct qv_model *t, const struct qv_model_set *set, struct qv_nodes *nodes);
/* The engine goes, with whatever it holds; it must give all its memory back. */
void qv_model_fini(struct qv_model *t);

/* want: tag, ignore, src and flags of the receive. */
void qv_model_post(struct qv_model *t, const struct qv_recv *want);
void qv_model_post_many(struct qv_model *t, const struct qv_recv *want, size_t n);
/* drop: an unexpected message is not queued: the caller may have other plans with it. */
void qv_model_arrive(struct qv_model *t, uint64_t tag, uint32_t src, int drop);
/* Arrival and queueing in one call. */
void qv_model_deliver(struct qv_model *t, uint64_t tag, uint32_t src);
/* want: tags and sources. */
void qv_model_arrive_many(struct qv_model *t, const struct qv_msg *want, size_t n);
/* take: if there is a message, remove it. */
void qv_model_peek(struct qv_model *t, const struct qv_recv *want, int take);
/* The i-th receive, or message, of the queue, oldest first. */
void qv_model_cancel(struct qv_model *t, size_t i);
void qv_model_take(struct qv_model *t, size_t i);

/* The queues have the same entries, in the same order, with their keys untouched. */
void qv_model_check_order(struct qv_model *t);
/* The counters say what has been done. */
void qv_model_check_stats(struct qv_model *t);
/* Cancel and take all, from alternating ends, and check that nothing is left. */
void qv_model_drain(struct qv_model *t);

#endif /* QV_MODEL_H */
