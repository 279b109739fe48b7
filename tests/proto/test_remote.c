/* SPDX-License-Identifier: BSD-2-Clause */
/* test_remote.c - updates of another's memory: in order, once, whatever is lost or comes twice; refused,
 * bounded, and ended when the other one is. */
#include "tests/proto/rig/rig_memory.h"

#include <string.h>

enum { CALLS = 30, LEN = 300 }; /* words of the longest */

struct call {
	struct qv_xfer xfer; /* first */
	unsigned done;
	int status;
	uint64_t old[LEN];
	size_t words;
};

static void done(struct qv_xfer *xfer, int status)
{
	struct call *call = (struct call *)xfer;

	call->done++;
	call->status = status;
}

static const uint64_t ones[LEN] = {[0 ... LEN - 1] = 1};

/* Add 1 to words from `at` on of node b, and fetch what was there. */
static int begin(struct rig *rig, struct call *call, unsigned a, unsigned b, size_t at,
		 size_t words, uint64_t key)
{
	const struct qv_span there[2] = {{at * 8, key, words / 2 * 8},
					 {(at + words / 2) * 8, key, (words - words / 2) * 8}};
	const struct iovec here[2] = {{(void *)(uintptr_t)ones, 8},
				      {(void *)(uintptr_t)(ones + 1), (words - 1) * 8}};
	const struct iovec before = {call->old, words * 8};
	const struct qv_remote_op op = {.kind = QV_REMOTE_UPDATE,
					.what = RIG_ADD,
					.there = words > 1 ? there : there + 1,
					.nthere = words > 1 ? 2 : 1,
					.here = here,
					.nhere = words > 1 ? 2 : 1,
					.before = &before,
					.nbefore = 1};
	int rc;

	*call = (struct call){.xfer.done = done, .words = words};
	qv_nomem_enter();
	rc = qv_proto_update(rig->node[a].p, rig_peer(rig, a, b), &op, &call->xfer);
	qv_nomem_leave();
	return rc;
}

static bool all_done(const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!calls[i].done)
			return false;
	return true;
}

static void wait_for(struct rig *rig, const struct call *calls, size_t n)
{
	rig_settle(rig);
	for (uint64_t end = rig->now + 60000; !all_done(calls, n); rig_ticks(rig, 50))
		assert_true(rig->now < end);
}

/* Call i found what the i before it had left. */
static void check(const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(calls[i].done, 1);
		assert_int_equal(calls[i].status, QV_OK);
		for (size_t k = 0; k < calls[i].words; k++) {
			uint64_t earlier = 0;

			for (size_t j = 0; j < i; j++)
				earlier += calls[j].words > k;
			assert_int_equal(calls[i].old[k], earlier);
		}
	}
}

static struct rig *start(void)
{
	struct rig_settings set = rig_defaults(3);
	struct rig *rig = rig_new(&set);

	for (unsigned i = 0; i < 3; i++)
		rig_memory_open(rig, i);
	return rig;
}

/* Packets are lost and come twice, calls find no room, messages go beside them. */
static void in_order_and_once(void **state)
{
	static struct call calls[2][CALLS];

	for (unsigned lost = 0; lost < 60; lost++) {
		struct rig *rig = start();
		struct rig_req *send = rig_send(rig, 0, 1, 2000, 1, QV_REQ_TAGGED);

		*qv_loop_chaos(rig->loop) = (struct qv_loop_chaos){.capacity = 4,
								   .eagain = 20,
								   .repeat = lost % 3 * 20,
								   .lose_nth = lost,
								   .lose_more = lost % 4};
		for (size_t i = 0; i < CALLS; i++)
			for (unsigned from = 0; from < 2; from++)
				assert_int_equal(begin(rig, &calls[from][i], from, !from, 0,
						       1 + i * 37 % LEN, RIG_KEY),
						 QV_OK);
		wait_for(rig, calls[0], CALLS);
		wait_for(rig, calls[1], CALLS);
		check(calls[0], CALLS);
		check(calls[1], CALLS);
		assert_int_equal(rig_memory[1].told, CALLS);
		assert_int_equal(rig_memory[1].written, CALLS);
		rig_wait_long(rig, rig_recv(rig, 1, 0, 2000, 1, QV_REQ_TAGGED), send);
		rig_ticks(rig, 3000);
		rig_check_idle(rig, 0);
		rig_check_idle(rig, 1);
		rig_free(rig);
	}
}

static void without_memory(void **state)
{
	static struct call calls[3];

	for (unsigned nth = 1; nth < 60; nth++) {
		struct rig *rig = start();

		rig_peer(rig, 0, 1);
		qv_nomem_after(nth, nth % 3);
		for (size_t i = 0; i < 3; i++) {
			int rc;

			do
				rc = begin(rig, &calls[i], 0, 1, 0, 40, RIG_KEY);
			while (rc == QV_ENOMEM);
			assert_int_equal(rc, QV_OK);
		}
		wait_for(rig, calls, 3);
		qv_nomem_after(0, 0);
		check(calls, 3);
		rig_free(rig);
	}
}

static void refused(void **state)
{
	static struct call call;
	static const struct {
		size_t at, words, key;
	} bad[] = {{0, 4, RIG_KEY + 1}, {RIG_WORDS - 2, 4, RIG_KEY}, {RIG_WORDS + 5, 1, RIG_KEY}};
	struct rig *rig = start();

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(begin(rig, &call, 0, 1, bad[i].at, bad[i].words, bad[i].key),
				 QV_OK);
		wait_for(rig, &call, 1);
		assert_int_equal(call.status, QV_EINVAL);
	}
	assert_int_equal(rig_stats(rig, 1).refused, 0);
	qv_proto_open_memory(rig->node[2].p, NULL);
	assert_int_equal(begin(rig, &call, 0, 2, 0, 1, RIG_KEY), QV_OK);
	wait_for(rig, &call, 1);
	assert_int_equal(call.status, QV_EINVAL);
	assert_int_equal(begin(rig, &call, 0, 1, 0, 1, RIG_KEY), QV_OK);
	wait_for(rig, &call, 1);
	check(&call, 1);
	rig_free(rig);
}

/* Who has died does not answer, and who comes after it is not taken for it. */
static void dead(void **state)
{
	static struct call calls[CALLS];

	for (unsigned how = QV_LOOP_ERRORS; how <= QV_LOOP_STUCK; how++) {
		struct rig *rig = start();

		rig_exchange_after_loss(rig, 0, 1, 100);
		rig_exchange_after_loss(rig, 1, 0, 100);
		qv_loop_hold(rig->loop, 0, 1, true);
		for (size_t i = 0; i < CALLS; i++)
			assert_int_equal(begin(rig, &calls[i], 0, 1, 0, 10, RIG_KEY), QV_OK);
		qv_loop_hold(rig->loop, 0, 1, false);
		rig_kill(rig, 1, how, false);
		if (how == QV_LOOP_ERRORS) {
			rig_open(rig, 1, &rig->set);
			rig_memory_open(rig, 1);
			rig_exchange_after_loss(rig, 1, 0, 100);
		} else {
			rig_give_up(rig->node[0].p, rig->node[0].x, 1);
		}
		wait_for(rig, calls, CALLS);
		for (size_t i = 0; i < CALLS; i++) {
			assert_int_equal(calls[i].done, 1);
			assert_int_equal(calls[i].status, QV_EPEER);
		}
		assert_int_equal(rig_memory[1].updates, 0);
		rig_free(rig);
	}
}

/* A caller has so many under way, and no more. */
static void bounded(void **state)
{
	static struct call calls[400];
	struct rig *rig = start();
	unsigned n = 0;
	int rc;

	rig_exchange_after_loss(rig, 0, 1, 100);
	qv_loop_hold(rig->loop, 0, 1, true);
	while ((rc = begin(rig, &calls[n], 0, 1, 0, 1, RIG_KEY)) == QV_OK)
		assert_true(++n < 400);
	assert_int_equal(rc, QV_EAGAIN);
	assert_int_equal(n, 256);
	qv_loop_hold(rig->loop, 0, 1, false);
	wait_for(rig, calls, n);
	check(calls, n);
	rig_free(rig);
}

/* Forged requests and answers of node 0 to node 1, with the numbers that are due. */
static void forge(struct rig *rig, uint8_t op, uint64_t arg, const void *body, size_t len)
{
	const struct qv_peer *peer = rig_peer(rig, 1, 0);
	char packet[QV_WIRE_MIN_PACKET];
	const struct qv_wire_hdr hdr = {.magic = QV_WIRE_MAGIC,
					.version = QV_WIRE_VERSION,
					.op = op,
					.src = peer->id,
					.arg = arg,
					.seq = (uint16_t)(peer->got + 1),
					.ack = (uint16_t)peer->sent};

	memcpy(packet, &hdr, sizeof hdr);
	memcpy(packet + sizeof hdr, body, len);
	assert_int_equal(qv_loop_forge(rig->loop, 0, 1, packet, sizeof hdr + len), QV_OK);
	assert_int_equal(hdr.seq, (uint16_t)peer->got);
}

static void hostile(void **state)
{
	static const struct qv_ask bad[] = {
		{QV_REMOTE_GET, QV_ASK_LAST, 0, 8, 0, RIG_KEY},
		{QV_REMOTE_PUT, QV_ASK_LAST, 0, 8, 0, RIG_KEY},
		{QV_REMOTE_OVER, 0, 0, 0, 0, RIG_KEY},
		{255, 0, 0, 8, 0, RIG_KEY},
		{QV_REMOTE_UPDATE, QV_ASK_BEFORE | QV_ASK_DIRECT, RIG_ADD, 8, 0, RIG_KEY},
		{QV_REMOTE_UPDATE, QV_ASK_BEFORE, RIG_ADD, 0, 0, RIG_KEY},
		{QV_REMOTE_UPDATE, QV_ASK_BEFORE, RIG_ADD, UINT32_MAX, 0, RIG_KEY},
		{QV_REMOTE_UPDATE, QV_ASK_BEFORE, RIG_ADD, 992, 0,
		 RIG_KEY},                                      /* more than an answer */
		{QV_REMOTE_UPDATE, 0, RIG_ADD, 16, 0, RIG_KEY}, /* half an operand */
		{QV_REMOTE_UPDATE, 0, RIG_ADD, 8, UINT64_MAX - 4, RIG_KEY},
		{QV_REMOTE_UPDATE, 0, RIG_ADD + 1, 8, 0, RIG_KEY},
	};
	char body[sizeof *bad + 8];
	struct rig *rig = start();
	uint64_t status = 0;

	rig_exchange_after_loss(rig, 0, 1, 100);
	rig_exchange_after_loss(rig, 1, 0, 100);
	rig_ticks(rig, 1000);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memset(body, 1, sizeof body);
		memcpy(body, bad + i, sizeof *bad);
		forge(rig, QV_PKT_ASK, i, body, sizeof body);
	}
	forge(rig, QV_PKT_ANSWER, 12345, &status, sizeof status);
	assert_int_equal(rig_memory[1].updates, 0);
	/* many requests of who takes no answers: so many wait, the others are not done */
	memset(body, 0, sizeof body);
	memcpy(body, &(struct qv_ask){QV_REMOTE_UPDATE, 0, RIG_ADD, 8, 0, RIG_KEY}, sizeof *bad);
	qv_loop_chaos(rig->loop)->eagain = 100;
	for (unsigned i = 0; i < 1000; i++)
		forge(rig, QV_PKT_ASK, i, body, sizeof body);
	assert_in_range(rig_memory[1].updates, 200, 256);
	assert_int_equal(rig_peer(rig, 1, 0)->answers, 256);
	rig_kill(rig, 0, QV_LOOP_ERRORS, false);
	qv_loop_chaos(rig->loop)->eagain = 0;
	rig_give_up(rig->node[1].p, rig->node[1].x, 0);
	rig_settle(rig);
	assert_int_equal(rig_peer(rig, 1, 0)->answers, 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_and_once), cmocka_unit_test(without_memory),
		cmocka_unit_test(refused),           cmocka_unit_test(dead),
		cmocka_unit_test(bounded),           cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
