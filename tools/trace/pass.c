/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pass.c - a lane over one engine.
 *
 * The key of an entry is written right before its call, as a program does it: that is part of what
 * is timed. The answers are added up, and the sum is compared after the clock has stopped.
 */
#include "pass.h"
#include "engine/base/clock.h"
#include "engine/base/compiler.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LONG_NS 1e6 /* from here on the CPU time counts, in which no other program has a part */
#define LOOKS   64  /* operations between two looks at the clock */

/* Implementations. */

static bool has_call(const struct qv_contender *ops, const struct qv_load_op *op)
{
	switch (op->kind) {
	case QV_LOAD_POST: return !op->persistent;
	case QV_LOAD_DELIVER: return true;
	case QV_LOAD_CANCEL: return ops->cancel;
	}
	return false;
}

const char *qv_pass_unfit(const struct qv_bm_impl *impl, const struct qv_load_lane *lane)
{
	for (size_t i = 0; i < lane->ops_n && !impl->own; i++) {
		const struct qv_load_op *op = &lane->ops[i];

		if (!has_call(&impl->ops, op))
			return op->kind == QV_LOAD_POST     ? "has no persistent receives"
			       : op->kind == QV_LOAD_CANCEL ? "has no cancel"
							    : "has no calls to look, take or queue";
		if (op->kind != QV_LOAD_POST)
			continue;
		if (op->src == QV_SRC_ANY && !(impl->ops.flags & QV_CONTENDER_ANY_SOURCE))
			return "has no any-source receives";
		if (op->ignore && !(impl->ops.flags & QV_CONTENDER_ANY_TAG))
			return "has no any-tag receives";
	}
	return NULL;
}

/* Entries. */

bool qv_pass_arena_fits(struct qv_pass_arena *arena, size_t stride, const struct qv_load_lane *lane)
{
	size_t bytes = ((size_t)lane->recvs + lane->msgs) * stride;

	arena->stride = stride;
	if (bytes <= arena->bytes)
		return true;
	qv_pass_arena_free(arena);
	arena->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena->at == MAP_FAILED) {
		arena->at = NULL;
		return false;
	}
	arena->bytes = bytes;
	return true;
}

void qv_pass_arena_free(struct qv_pass_arena *arena)
{
	if (arena->at)
		munmap(arena->at, arena->bytes);
	arena->at = NULL;
	arena->bytes = 0;
}

bool qv_pass_begin(struct qv_pass *p, const struct qv_pass_arena *arena)
{
	p->stride = arena->stride;
	p->recvs = arena->at;
	p->msgs = arena->at + (size_t)p->lane->recvs * arena->stride;
	p->engine = p->impl->ops.create(&p->impl->ops);
	return p->engine;
}

void qv_pass_end(struct qv_pass *p)
{
	p->impl->ops.destroy(p->engine);
	p->engine = NULL;
}

QV_INLINE void *recv_of(const struct qv_pass *p, uint32_t number)
{
	return p->recvs + number * p->stride;
}

QV_INLINE void *msg_of(const struct qv_pass *p, uint32_t number)
{
	return p->msgs + number * p->stride;
}

/* Operations. */

QV_INLINE void *init_recv(const struct qv_pass *p, const struct qv_load_op *op)
{
	struct qv_recv *recv = recv_of(p, op->entry);

	if (QV_LIKELY(p->impl->own)) {
		recv->tag = op->tag;
		recv->ignore = op->ignore;
		recv->src = op->src;
		recv->flags = op->persistent ? QV_RECV_STICKY : 0;
	} else {
		p->impl->ops.recv_init(recv, op->tag, op->ignore, op->src);
	}
	return recv;
}

QV_INLINE void *init_msg(const struct qv_pass *p, const struct qv_load_op *op)
{
	struct qv_msg *msg = msg_of(p, op->entry);

	if (QV_LIKELY(p->impl->own)) {
		msg->tag = op->tag;
		msg->src = op->src;
		msg->flags = 0;
	} else {
		p->impl->ops.msg_init(msg, op->tag, op->src);
	}
	return msg;
}

/* One operation. 0; else the call returned an error. *found is NULL before, or, in a check, what no
 * answer is: an implementation has to write it. */
QV_INLINE int call(const struct qv_pass *p, const struct qv_load_op *op, qv_bm_answer *found)
{
	const struct qv_contender *ops = &p->impl->ops;

	switch (op->kind) {
	case QV_LOAD_POST: return ops->post(p->engine, init_recv(p, op), found);
	case QV_LOAD_DELIVER: return ops->arrive(p->engine, init_msg(p, op), found);
	case QV_LOAD_CANCEL: return ops->cancel(p->engine, recv_of(p, op->entry));
	case QV_LOAD_ARRIVE: *found = qv_match_arrive(p->engine, op->tag, op->src); return 0;
	case QV_LOAD_QUEUE: return qv_match_queue(p->engine, init_msg(p, op));
	case QV_LOAD_PEEK:
		*found = qv_match_peek(p->engine, op->tag, op->ignore, op->src);
		return 0;
	default: qv_match_take(p->engine, msg_of(p, op->entry)); return 0;
	}
}

QV_INLINE void *recorded(const struct qv_pass *p, const struct qv_load_op *op)
{
	if (!op->answer)
		return NULL;
	return op->kind == QV_LOAD_DELIVER ? recv_of(p, op->answer - 1) : msg_of(p, op->answer - 1);
}

/* Checked. */

/* Of one more lane: counters are added up, of high-water marks the highest is kept. */
static void add_stats(const struct qv_pass *p, struct qv_match_stats *sum)
{
	struct qv_match_stats s;

	if (!p->impl->own)
		return;
	qv_match_get_stats(p->engine, &s);
	sum->posted += s.posted;
	sum->arrived += s.arrived;
	sum->matched += s.matched;
	sum->unexpected += s.unexpected;
	sum->inspected += s.inspected;
	sum->mode_flips += s.mode_flips;
	if (s.posted_max > sum->posted_max)
		sum->posted_max = s.posted_max;
	if (s.unexpected_max > sum->unexpected_max)
		sum->unexpected_max = s.unexpected_max;
}

static uint64_t inspected(const struct qv_pass *p)
{
	struct qv_match_stats stats;

	if (!p->impl->own)
		return 0;
	qv_match_get_stats(p->engine, &stats);
	return stats.inspected;
}

static void count(const struct qv_pass *p, const struct qv_load_op *op, uint64_t entries,
		  struct qv_pass_counts *counts)
{
	const bool searches =
		op->kind != QV_LOAD_QUEUE && op->kind != QV_LOAD_TAKE && op->kind != QV_LOAD_CANCEL;

	counts->done++;
	if (searches && op->answer) {
		counts->hits++;
		counts->inspected_hit += entries;
	} else if (searches) {
		counts->misses++;
		counts->inspected_miss += entries;
	}
	if (p->impl->ops.memory && p->impl->ops.memory(p->engine) > counts->memory)
		counts->memory = p->impl->ops.memory(p->engine);
}

int qv_pass_check(struct qv_pass *p, double ns, struct qv_pass_counts *counts)
{
	const double end = (double)qv_clock_cpu_ns() + ns;
	uint64_t before = inspected(p);

	for (size_t i = 0; i < p->ops_n; i++) {
		const struct qv_load_op *op = &p->lane->ops[i];
		const bool answers = op->kind == QV_LOAD_POST || op->kind == QV_LOAD_DELIVER;
		qv_bm_answer found = answers ? p->recvs - 1 : NULL;
		uint64_t after;

		if (call(p, op, &found) || found != recorded(p, op))
			return -1;
		after = inspected(p);
		count(p, op, after - before, counts);
		before = after;
		if (counts->done % LOOKS == 0 && (double)qv_clock_cpu_ns() > end)
			return i + 1 < p->ops_n;
	}
	add_stats(p, &counts->stats);
	return 0;
}

/* Timed. */

/* Not inlined: the same machine code for every implementation. False: a call returned an error. */
static QV_NOINLINE bool run(const struct qv_pass *p, size_t from, size_t to, uintptr_t *sum)
{
	uintptr_t mine = 0;

	for (const struct qv_load_op *op = p->lane->ops + from; op < p->lane->ops + to; op++) {
		qv_bm_answer found = NULL;

		if (QV_UNLIKELY(call(p, op, &found)))
			return false;
		mine += (uintptr_t)found;
	}
	*sum += mine;
	return true;
}

static uintptr_t expected(const struct qv_pass *p)
{
	uintptr_t sum = 0;

	for (size_t i = 0; i < p->ops_n; i++)
		sum += (uintptr_t)recorded(p, &p->lane->ops[i]);
	return sum;
}

/* The last piece is up to twice as long. */
size_t qv_pass_pieces(size_t ops_n)
{
	return ops_n < 2 * QV_PASS_PIECE ? 1 : ops_n / QV_PASS_PIECE;
}

double qv_pass_time(struct qv_pass *p, float *samples)
{
	const size_t pieces = qv_pass_pieces(p->ops_n);
	const double tick_ns = qv_bench_tick_ns(), cpu = (double)qv_clock_cpu_ns();
	uint64_t begin = qv_ticks(), first = begin;
	uintptr_t sum = 0;
	double ns;

	for (size_t i = 0; i < pieces; i++) {
		const size_t from = i * QV_PASS_PIECE;
		const size_t to = i + 1 < pieces ? from + QV_PASS_PIECE : p->ops_n;
		uint64_t end;

		if (!run(p, from, to, &sum))
			return -1;
		end = qv_ticks();
		samples[i] = (float)((double)(end - begin) * tick_ns / (double)(to - from));
		begin = end;
	}
	ns = (double)(begin - first) * tick_ns;
	if (ns >= LONG_NS)
		ns = (double)qv_clock_cpu_ns() - cpu;
	return sum == expected(p) ? ns : -1;
}
