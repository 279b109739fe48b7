/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer_coll.c - collectives of peer mode without memory: a notice that is kept stays until it has
 * gone, and nobody is taken for dead. Of the provider there is peer/coll.c only.
 */
#include "fabric_glue/peer/srx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/fabric/parts/not_called.h"

static struct qv_fi_srx srx;
static struct qv_fi_ep ep = {.srx = &srx};
static struct qv_fi_known known;
static int reach, answer; /* of the AV, of the core */
static unsigned sent;

int qv_fi_av_reach(struct qv_fi_av *av, fi_addr_t index, struct qv_fi_way *way)
{
	*way = (struct qv_fi_way){.addr = index};
	return reach;
}

ssize_t qv_fi_tx_start(struct qv_fi_ep *of, const struct qv_fi_send *s, fi_addr_t to, uint8_t how,
		       uint64_t flags)
{
	sent += !answer;
	return answer;
}

int qv_fi_status_slow(ssize_t rc)
{
	return rc == -FI_EAGAIN ? QV_EAGAIN : rc == -FI_ENOMEM ? QV_ENOMEM : QV_EPEER;
}

struct qv_fi_known *qv_fi_srx_known(struct qv_fi_srx *of, fi_addr_t core)
{
	return &known;
}

void qv_fi_srx_look(struct qv_fi_srx *of, fi_addr_t core)
{
}

bool qv_fi_srx_is_gone(const struct qv_fi_srx *of, fi_addr_t core)
{
	return false;
}

ssize_t qv_fi_rx_post(struct qv_fi_srx *of, const struct qv_fi_recv *r, uint32_t src,
		      uint32_t cookie, bool multi)
{
	return 0;
}

/* What is not asked here of the rest of the provider. */
struct fi_provider qv_fi_prov;
struct qv_fi_host qv_fi_host;
NOT_CALLED(ssize_t, qv_fi_rx_cancel, struct qv_fi_srx *of, unsigned engine, void *context,
	   int status)
NOT_CALLED(struct qv_fi_bounce *, qv_fi_bounce_new, const struct qv_fi_rx *rx)
NOT_CALLED(void, qv_fi_rx_discard, struct qv_fi_rx *u, struct qv_fi_bounce *nowhere)
NOT_CALLED(void, qv_fi_lock_slow, struct qv_fi_domain *of)
NOT_CALLED(int64_t, qv_fi_now_ms, void)

/* A notice that the core does not take at first goes once there is memory. */
static void kept(void **state)
{
	const struct qv_fi_coll_io io = {.tag = 1};

	reach = 0;
	sent = 0;
	answer = -FI_EAGAIN;
	assert_int_equal(qv_fi_srx_coll_send(&ep, 1, &io), QV_OK);
	answer = -FI_ENOMEM;
	qv_fi_srx_coll_retry(&srx);
	assert_non_null(srx.notices);
	answer = 0;
	qv_fi_srx_coll_retry(&srx);
	assert_int_equal(sent, 1);
	assert_null(srx.notices);
}

static void unreached(void **state)
{
	const struct qv_fi_coll_io io = {.tag = 1, .context = &srx};

	reach = -FI_ENOMEM;
	assert_int_equal(qv_fi_srx_coll_send(&ep, 1, &io), QV_ENOMEM);
	assert_int_equal(qv_fi_srx_coll_recv(&ep, 1, &io), QV_ENOMEM);
	reach = -FI_EINVAL;
	assert_int_equal(qv_fi_srx_coll_send(&ep, 1, &io), QV_EPEER);
	assert_int_equal(qv_fi_srx_coll_recv(&ep, 1, &io), QV_EPEER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept),
		cmocka_unit_test(unreached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
