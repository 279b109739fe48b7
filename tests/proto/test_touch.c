/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_touch.c - whose a buffer is: once a request has completed, with an error too, nobody
 * reads it or writes to it, whatever the transport still has under way.
 */
#include "tests/proto/rig/rig.h"

#include <string.h>

#define SPOILT 0x77

/* A receive that has failed: its buffer is another's now. */
static void spoil(struct rig_req *req, const struct qv_comp *comp)
{
	if (!req->is_send && comp->status)
		memset(req->iov[0].iov_base, SPOILT, req->iov[0].iov_len);
}

static void check_spoilt(const struct rig_req *req)
{
	const char *byte = req->iov[0].iov_base;

	for (size_t i = 0; i < req->iov[0].iov_len; i++)
		if (byte[i] != SPOILT)
			fail_msg("byte %zu was written after the completion", i);
}

/* Node 0 reads a long message of 1, or is sent it in pieces, or sends one in pieces; after k events
 * it gives 1 up. */
static void lost_midway(unsigned k, bool reads, bool it_resets)
{
	struct rig_settings set = rig_defaults(2);
	struct rig_req *recv, *send, *mine;
	struct rig *rig;

	set.limits.read_max = reads ? 4096 : 0;
	rig = rig_new(&set);
	rig->hostile = true; /* memory that the other has taken back is read */
	rig->on_complete = spoil;
	recv = rig_recv(rig, 0, 1, 50000, 1, QV_REQ_TAGGED);
	send = rig_send(rig, 1, 0, 50000, 1, QV_REQ_TAGGED);
	mine = rig_send(rig, 0, 1, 50000, 2, QV_REQ_TAGGED);
	rig_recv(rig, 1, 0, 50000, 2, QV_REQ_TAGGED);
	while (k-- && rig_step(rig))
		;
	if (it_resets)
		rig_give_up(rig->node[1].p, rig->node[1].x, 0);
	else
		rig_give_up(rig->node[0].p, rig->node[0].x, 1);
	rig_ticks(rig, 5000);
	assert_int_equal(send->done + mine->done, 2);
	if (recv->done && recv->comp.status)
		check_spoilt(recv);
	rig_check_idle(rig, 0);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

static void buffers_after_errors(void **state)
{
	for (unsigned form = 0; form < 4; form++)
		for (unsigned k = 0; k < 150; k++)
			lost_midway(k, form & 1, form & 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_after_errors),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
