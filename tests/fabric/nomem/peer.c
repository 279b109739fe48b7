/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.c - peer mode without memory. A core that is ours has messages that wait; receives, and
 * fi_trecvmsg with FI_DISCARD, meet them while malloc fails. No message is lost or overtaken. Of the
 * provider there is fabric_glue/peer only, less what is not needed for that.
 */
#include "fabric_glue/peer/srx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "tests/fabric/parts/not_called.h"

#include "tests/proto/rig/nomem.h"

#define TAG   5u
#define LEN   100u
#define SHORT 10u

static struct qv_fi_domain dom;
static struct qv_fi_srx_port port;
static struct qv_fi_srx srx;
static struct qv_fi_ep ep;
static struct qv_fi_known known[2]; /* user 0 for both */

/* Messages that the core has: of so many equal bytes each. */
static struct {
	void *entry; /* NULL: no more */
	char fill;
} messages[8];
static unsigned nmessages, discarded;

/* What the application was told. */
static struct qv_comp told[8];
static unsigned ntold;

void qv_fi_complete_any(void *of, const struct qv_comp *comp)
{
	assert_ptr_equal(of, &ep);
	assert_in_range(ntold, 0, 7);
	told[ntold++] = *comp;
}

void qv_fi_lock_slow(struct qv_fi_domain *of)
{
	assert_ptr_equal(of, &dom);
}

/* What is not asked here of the rest of the provider. */
struct fi_ops_tagged qv_fi_tagged_ops;
struct fi_provider qv_fi_prov;
struct qv_fi_params qv_fi_params;
struct qv_fi_host qv_fi_host;
NOT_CALLED(int, qv_fi_status_slow, ssize_t rc)
NOT_CALLED(int, qv_fi_errno, int status)
NOT_CALLED(int, qv_fi_av_reach, struct qv_fi_av *av, fi_addr_t index, struct qv_fi_way *way)
NOT_CALLED(bool, qv_fi_pass_known, const struct qv_fi_ep *of, const void *context)
NOT_CALLED(void, qv_fi_pass_error, struct qv_xfer *xfer, int err)
NOT_CALLED(bool, qv_fi_breaks_assertion, struct qv_fi_ep *of, unsigned req, uint64_t ignore,
	   uint32_t src, uint64_t flags)
NOT_CALLED(fi_addr_t, qv_fi_srx_ask_user, struct qv_fi_srx *of, fi_addr_t core)
NOT_CALLED(void, qv_fi_tx_done, struct qv_fi_srx *of, struct qv_fi_tx *tx, int err)
NOT_CALLED(void, qv_fi_cq_grow, struct qv_fi_cq *cq)
NOT_CALLED(void, qv_fi_cq_error, struct qv_fi_cq *cq, const struct fi_cq_err_entry *e,
	   fi_addr_t src)
NOT_CALLED(void, qv_fi_count, struct qv_fi_ep *of, int which, bool error)
NOT_CALLED(void, qv_fi_remote_event, struct qv_fi_rail *rail, uint64_t flags, size_t len,
	   uint64_t data, fi_addr_t src)
NOT_CALLED(void, qv_fi_wait_set_wake_slow, struct qv_fi_wait_set *set)

/* The core. */

static int start(void *entry)
{
	struct qv_fi_rx *rx = qv_fi_rx_of(entry);
	unsigned i = 0;

	while (messages[i].entry != entry)
		assert_in_range(++i, 0, nmessages - 1);
	assert_int_equal(rx->entry.count, 1);
	assert_in_range(rx->entry.iov[0].iov_len, LEN, LEN); /* it cuts nothing */
	memset(rx->entry.iov[0].iov_base, messages[i].fill, LEN);
	discarded += (rx->how & QV_RX_DISCARDED) != 0;
	qv_fi_srx_cq_ops.write(&srx.cq, rx, FI_RECV | FI_TAGGED, LEN, NULL, 0, TAG, 1);
	qv_fi_srx_owner_ops.free_entry(entry);
	messages[i].entry = NULL;
	return 0;
}

static struct qv_abi_srx_peer core_ops = {.start_msg = start, .start_tag = start};

static void arrive(char fill, bool tagged)
{
	struct qv_abi_match m = {.addr = 1, .msg_size = LEN, .tag = tagged ? TAG : 0};
	struct qv_abi_srx_owner *owner = port.abi.owner_ops;
	void *entry = NULL;

	assert_int_equal((tagged ? owner->get_tag : owner->get_msg)(&port.abi, &m, &entry),
			 -FI_ENOENT);
	messages[nmessages].fill = fill;
	messages[nmessages++].entry = entry;
	assert_int_equal((tagged ? owner->queue_tag : owner->queue_msg)(entry), 0);
}

/* The application. */

static ssize_t receive(void *buf, size_t len, unsigned req, uint64_t flags, bool no_memory)
{
	const struct iovec iov = {buf, len};
	const struct qv_fi_recv r = {.iov = &iov,
				     .cnt = 1,
				     .context = buf,
				     .from = FI_ADDR_UNSPEC,
				     .tag = req ? TAG : 0,
				     .req = req};
	ssize_t rc;

	qv_nomem_after(no_memory, 1000000);
	qv_nomem_enter();
	rc = qv_fi_srx_recv(&ep, &r, flags);
	qv_nomem_leave();
	assert_true(no_memory || !qv_nomem_failed());
	qv_nomem_after(0, 0);
	return rc;
}

static void check_short(unsigned i, const void *buf, const char *bytes)
{
	assert_in_range(i, 0, ntold - 1);
	assert_ptr_equal(told[i].context, buf);
	assert_int_equal(told[i].status, QV_ETRUNC);
	assert_int_equal(told[i].len, SHORT);
	assert_int_equal(told[i].full, LEN);
	assert_memory_equal(buf, bytes, SHORT);
}

static void no_progress(struct qv_fi_ep *of)
{
	assert_ptr_equal(of, &ep);
}

static int begin(void **state)
{
	static const struct qv_fi_mode mode = {.progress = no_progress};

	memset(&srx, 0, sizeof srx);
	memset(messages, 0, sizeof messages);
	nmessages = ntold = discarded = 0;
	ep = (struct qv_fi_ep){.dom = &dom, .mode = &mode, .srx = &srx, .multi_min = 1};
	port.abi = (struct qv_abi_srx){.owner_ops = &qv_fi_srx_owner_ops, .peer_ops = &core_ops};
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(qv_match_create(NULL, &srx.match[i]), QV_OK);
	srx.port = &port;
	srx.ep = &ep;
	srx.known = known;
	srx.nknown = 2;
	port.srx = &srx;
	port.tagged = srx.match[1];
	qv_fi_rx_set_version(FI_VERSION(2, 3));
	return 0;
}

static int end(void **state)
{
	for (size_t i = 0; i < 2; i++)
		qv_match_destroy(srx.match[i]);
	qv_fi_srx_free_slabs(&srx);
	return 0;
}

/* A message that is too long for its receive needs a buffer, and waits for it. */
static void too_long(void **state)
{
	char first[SHORT], second[SHORT];

	arrive('a', true);
	arrive('b', true);
	assert_int_equal(receive(first, sizeof first, QV_REQ_TAGGED, 0, true), 0);
	assert_int_equal(receive(second, sizeof second, QV_REQ_TAGGED, 0, true), 0);
	assert_int_equal(ntold, 0);
	qv_fi_rx_retry(&srx);
	assert_int_equal(ntold, 2);
	check_short(0, first, "aaaaaaaaaa");
	check_short(1, second, "bbbbbbbbbb");
}

/* The same of a buffer for many messages: it comes back, once. */
static void multi(void **state)
{
	char buf[SHORT];

	arrive('a', false);
	assert_int_equal(receive(buf, sizeof buf, 0, FI_MULTI_RECV, true), 0);
	assert_int_equal(ntold, 0);
	qv_fi_rx_retry(&srx);
	assert_int_equal(ntold, 1);
	check_short(0, buf, "aaaaaaaaaa");
	assert_true(told[0].multi_end);
}

/* What could not be discarded stays where it was. */
static void discard(void **state)
{
	char buf[LEN];

	arrive('a', true);
	arrive('b', true);
	assert_int_equal(receive(NULL, 0, QV_REQ_TAGGED, FI_PEEK | FI_DISCARD, true), -FI_ENOMEM);
	assert_int_equal(ntold, 0);
	assert_int_equal(receive(buf, LEN, QV_REQ_TAGGED, 0, false), 0);
	assert_int_equal(ntold, 1);
	assert_int_equal(buf[0], 'a');
	assert_int_equal(receive(NULL, 0, QV_REQ_TAGGED, FI_PEEK | FI_DISCARD, false), 0);
	assert_int_equal(discarded, 1);
	assert_null(qv_match_next_msg(srx.match[1], NULL));
	assert_int_equal(srx.bytes_waiting, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(too_long, begin, end),
		cmocka_unit_test_setup_teardown(multi, begin, end),
		cmocka_unit_test_setup_teardown(discard, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
