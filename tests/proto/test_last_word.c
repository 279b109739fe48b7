/* SPDX-License-Identifier: BSD-2-Clause */
/* test_last_word.c - a peer that is freed and may live is told so, over a transport that injects nothing, too. */
#include "tests/proto/rig/loop_internal.h"
#include "tests/proto/rig/rig.h"

/* Packets of node 0 that its transport has, and whose end a peer that is freed would hear. */
static unsigned of_nobody(const struct rig *rig)
{
	const struct qv_proto *p = rig->node[0].p;
	unsigned n = 0;

	for (struct loop_packet *pkt = rig->loop->at[0]->out[1].head; pkt; pkt = pkt->next) {
		const struct qv_flight *f = QV_CONTAINER(pkt->xfer, struct qv_flight, xfer);
		bool known = !pkt->xfer || !f->peer;

		for (uint32_t i = 0; i < p->npeers && !known; i++)
			known = p->peers[i] == f->peer;
		n += !known;
	}
	return n;
}

static void without_inject(void **state)
{
	struct rig_settings set = rig_defaults(2);
	struct rig_req *recv, *send;
	struct qv_peer *peer;
	struct rig *rig;

	set.limits.inject_max = 0;
	rig = rig_new(&set);
	recv = rig_recv(rig, 1, RIG_ANY, 100, 1, 0);
	rig_wait(rig, recv, rig_send(rig, 0, 1, 100, 1, 0));
	recv = rig_recv(rig, 0, RIG_ANY, 100, 1, 0);
	rig_wait(rig, recv, rig_send(rig, 1, 0, 100, 1, 0));
	rig_settle(rig);
	peer = rig_peer(rig, 0, 1);
	qv_proto_peer_set_user(peer, QV_USER_UNKNOWN);
	qv_proto_peer_drop(peer);
	for (unsigned i = 0; i < 400 && !rig->node[0].ended; i++) {
		rig_settle(rig);
		qv_proto_tick(rig->node[0].p, rig->now += 100);
	}
	assert_int_equal(rig->node[0].ended, 1);
	assert_non_null(rig->loop->at[0]->out[1].head); /* its last word */
	assert_int_equal(of_nobody(rig), 0);
	rig_settle(rig);
	recv = rig_recv(rig, 0, RIG_ANY, 100, 2, 0);
	send = rig_send_after_loss(rig, 1, 0, 100, 2, 0);
	rig_wait_long(rig, recv, send);
	rig_check_status(recv, QV_OK);
	rig_check_idle(rig, 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(without_inject)};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
