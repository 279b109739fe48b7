/* SPDX-License-Identifier: BSD-2-Clause */
/* test_cancel.c - receives are taken back by their contexts: the oldest with it, and without
 * a change of how the queue is kept. */
#include "tests/proto/rig/rig.h"

#include <string.h>

enum { DEEP = 3000 };

/* Matched from both ends, so that the queue is not kept as a list any more. */
static struct rig *deep(struct rig_req **recv)
{
	struct rig_settings set = rig_defaults(2);
	struct rig *rig = rig_new(&set);

	rig_peer(rig, 0, 1);
	for (unsigned i = 0; i < DEEP; i++)
		recv[i] = rig_recv(rig, 1, RIG_ANY, 8, i, QV_REQ_TAGGED);
	for (unsigned i = 0; i < 200; i++) {
		struct rig_req *send = rig_send(rig, 0, 1, 8, DEEP - 1 - i, QV_REQ_TAGGED);

		rig_wait(rig, send, recv[DEEP - 1 - i]);
	}
	return rig;
}

/* Some are cancelled while messages come: the form of the queue stays, and so does
 * what is matched. */
static void test_form_stays(void **state)
{
	static struct rig_req *recv[DEEP];
	struct rig *rig = deep(recv);
	uint64_t flips = rig_stats(rig, 1).tagged.mode_flips;
	unsigned last = DEEP - 200;

	(void)state;
	assert_true(flips > 0); /* there is a form to lose */
	for (unsigned i = 0; i < 60; i++) {
		unsigned which = (unsigned)qv_random_below(&rig->rng, last);
		struct rig_req *send;

		if (!recv[which]->done) {
			assert_int_equal(qv_proto_cancel(rig->node[1].p, recv[which]), QV_OK);
			rig_check_status(recv[which], QV_ECANCELED);
		}
		assert_int_equal(qv_proto_cancel(rig->node[1].p, recv[which]), QV_ENOENT);
		assert_int_equal(rig_stats(rig, 1).tagged.mode_flips, flips);
		while (recv[--last]->done)
			;
		send = rig_send(rig, 0, 1, 8, last, QV_REQ_TAGGED);
		rig_wait(rig, send, recv[last]);
		rig_check(recv[last], send);
	}
	assert_int_equal(rig_stats(rig, 1).tagged.mode_flips, flips);
	for (unsigned i = 0; i < DEEP; i++)
		if (!recv[i]->done)
			assert_int_equal(qv_proto_cancel(rig->node[1].p, recv[i]), QV_OK);
	assert_int_equal(rig_stats(rig, 1).tagged.posted_now, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_form_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
