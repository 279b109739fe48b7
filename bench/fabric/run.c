/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.c - the timed loops: ping-pong and windowed stream.
 *
 * Every message carries its number in its first 8 bytes, and that is compared in the timed loops
 * too. Whole payloads are compared in an untimed window before and after each timed block.
 */
#include "fabric.h"

#include <stdlib.h>
#include <string.h>

int qv_fb_run_init(struct qv_fb_run *run)
{
	run->ops = calloc(QV_FB_WINDOW, sizeof(*run->ops));
	run->flat = malloc(QV_FB_SAMPLES * sizeof(*run->flat));
	run->deep = malloc(QV_FB_SAMPLES * sizeof(*run->deep));
	return run->ops && run->flat && run->deep ? 0 : qv_fb_fail(&run->ep, "no memory", 0);
}

int qv_fb_run_reserve(struct qv_fb_run *run, const struct qv_fb_case *what)
{
	size_t bytes = (size_t)what->bytes * what->window;

	if (bytes < QV_FB_SEND_OPS * sizeof(uint64_t))
		bytes = QV_FB_SEND_OPS * sizeof(uint64_t);
	if (run->buf_room < bytes) {
		free(run->send_buf);
		free(run->recv_buf);
		run->send_buf = calloc(1, bytes);
		run->recv_buf = calloc(1, bytes);
		run->buf_room = bytes;
	}
	if (run->deep_room <= what->depth) {
		free(run->deep_buf);
		free(run->deep_ops);
		run->deep_room = (size_t)what->depth + 1;
		run->deep_buf = calloc(run->deep_room, sizeof(uint64_t));
		run->deep_ops = calloc(run->deep_room, sizeof(*run->deep_ops));
	}
	if (run->send_buf && run->recv_buf && run->deep_buf && run->deep_ops)
		return 0;
	return qv_fb_fail(&run->ep, "no memory", 0);
}

void qv_fb_run_free(struct qv_fb_run *run)
{
	free(run->send_buf);
	free(run->recv_buf);
	free(run->deep_buf);
	free(run->deep_ops);
	free(run->ops);
	free(run->flat);
	free(run->deep);
}

/* Word i of the payload of message `number` from process `rank` (xor with the number's hash). */
static uint64_t pattern(const struct qv_fb_run *run, int rank, uint64_t number, size_t i)
{
	uint64_t seed = run->nonce + ((uint64_t)(unsigned int)rank << 32) + number;

	return seed * 0x9E3779B97F4A7C15u ^ i * 0xD1B54A32D192ED03u;
}

static void fill_payload(const struct qv_fb_run *run, char *buf, uint32_t bytes, uint64_t number)
{
	for (size_t at = 0, i = 0; at < bytes; at += 8, i++) {
		uint64_t word = pattern(run, run->rank, number, i);

		memcpy(buf + at, &word, bytes - at < 8 ? bytes - at : 8);
	}
}

/* Beyond the message number, which has its own check. */
static int check_payload(struct qv_fb_run *run, const char *buf, uint32_t bytes, uint64_t number)
{
	int sender = run->self ? run->rank : !run->rank;

	for (size_t at = 8, i = 1; at < bytes; at += 8, i++) {
		uint64_t word = pattern(run, sender, number, i);

		if (memcmp(buf + at, &word, bytes - at < 8 ? bytes - at : 8))
			return qv_fb_fail(&run->ep, "wrong payload", 0);
	}
	return 0;
}

static inline void put_number(char *buf, uint32_t bytes, uint64_t number)
{
	memcpy(buf, &number, bytes < sizeof(number) ? bytes : sizeof(number));
}

static inline int check_number(struct qv_fb_run *run, const char *buf, uint32_t bytes,
			       uint64_t number)
{
	if (memcmp(buf, &number, bytes < sizeof(number) ? bytes : sizeof(number)))
		return qv_fb_fail(&run->ep, "wrong message number", 0);
	return 0;
}

/* One round trip of rank 0; the receive is posted first, so its search is part of the time. */
static inline int ping(struct qv_fb_run *run, uint32_t bytes, uint64_t number)
{
	put_number(run->send_buf, bytes, number);
	if (qv_fb_recv(&run->ep, run->recv_buf, bytes, QV_FB_TAG_PING, &run->ops[0]) ||
	    qv_fb_send(&run->ep, run->send_buf, bytes, QV_FB_TAG_PING) ||
	    qv_fb_wait_op(&run->ep, &run->ops[0]) || qv_fb_flush(&run->ep))
		return -1;
	return check_number(run, run->recv_buf, bytes, number);
}

/* Rank 1 answers; its next receive is posted before the answer, so no ping is ever unexpected. */
static int pongs(struct qv_fb_run *run, uint32_t bytes, uint32_t n)
{
	if (qv_fb_recv(&run->ep, run->recv_buf, bytes, QV_FB_TAG_PING, &run->ops[0]) ||
	    qv_fb_barrier(run))
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		if (qv_fb_wait_op(&run->ep, &run->ops[0]) ||
		    check_number(run, run->recv_buf, bytes, i) || qv_fb_flush(&run->ep))
			return -1;
		put_number(run->send_buf, bytes, i);
		if (i + 1 < n &&
		    qv_fb_recv(&run->ep, run->recv_buf, bytes, QV_FB_TAG_PING, &run->ops[0]))
			return -1;
		if (qv_fb_send(&run->ep, run->send_buf, bytes, QV_FB_TAG_PING))
			return -1;
	}
	return qv_fb_flush(&run->ep);
}

static int pings(struct qv_fb_run *run, uint32_t bytes, uint32_t warm, uint32_t n, float *out)
{
	const double to_us = qv_bench_tick_ns() / 2000.0;
	uint64_t before, now;

	if (qv_fb_barrier(run))
		return -1;
	for (uint32_t i = 0; i < warm; i++)
		if (ping(run, bytes, i))
			return -1;
	before = qv_ticks();
	for (uint32_t i = 0; i < n; i++, before = now) {
		if (ping(run, bytes, warm + i))
			return -1;
		now = qv_ticks();
		out[i] = (float)((double)(now - before) * to_us);
	}
	return 0;
}

/* The first round trips bring code and queues back into the caches: n / 8 without a sample. */
static int latency(struct qv_fb_run *run, const struct qv_fb_case *what, uint32_t n, float *out)
{
	uint32_t warm = n / 8 + 1;

	return run->rank ? pongs(run, what->bytes, warm + n)
			 : pings(run, what->bytes, warm, n, out);
}

/* Rank 0 sends whole windows, each answered by one short message. */
static int stream_out(struct qv_fb_run *run, const struct qv_fb_case *what, uint32_t n, float *out)
{
	const double amount = what->kind == QV_FB_BW ? (double)what->bytes : 1.0;
	const double work = amount * what->window * 1000.0 / qv_bench_tick_ns();
	uint64_t number = 0, before, now, answer = 0;

	if (qv_fb_barrier(run))
		return -1;
	before = qv_ticks();
	for (uint32_t w = 0; w < n; w++, before = now) {
		if (qv_fb_recv(&run->ep, &answer, sizeof(answer), QV_FB_TAG_ACK, &run->ack_op))
			return -1;
		for (uint32_t i = 0; i < what->window; i++) {
			char *buf = run->send_buf + (size_t)i * what->bytes;

			put_number(buf, what->bytes, number++);
			if (qv_fb_send(&run->ep, buf, what->bytes, QV_FB_TAG_STREAM))
				return -1;
		}
		if (qv_fb_wait_op(&run->ep, &run->ack_op) || qv_fb_flush(&run->ep))
			return -1;
		if (answer != number)
			return qv_fb_fail(&run->ep, "wrong acknowledgement", 0);
		now = qv_ticks();
		out[w] = (float)(work / (double)(now - before));
	}
	return 0;
}

static int post_slot(struct qv_fb_run *run, const struct qv_fb_case *what, uint32_t i)
{
	return qv_fb_recv(&run->ep, run->recv_buf + (size_t)i * what->bytes, what->bytes,
			  QV_FB_TAG_STREAM, &run->ops[i]);
}

/* Rank 1 takes the slots in order and posts each again at once, for the next window. */
static int stream_in(struct qv_fb_run *run, const struct qv_fb_case *what, uint32_t n)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < what->window; i++)
		if (post_slot(run, what, i))
			return -1;
	if (qv_fb_barrier(run))
		return -1;
	for (uint32_t w = 0; w < n; w++) {
		for (uint32_t i = 0; i < what->window; i++) {
			char *buf = run->recv_buf + (size_t)i * what->bytes;

			if (qv_fb_wait_op(&run->ep, &run->ops[i]) ||
			    check_number(run, buf, what->bytes, number++))
				return -1;
			if (w + 1 < n && post_slot(run, what, i))
				return -1;
		}
		if (qv_fb_send(&run->ep, &number, sizeof(number), QV_FB_TAG_ACK) ||
		    qv_fb_flush(&run->ep))
			return -1;
	}
	return 0;
}

static int block(struct qv_fb_run *run, const struct qv_fb_case *what, uint32_t n, float *out)
{
	if (what->kind == QV_FB_LAT)
		return latency(run, what, n, out);
	return run->rank ? stream_in(run, what, n) : stream_out(run, what, n, out);
}

/* One window, not timed, into cleared buffers, with a payload that no window had before. */
static int checked_block(struct qv_fb_run *run, const struct qv_fb_case *what)
{
	float unused[2];

	run->nonce++;
	for (uint32_t i = 0; i < what->window; i++)
		fill_payload(run, run->send_buf + (size_t)i * what->bytes, what->bytes, i);
	memset(run->recv_buf, 0, (size_t)what->bytes * what->window);
	if (block(run, what, 1, unused))
		return -1;
	if (what->kind != QV_FB_LAT && run->rank == 0)
		return 0;
	for (uint32_t i = 0; i < what->window; i++)
		if (check_payload(run, run->recv_buf + (size_t)i * what->bytes, what->bytes, i))
			return -1;
	return 0;
}

static int checked_and_timed(struct qv_fb_run *run, const struct qv_fb_case *what, uint32_t n,
			     float *out)
{
	if (checked_block(run, what) || block(run, what, n, out))
		return -1;
	return checked_block(run, what);
}

int qv_fb_run(struct qv_fb_run *run, const struct qv_fb_command *command)
{
	const struct qv_fb_case *what = &command->what;

	run->nonce += 0x10000u;
	if (qv_fb_run_reserve(run, what) || qv_fb_barrier(run))
		return -1;
	if (what->kind == QV_FB_SELF)
		return qv_fb_run_self(run, command);
	if (command->flat_n && checked_and_timed(run, what, command->flat_n, run->flat))
		return -1;
	if (!command->deep_n)
		return 0;
	if (qv_fb_fill(run, what) || checked_and_timed(run, what, command->deep_n, run->deep))
		return -1;
	return qv_fb_drain(run, what);
}
