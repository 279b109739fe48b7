/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sources.c - which number a peer has in the engines, what is counted of it, and
 * receives that break a promise about sources.
 */
#include "tests/proto/rig/rig.h"

#include <string.h>

/* The source that the engine sees in a receive from this node, which is not posted any longer. */
static uint32_t source_of(struct rig *rig, unsigned at, unsigned from)
{
	struct qv_match *engine = qv_proto_engine(rig->node[at].p, QV_REQ_TAGGED);
	struct rig_req *req = rig_recv(rig, at, (int)from, 8, 1, QV_REQ_TAGGED);
	uint32_t src = qv_match_next_recv(engine, NULL)->src;

	assert_int_equal(qv_proto_cancel(rig->node[at].p, req), QV_OK);
	rig_check_status(req, QV_ECANCELED);
	return src;
}

static struct rig *start(unsigned nodes, uint32_t named_sources, uint32_t hints)
{
	struct rig_settings set = rig_defaults(nodes);

	set.named_sources = named_sources;
	set.hints = hints;
	return rig_new(&set);
}

/* In whatever order peers become known, those below the limit have the owner's number. */
static void named(void **state)
{
	struct rig *rig = start(4, RIG_USER(2), 0);

	assert_int_equal(source_of(rig, 3, 2), RIG_USER(2) + 0); /* the first, but not below */
	assert_int_equal(source_of(rig, 3, 1), RIG_USER(1));
	assert_int_equal(source_of(rig, 3, 0), RIG_USER(0));
	rig_free(rig);
	rig = start(4, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(source_of(rig, 3, 2 - i), i);
	rig_free(rig);
}

/* The owner gives a name to another peer: messages of the first must not be taken for its. */
static void named_again(void **state)
{
	struct rig *rig = start(3, 2000, 0);
	struct rig_req *first, *any, *directed;
	struct qv_peer *again;

	assert_int_equal(source_of(rig, 2, 0), RIG_USER(0));
	first = rig_send(rig, 0, 2, 8, 1, QV_REQ_TAGGED);
	rig_settle(rig);
	qv_proto_peer_set_user(rig_peer(rig, 2, 0), QV_USER_UNKNOWN);
	assert_int_equal(qv_proto_peer_first_user(rig_peer(rig, 2, 0)), RIG_USER(0));
	again = qv_proto_peer_new(rig->node[2].p, rig->node[2].x, 1, RIG_USER(0));
	assert_non_null(again);
	rig->node[2].peers[1] = again;
	assert_int_equal(source_of(rig, 2, 1), 2000); /* above all that names have */
	directed = rig_recv(rig, 2, 1, 8, 1, QV_REQ_TAGGED);
	rig_settle(rig);
	assert_int_equal(directed->done, 0);
	any = rig_recv(rig, 2, RIG_ANY, 8, 1, QV_REQ_TAGGED);
	rig_wait(rig, any, first);
	rig_check_status(any, QV_OK);
	rig_wait(rig, directed, rig_send(rig, 1, 2, 8, 1, QV_REQ_TAGGED));
	rig_check_status(directed, QV_OK);
	rig_free(rig);
}

/* Each message counts once: of every size, waited for or not, tagged or not. */
static void counted(void **state)
{
	static const size_t lens[] = {0, 8, 900, 5000, 100000};
	enum { SIZES = sizeof lens / sizeof *lens };
	struct rig *rig = start(3, 0, 0);
	unsigned n = 0;

	for (unsigned i = 0; i < 4 * SIZES; i++) {
		unsigned flags = i & 1 ? QV_REQ_TAGGED : 0;
		size_t len = lens[i / 4];
		struct rig_req *send, *recv;

		if (i & 2) {
			send = rig_send(rig, 0, 1, len, i, flags);
			rig_settle(rig);
			recv = rig_recv(rig, 1, RIG_ANY, len, i, flags);
		} else {
			recv = rig_recv(rig, 1, RIG_ANY, len, i, flags);
			send = rig_send(rig, 0, 1, len, i, flags);
		}
		rig_wait(rig, send, recv);
		rig_check(recv, send);
		assert_int_equal(qv_proto_peer_received(rig_peer(rig, 1, 0)), ++n);
	}
	assert_int_equal(qv_proto_peer_received(rig_peer(rig, 0, 1)), 0);
	assert_int_equal(qv_proto_peer_received(rig_peer(rig, 1, 2)), 0);
	rig_free(rig);
}

/* A tagged receive from any source is refused and leaves nothing; an untagged one is no matter. */
static void promised(void **state)
{
	struct rig *rig = start(2, 0, QV_HINT_NO_ANY_SOURCE);
	struct rig_req *req = rig_req_new(rig, 1, 8, 1), *send = rig_send(rig, 0, 1, 8, 5, 1);
	struct qv_recv_args args = rig_recv_args(req, RIG_ANY, 5, 0, QV_REQ_TAGGED);
	struct qv_unexp *claimed = NULL;

	rig_settle(rig);
	assert_int_equal(rig_recv_req(req, RIG_ANY, 5, 0, QV_REQ_TAGGED, 0), QV_EINVAL);
	assert_int_equal(req->done, 0);
	qv_proto_peek(rig->node[1].p, &args, QV_PEEK_CLAIM, &claimed);
	rig_check_status(req, QV_ENOENT);
	assert_null(claimed);
	req = rig_recv(rig, 1, 0, 8, 5, QV_REQ_TAGGED);
	rig_wait(rig, send, req);
	rig_check(req, send);
	req = rig_recv(rig, 1, RIG_ANY, 8, 5, 0);
	send = rig_send(rig, 0, 1, 8, 5, 0);
	rig_wait(rig, send, req);
	rig_check(req, send);
	rig_check_idle(rig, 1);
	rig_free(rig);
}

static void too_many(void **state)
{
	struct rig *rig = start(1, 0, 0);
	struct qv_proto_settings ps = {.name = "", .named_sources = QV_PROTO_NAMED + 1};
	struct qv_proto *p = NULL;

	qv_match_settings_default(&ps.match);
	assert_int_equal(qv_proto_create(&ps, NULL, NULL, &p), QV_EINVAL);
	assert_null(p);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named),    cmocka_unit_test(named_again),
		cmocka_unit_test(counted),  cmocka_unit_test(promised),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests_name("proto.sources", tests, NULL, NULL);
}
