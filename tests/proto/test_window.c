/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_window.c - more messages than the window holds, and no tick: an acknowledgement comes with
 * what is sent, in time, so that nobody waits for the clock.
 */
#include "tests/proto/rig/rig.h"

#include <stdlib.h>

#define BUDGET (64u << 20)
#define MANY   (2 * QV_SEQ_WINDOW) /* no more than QV_FAST_MAX allows */

static struct rig *start(bool headerless)
{
	struct rig_settings set = rig_defaults(2);
	struct rig_req *recv;
	struct rig *rig;

	set.budget = BUDGET;
	set.limits.headerless = headerless;
	rig = rig_new(&set);
	qv_loop_chaos(rig->loop)->capacity = 2 * MANY;
	for (unsigned at = 0; at < 2; at++) {
		recv = rig_recv(rig, !at, (int)at, 8, 0, QV_REQ_TAGGED);
		rig_wait(rig, recv, rig_send(rig, at, !at, 8, 0, QV_REQ_TAGGED));
	}
	rig_settle(rig);
	return rig;
}

static void end(struct rig *rig)
{
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

/* To and fro. */
static void ping_pong(void **state)
{
	for (unsigned headerless = 0; headerless < 2; headerless++) {
		struct rig *rig = start(headerless);

		for (unsigned i = 0; i < 3 * QV_SEQ_WINDOW; i++) {
			for (unsigned at = 0; at < 2; at++) {
				struct rig_req *recv =
					rig_recv(rig, !at, (int)at, 8, i, QV_REQ_TAGGED);
				struct rig_req *send = rig_send(rig, at, !at, 8, i, QV_REQ_TAGGED);

				rig_wait(rig, recv, send);
				rig_check(recv, send);
			}
			rig_reqs_free(rig);
		}
		end(rig);
	}
}

/* Both send twice as many as the window holds before either has read one. */
static void both_burst(void **state)
{
	for (unsigned headerless = 0; headerless < 2; headerless++) {
		struct rig *rig = start(headerless);
		struct rig_req **recv = calloc(2 * MANY, sizeof *recv);

		for (unsigned round = 0; round < 3; round++) {
			for (unsigned i = 0; i < 2 * MANY; i++)
				recv[i] = rig_recv(rig, i & 1, !(i & 1), 8, i / 2, QV_REQ_TAGGED);
			for (unsigned i = 0; i < 2 * MANY; i++)
				rig_send(rig, !(i & 1), i & 1, 8, i / 2, QV_REQ_TAGGED);
			rig_settle(rig);
			for (unsigned i = 0; i < 2 * MANY; i++)
				rig_check_status(recv[i], QV_OK);
			rig_reqs_free(rig);
		}
		free(recv);
		end(rig);
	}
}

/* One way, and what needs an answer comes last. */
static void long_one_behind(void **state)
{
	for (unsigned headerless = 0; headerless < 2; headerless++)
		for (unsigned many = QV_SEQ_WINDOW / 2; many <= MANY; many += QV_SEQ_WINDOW / 8) {
			struct rig *rig = start(headerless);
			struct rig_req *send, *recv;

			for (unsigned i = 0; i < many; i++)
				rig_recv(rig, 1, 0, 8, i, QV_REQ_TAGGED);
			recv = rig_recv(rig, 1, 0, 100000, many, QV_REQ_TAGGED);
			for (unsigned i = 0; i < many; i++)
				rig_send(rig, 0, 1, 8, i, QV_REQ_TAGGED);
			send = rig_send(rig, 0, 1, 100000, many, QV_REQ_TAGGED);
			rig_wait(rig, recv, send);
			rig_check(recv, send);
			rig_settle(rig);
			end(rig);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ping_pong),
		cmocka_unit_test(both_burst),
		cmocka_unit_test(long_one_behind),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
