/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_churn.c - endpoints of one process that come, speak, forget and go at random; more than every
 * poll looks at. Each packet is heard, in order, and nothing stays behind.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/types.h>

#include "engine/base/random.h"
#include "rig/party.h"

#define US     0u
#define OTHERS 60u
#define STEPS  20000u

struct other {
	struct party p;
	uint64_t to_us, to_them; /* addresses */
	uint32_t sent;           /* to us, by all who had this number */
};

static void begin(struct party *us, struct other *o, unsigned id)
{
	/* Rings of two endpoints have no order between them. */
	QV_NEED(party_hear(us, id, o->sent, 5000));
	party_open(&o->p, id);
	o->p.sent[US] = o->sent;
	o->to_us = party_insert(&o->p, us->name);
	o->to_them = party_insert(us, o->p.name);
	us->sent[id] = 0;
}

static void end(struct party *us, struct other *o, bool forget_first)
{
	if (forget_first)
		party_remove(us, o->to_them);
	party_close(&o->p);
	if (!forget_first)
		party_remove(us, o->to_them);
}

static void step(struct party *us, struct other *o, unsigned id, uint64_t *rng)
{
	unsigned what = (unsigned)qv_random_below(rng, 100);

	if (!o->p.node) {
		begin(us, o, id);
	} else if (what < 10) {
		end(us, o, what < 5);
	} else if (what < 70) {
		if (!party_try(&o->p, o->to_us, US, qv_random_below(rng, 300)))
			o->sent++;
	} else if (what < 80) {
		(void)party_try(us, o->to_them, id, qv_random_below(rng, 300));
	} else if (what < 85) {
		party_remove(&o->p, o->to_us);
		o->to_us = party_insert(&o->p, us->name);
	} else if (what < 90) {
		party_remove(us, o->to_them);
		o->to_them = party_insert(us, o->p.name);
	} else {
		qv_node_poll(o->p.node);
	}
	if (qv_random_percent(rng, 30))
		qv_node_poll(us->node);
	if (qv_random_percent(rng, 5) && qv_node_may_sleep(us->node))
		qv_node_poll(us->node);
}

static void all_is_heard(void **state)
{
	static struct other others[OTHERS + 1];
	unsigned fds = kin_count_fds();
	struct qv_node_stats stats;
	struct party us;
	uint64_t rng = 1;

	(void)state;
	party_open(&us, US);
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned id = 1 + (unsigned)qv_random_below(&rng, OTHERS);

		step(&us, &others[id], id, &rng);
	}
	for (unsigned id = 1; id <= OTHERS; id++) {
		assert_true(party_hear(&us, id, others[id].sent, 5000));
		if (others[id].p.node) {
			assert_true(party_hear(&others[id].p, US, us.sent[id], 5000));
			end(&us, &others[id], id & 1);
		}
	}
	party_poll(&us, 50);
	qv_node_get_stats(us.node, &stats);
	assert_int_equal(stats.peers, 0);
	assert_int_equal(stats.bytes, 0);
	assert_int_equal(us.warnings, 0);
	assert_int_equal(kin_count_lines("/proc/self/maps", "memfd:quiver"), 0);
	party_close(&us);
	assert_int_equal(kin_count_fds(), fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
