/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_guard.c - the same answers and the same counters with a device as without, whatever
 * it does.
 */
#include "guard.h"
#include "vectors.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Cases. */

static void structures(void)
{
	for (const char *const *s = qv_match_structures(); *s; s++) {
		struct qv_offload_stats stats;
		struct qv_offload *o;

		if (!strcmp(*s, "clu") || !strcmp(*s, "pnp-static")) /* need a profile */
			continue;
		for (int every = 1; every < 1000; every += 998) {
			o = qv_guard_open((uint32_t)every, 3);
			qv_guard_pair(*s, o, 400, every == 1);
			qv_offload_get_stats(o, &stats);
			/* Where a sticky receive is posted, the CPU does it. */
			EXPECT(stats.batches > (every == 1 ? 5 : 100));
			EXPECT(!stats.failed && !stats.wrong);
			EXPECT(every != 1 || stats.refused > 5);
			EXPECT(every == 1 ? stats.checked == stats.batches : stats.checked <= 16);
			qv_offload_destroy(o);
			EXPECT(qv_loop.opened == 1 && qv_loop.closed == 1);
		}
	}
}

/* Each kind of failure: nothing is lost, the device is given up, once and with one line. */
static void failures(void)
{
	static const int status[] = {QV_EIO, QV_ENOMEM, QV_EPEER, QV_ENOSYS};

	for (int i = 0; i < 4; i++) {
		struct qv_offload *o = qv_guard_open(999, 3);
		struct qv_offload_stats stats;

		qv_loop.status = status[i];
		qv_guard_pair("auto", o, 200, 0);
		qv_offload_get_stats(o, &stats);
		EXPECT(stats.batches == 0);
		if (status[i] == QV_ENOSYS) {
			EXPECT(stats.state == QV_OFFLOAD_OPEN && stats.refused > 10 &&
			       !qv_guard_said);
		} else {
			EXPECT(stats.state == QV_OFFLOAD_OFF && qv_guard_said == 1);
			EXPECT(stats.failed == (status[i] == QV_EPEER ? 1 : 3));
			EXPECT(stats.fallback == stats.failed && qv_loop.closed == 1);
		}
		qv_offload_destroy(o);
	}
}

static void cannot_open(void)
{
	struct qv_offload *o = qv_guard_open(1, 3);
	struct qv_offload_stats stats;

	qv_loop.open_status = QV_ENOENT;
	qv_guard_pair("auto", o, 100, 0);
	qv_offload_get_stats(o, &stats);
	EXPECT(stats.state == QV_OFFLOAD_OFF && qv_guard_said == 1 && !stats.failed &&
	       !qv_loop.opened);
	qv_offload_destroy(o);
}

/* Answers that look right and are not: the batches that the CPU has matched too tell. */
static void lies(void)
{
	struct qv_offload *o = qv_guard_open(1, 3);
	struct qv_offload_stats stats;

	qv_loop.lie = 5;
	qv_guard_pair("auto", o, 400, 0);
	qv_offload_get_stats(o, &stats);
	EXPECT(stats.wrong == 3 && stats.failed == 3 && stats.state == QV_OFFLOAD_OFF &&
	       qv_guard_said == 1);
	qv_offload_destroy(o);
}

static void forked(void)
{
	struct qv_offload *o = qv_guard_open(1, 3);
	int status = 1;
	pid_t child;

	qv_guard_pair("auto", o, 20, 0);
	child = fork();
	if (child == 0) {
		struct qv_offload_stats before, after;

		qv_offload_get_stats(o, &before);
		qv_guard_pair("auto", o, 50, 0);
		qv_offload_get_stats(o, &after);
		EXPECT(after.batches == before.batches && after.state == QV_OFFLOAD_OFF);
		EXPECT(qv_guard_said == 1 && qv_loop.closed == 0);
		_exit(qv_guard_wrong ? 1 : 0);
	}
	EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	qv_guard_pair("auto", o, 20, 0);
	qv_offload_destroy(o);
	EXPECT(qv_loop.closed == 1);
}

int main(void)
{
	structures();
	qv_guard_now = "";
	failures();
	cannot_open();
	lies();
	forked();
	printf("%d wrong\n", qv_guard_wrong);
	return qv_guard_wrong ? 1 : 0;
}
