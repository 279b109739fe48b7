/* SPDX-License-Identifier: BSD-2-Clause */
/* test_held.c - receives whose last word to the sender, CTS or FIN, waits for memory. */
#include "tests/proto/rig/rig.h"

#include <string.h>

#define LEN 9000u

/* Node 1 has received something like it before, and asks its sender for what is long. */
static struct rig *start(size_t len)
{
	struct rig_settings set = rig_defaults(2);
	struct rig_req *recv;
	struct rig *rig;

	set.limits.read_max = 0;
	rig = rig_new(&set);
	recv = rig_recv(rig, 1, 0, len, 1, QV_REQ_TAGGED);
	rig_wait(rig, recv, rig_send(rig, 0, 1, len, 1, QV_REQ_TAGGED | QV_REQ_ACK));
	rig_settle(rig);
	return rig;
}

/* There is no memory for node 1's word. */
static struct qv_in *wait_for_memory(struct rig *rig)
{
	struct qv_proto *p = rig->node[1].p;

	while (p->txs.free)
		qv_pool_get(&p->txs);
	qv_nomem_after(1, 1000000);
	for (unsigned i = 0; i < 1000 && !p->head.reads; i++)
		qv_loop_step(rig->loop);
	assert_non_null(p->head.reads);
	return p->head.reads;
}

/* All bytes are in the buffer when the sender is given up: the receive is whole. */
static void whole(void **state)
{
	struct rig *rig = start(100);
	struct rig_req *recv = rig_recv(rig, 1, 0, 100, 2, QV_REQ_TAGGED);
	struct rig_req *send = rig_send(rig, 0, 1, 100, 2, QV_REQ_TAGGED | QV_REQ_ACK);
	struct qv_in *in = wait_for_memory(rig);

	assert_true(in->whole);
	assert_int_equal(recv->done, 0);
	qv_nomem_after(0, 0);
	qv_peer_fail(rig_peer(rig, 1, 0), "the test says so");
	rig_settle(rig);
	rig_check(recv, send);
	rig_free(rig);
}

/* One that waits to ask for its payload is sent that unasked: it waits once. */
static void sent_unasked(void **state)
{
	struct {
		struct qv_wire_hdr hdr;
		uint64_t offset;
		char bytes[500];
	} __attribute__((packed, aligned(4)))
	pkt = {.hdr = {.magic = QV_WIRE_MAGIC, .version = QV_WIRE_VERSION, .op = QV_PKT_SEG}};
	struct rig *rig = start(LEN);
	struct rig_req *recv = rig_recv(rig, 1, 0, LEN, 2, QV_REQ_TAGGED);
	const struct qv_peer *peer = rig_peer(rig, 1, 0);
	struct qv_in *in;

	rig_send(rig, 0, 1, LEN, 2, QV_REQ_TAGGED | QV_REQ_ACK);
	in = wait_for_memory(rig);
	rig->hostile = true;
	for (pkt.offset = 0; pkt.offset < LEN; pkt.offset += sizeof pkt.bytes) {
		pkt.hdr.src = peer->id;
		pkt.hdr.seq = (uint16_t)(peer->got + 1);
		pkt.hdr.arg = in->handle;
		assert_int_equal(qv_loop_forge(rig->loop, 0, 1, &pkt, sizeof pkt), QV_OK);
	}
	assert_true(in->whole);
	assert_ptr_not_equal(in->next_read, in);
	qv_nomem_after(0, 0);
	rig_settle(rig);
	rig_check_status(recv, QV_OK);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(sent_unasked)};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
