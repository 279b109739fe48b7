/* SPDX-License-Identifier: BSD-2-Clause */
/* test_budget.c - a sender that does not keep to what the receiver allows. */
#include "tests/proto/rig/rig.h"

#define MANY 3000u /* more messages than 64 KiB hold */

static struct rig *start(size_t budget)
{
	struct rig_settings set = rig_defaults(2);
	struct rig_req *recv;
	struct rig *rig;

	set.budget = budget;
	rig = rig_new(&set);
	recv = rig_recv(rig, 1, 0, 0, 0, 0);
	rig_wait(rig, recv, rig_send(rig, 0, 1, 0, 0, 0));
	rig_settle(rig);
	return rig;
}

/* Who does not count what it sends is given up, not stored. */
static void budget_ignored(void **state)
{
	struct rig *rig = start(8192);
	struct qv_peer *sender;
	unsigned n = 0;

	sender = rig_peer(rig, 0, 1);
	while (!rig_peer(rig, 1, 0)->failed) {
		sender->budget_used = 0;
		rig_send(rig, 0, 1, 8, n, QV_REQ_TAGGED);
		rig_step(rig);
		rig_step(rig);
		assert_true(rig_peer(rig, 1, 0)->stored <= QV_FIRST_BUDGET);
		assert_in_range(n++, 0, 2000);
	}
	assert_int_equal(rig->node[1].warnings, 1);
	assert_int_equal(rig_stats(rig, 1).tagged.arrived, rig->node[1].p->unexps.live);
	rig_free(rig);
}

/* Who says again and again that it starves, and sends nothing, is allowed no more than what the longest
 * message needs, and is not answered for ever, though a receive waits for something else. */
static void starving_for_nothing(void **state)
{
	static const size_t budgets[] = {8192, 4u << 20};

	for (size_t i = 0; i < 2; i++) {
		struct rig *rig = start(budgets[i]);
		struct rig_req *other = rig_recv(rig, 1, 0, 8, 999, QV_REQ_TAGGED);
		struct rig_req *send, *recv;
		size_t most = 2 * qv_cost(QV_EAGER_LIMIT);
		uint32_t answers = rig_peer(rig, 1, 0)->sent;

		for (unsigned n = 0; n < 100; n++) {
			assert_int_equal(
				qv_tx_control(rig_peer(rig, 0, 1), QV_PKT_STARVED, 0, NULL, 0),
				QV_OK);
			rig_settle(rig);
			rig_ticks(rig, 1);
		}
		assert_in_range(rig_peer(rig, 1, 0)->allowed, budgets[i],
				budgets[i] > most ? budgets[i] : most);
		assert_in_range(rig_peer(rig, 1, 0)->sent - answers, 0, 20);
		send = rig_send(rig, 0, 1, 8, 999, QV_REQ_TAGGED);
		rig_wait(rig, other, send);
		recv = rig_recv(rig, 1, 0, 600, 5, QV_REQ_TAGGED);
		rig_wait(rig, recv, rig_send(rig, 0, 1, 600, 5, QV_REQ_TAGGED));
		rig_settle(rig);
		rig_free(rig);
	}
}

/* The endpoint at the peer's address is another one, and has less room than the one before had. What is
 * sent before its HELLO has come keeps to what every endpoint can take. */
static void restarted_with_less(void **state)
{
	struct rig *rig = start(4u << 20);
	struct rig_settings less = rig->set;
	struct rig_req *first, *send[MANY];

	less.budget = 1024;
	assert_int_equal(rig_peer(rig, 0, 1)->budget, 4u << 20);
	qv_loop_chaos(rig->loop)->capacity = MANY;
	rig_kill(rig, 1, QV_LOOP_SILENT, false);
	rig_open(rig, 1, &less);
	rig_send(rig, 0, 1, 8, 0, QV_REQ_TAGGED); /* is lost, and shows that it is another */
	rig_ticks(rig, 5000);
	first = rig_send_after_loss(rig, 0, 1, 8, 0, QV_REQ_TAGGED);
	for (unsigned i = 1; i < MANY; i++)
		send[i] = rig_send(rig, 0, 1, 8, i, QV_REQ_TAGGED);
	rig_settle(rig);
	assert_false(rig_peer(rig, 1, 0)->failed);
	rig_wait(rig, rig_recv(rig, 1, 0, 8, 0, QV_REQ_TAGGED), first);
	for (unsigned i = 1; i < MANY; i++)
		rig_wait(rig, rig_recv(rig, 1, 0, 8, i, QV_REQ_TAGGED), send[i]);
	rig_settle(rig);
	for (unsigned i = 1; i < MANY; i++)
		rig_check_status(send[i], QV_OK);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_ignored),
		cmocka_unit_test(starving_for_nothing),
		cmocka_unit_test(restarted_with_less),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
