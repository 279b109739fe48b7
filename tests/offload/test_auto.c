/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_auto.c - calibration: a device is used from the size on that it gains from, and else
 * closed again, with a line that says why.
 */
#include "guard.h"
#include "kernels/offload/internal.h"

#include <stdlib.h>
#include <string.h>

/* A device that takes `start` us and then some per message or byte; the CPU has the latter only. */
static struct model {
	double start, cpu, device;
} match_model, combine_model;

static int asked;
static size_t batch_limit = SIZE_MAX; /* as the user has given it */
static struct qv_offload *measured_one;
static int batches, checks;

static void model(void *context, int bytes, size_t size, double *cpu, double *device)
{
	const struct model *m = bytes ? &combine_model : &match_model;

	(void)context;
	asked++;
	*cpu = m->cpu * (double)size;
	*device = m->start + m->device * (double)size;
}

/* Any limit: a call of a device takes microseconds, as the CPU does for 64 KiB. */
static const size_t some_bytes = 1;

/* What is chosen; the line has `text`. */
static void expect(int real, size_t batch, size_t bytes, enum qv_offload_state state,
		   const char *text)
{
	const struct qv_offload_settings set = {.ops = &qv_loop_ops,
						.min_batch = batch_limit,
						.min_bytes = SIZE_MAX,
						.calibrate = 1,
						.measure = real ? NULL : model,
						.say = qv_guard_say};
	struct qv_offload_stats stats;
	struct qv_offload *o;
	size_t got[2];

	if (qv_offload_create(&set, &o))
		abort();
	measured_one = o;
	EXPECT((qv_offload_open(o) == QV_OK) == (state == QV_OFFLOAD_OPEN));
	qv_offload_limits(o, &got[0], &got[1]);
	qv_offload_get_stats(o, &stats);
	EXPECT(got[0] == batch);
	EXPECT(bytes == some_bytes ? got[1] <= (size_t)16 << 20 : got[1] == bytes);
	EXPECT(stats.state == state && !qv_guard_said);
	EXPECT(strstr(qv_guard_line, text));
	EXPECT(!stats.batches && !stats.arrays && !stats.failed);
	EXPECT(qv_loop.closed == (state == QV_OFFLOAD_OFF));
	EXPECT(!qv_offload_wants(o, 1000000) == (batch >= QV_OFFLOAD_NEVER));
	if (qv_guard_wrong)
		fprintf(stderr, "limits %zu, %zu; line: %s\n", got[0], got[1], qv_guard_line);
	qv_offload_destroy(o);
}

/* Figures that are given. */
static void decisions(void)
{
	const struct model slow = {100, 0.01, 0.02}, fast = {100, 1, 0.1}, half = {100, 0.1, 0.01};
	const size_t megabyte = (size_t)1 << 20;

	qv_guard_now = "slow";
	qv_loop_reset();
	match_model = combine_model = slow;
	expect(0, SIZE_MAX, SIZE_MAX, QV_OFFLOAD_OFF,
	       "loop: 755 us for 32768 messages, the CPU 328; 335644 us for 16777216 bytes, the "
	       "CPU 167772; the CPU does everything");
	EXPECT(asked == 7);

	/* 100 + 51 us against 512; at 64 messages it is 106 against 64. */
	qv_guard_now = "matching gains";
	qv_loop_reset();
	match_model = fast;
	expect(0, 512, SIZE_MAX, QV_OFFLOAD_OPEN, "the device matches large batches");

	qv_guard_now = "combining gains";
	qv_loop_reset();
	match_model = slow;
	combine_model = (struct model){50000, 0.1, 0.01};
	expect(0, SIZE_MAX, megabyte, QV_OFFLOAD_OPEN, "the device combines long arrays");

	qv_guard_now = "both";
	qv_loop_reset();
	match_model = half;
	combine_model = half;
	expect(0, 4096, (size_t)64 << 10, QV_OFFLOAD_OPEN, "the device does what is large");

	/* 5 % is no gain. */
	qv_guard_now = "hardly a gain";
	qv_loop_reset();
	match_model = combine_model = (struct model){0, 1, 0.95};
	expect(0, SIZE_MAX, SIZE_MAX, QV_OFFLOAD_OFF, "the CPU does everything");

	/* A device that is this CPU is not tried on the largest sizes. */
	qv_guard_now = "a CPU";
	qv_loop_reset();
	qv_loop.caps.is_cpu = 1;
	asked = 0;
	match_model = combine_model = fast;
	expect(0, 512, (size_t)64 << 10, QV_OFFLOAD_OPEN, "us for 512 messages");
	EXPECT(asked == 4);
}

/* What is timed is the device alone: no batch is matched by the CPU as well. */
static void see_check(void)
{
	checks += measured_one->foresight.check;
	batches++;
}

/* Figures that are measured: a device that naps, and one that returns at once. */
static void measured(void)
{
	qv_guard_now = "naps";
	qv_loop_reset();
	qv_loop.nap_us = 20000;
	qv_loop.on_match = see_check;
	qv_loop.caps.is_cpu = 1;
	qv_loop.caps.max_bytes = (uint64_t)1 << 30;
	qv_loop.caps.max_keys = 1024;
	expect(1, SIZE_MAX, SIZE_MAX, QV_OFFLOAD_OFF, "the CPU does everything");
	EXPECT(qv_loop.opened == 1 && batches == 6 && !checks);

	qv_guard_now = "at once";
	qv_loop_reset();
	qv_loop.idle = 1;
	qv_loop.caps.max_bytes = (uint64_t)1 << 30;
	batch_limit = QV_OFFLOAD_NEVER;
	expect(1, QV_OFFLOAD_NEVER, some_bytes, QV_OFFLOAD_OPEN, "the device combines long arrays");
	batch_limit = SIZE_MAX;
}

/* Calls of the device that fail are no gain, however fast. */
static void failing(void)
{
	const struct qv_offload_settings set = {.ops = &qv_loop_ops,
						.min_batch = SIZE_MAX,
						.min_bytes = SIZE_MAX,
						.calibrate = 1,
						.say = qv_guard_say};
	struct qv_offload_stats stats;
	struct qv_offload *o;

	qv_guard_now = "fails";
	qv_loop_reset();
	qv_loop.status = QV_EIO;
	if (qv_offload_create(&set, &o))
		abort();
	EXPECT(qv_offload_open(o) != QV_OK);
	qv_offload_get_stats(o, &stats);
	EXPECT(stats.state == QV_OFFLOAD_OFF && stats.failed == 3 && qv_guard_said == 1);
	EXPECT(strstr(qv_guard_line, "given up after 3 failures"));
	qv_offload_destroy(o);
}

/* What is not wanted is not tried; a limit that the user has given stays. */
static void limits(void)
{
	struct qv_offload_settings set = {.ops = &qv_loop_ops,
					  .min_batch = QV_OFFLOAD_NEVER,
					  .min_bytes = SIZE_MAX,
					  .calibrate = 1,
					  .measure = model,
					  .say = qv_guard_say};
	struct qv_offload *o;
	size_t batch, bytes;

	qv_guard_now = "limits";
	qv_loop_reset();
	combine_model = (struct model){1, 1, 0.1};
	asked = 0;
	if (qv_offload_create(&set, &o))
		abort();
	EXPECT(!qv_offload_wants(o, 1000000) && qv_offload_open(o) == QV_OK && asked == 3);
	qv_offload_limits(o, &batch, &bytes);
	EXPECT(batch == QV_OFFLOAD_NEVER && bytes == (size_t)64 << 10);
	EXPECT(!strstr(qv_guard_line, "messages"));
	qv_offload_destroy(o);
	set.min_batch = 77;
	if (qv_offload_create(&set, &o))
		abort();
	EXPECT(!qv_offload_wants(o, 76) && qv_offload_wants(o, 77));
	qv_offload_open(o);
	qv_offload_limits(o, &batch, &bytes);
	EXPECT(batch == 77 && bytes == (size_t)64 << 10);
	qv_offload_destroy(o);
}

static void settings(void)
{
	static const struct {
		const char *text;
		int status, on, calibrate;
		const char *why;
	} all[] = {
		{"off", QV_OK, 0, 0, ""},
		{"opencl", QV_OK, 1, 0, ""},
		{"auto", QV_OK, 1, 1, ""},
		{"xrt", QV_EINVAL, 7, 7, "is not in this version; known: off opencl auto"},
		{"", QV_EINVAL, 7, 7, "is not known; known: off opencl auto"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int on = 7, calibrate = 7;
		char why[128] = "";

		qv_guard_now = all[i].text;
		EXPECT(qv_offload_parse(all[i].text, &on, &calibrate, why, sizeof(why)) ==
		       all[i].status);
		EXPECT(on == all[i].on && calibrate == all[i].calibrate);
		EXPECT(!strcmp(why, all[i].why));
	}
}

int main(void)
{
	decisions();
	measured();
	failing();
	limits();
	settings();
	printf("%d wrong\n", qv_guard_wrong);
	return qv_guard_wrong ? 1 : 0;
}
