/* SPDX-License-Identifier: BSD-2-Clause */
/* notice.c - a group that is lost while notices cannot be sent or listened for: they are tried again,
 * also after the program has closed the group. Of the provider there is coll/group.c only. */
#include "fabric_glue/coll/coll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 4 };

static int answer;       /* of the mode */
static unsigned sent[N]; /* notices that have gone */
static unsigned listens;

struct fi_provider qv_fi_prov;
struct qv_fi_host qv_fi_host;

void qv_fi_coll_abort(struct qv_fi_coll *coll, struct qv_fi_group *group, int status)
{
}
void qv_fi_coll_leave(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
}
void qv_fi_memory_close(struct qv_fi_group *group)
{
}
void qv_fi_measure_free(struct qv_fi_group *group)
{
}
void qv_fi_lock_slow(struct qv_fi_domain *dom)
{
}
bool qv_fi_stream_closes(const struct qv_fi_stream *stream)
{
	return false;
}
int qv_fi_no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	return -FI_ENOSYS;
}
int qv_fi_no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}
int qv_fi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

static int no_log(const struct fi_provider *prov, enum fi_log_level level,
		  enum fi_log_subsys subsys)
{
	return 0;
}

/* Member 3 takes nothing at first, the others do. */
static int send_notice(struct qv_fi_ep *ep, fi_addr_t to, const struct qv_fi_coll_io *io)
{
	if (to == 3 && answer)
		return answer;
	assert_in_range(to, 0, N - 1);
	sent[to]++;
	return QV_OK;
}

static int listen_for(struct qv_fi_ep *ep, fi_addr_t from, const struct qv_fi_coll_io *io)
{
	listens += !answer;
	return answer;
}

static void cancel(struct qv_fi_ep *ep, void *context)
{
}
static void discard(struct qv_fi_ep *ep, uint64_t tag, uint64_t ignore)
{
}

static const struct qv_fi_mode mode = {.coll_send = send_notice,
				       .coll_recv = listen_for,
				       .coll_cancel = cancel,
				       .coll_discard = discard};
static struct qv_fi_domain dom;
static struct qv_fi_ep ep = {.mode = &mode, .dom = &dom};
static struct qv_fi_coll coll = {.ep = &ep};

static struct qv_fi_group *start(void)
{
	struct qv_fi_group *group = calloc(1, sizeof *group);

	assert_non_null(group);
	qv_fi_host.log_enabled = no_log;
	ep.coll = &coll;
	memset(sent, 0, sizeof sent);
	group->ep = &ep;
	group->n = N;
	group->mc.fid.ops = &qv_fi_group_ops;
	group->addrs = calloc(N, sizeof *group->addrs);
	assert_non_null(group->addrs);
	for (fi_addr_t i = 0; i < N; i++)
		group->addrs[i] = i;
	assert_int_equal(qv_fi_group_take_slot(&coll, group), 0);
	return group;
}

static void all_know(void)
{
	for (int i = 1; i < N; i++)
		assert_int_equal(sent[i], 1);
}

static void tried_again(void **state)
{
	const int why[] = {QV_EAGAIN, QV_ENOMEM};

	for (unsigned i = 0; i < 4; i++) {
		struct qv_fi_group *group = start();
		const bool closes = i >= 2;

		answer = why[i % 2];
		qv_fi_group_fail(group, QV_EPEER);
		qv_fi_group_progress(group);
		assert_int_equal(sent[1], 1);
		assert_int_equal(sent[3], 0);
		if (closes)
			assert_int_equal(fi_close(&group->mc.fid), 0);
		answer = 0;
		for (int k = 0; k < 2; k++)
			if (closes)
				qv_fi_group_progress_lost(&coll);
			else
				qv_fi_group_progress(group);
		all_know();
		if (!closes)
			assert_int_equal(fi_close(&group->mc.fid), 0);
		qv_fi_group_free_lost(&coll);
	}
	free(coll.slots);
	coll = (struct qv_fi_coll){.ep = &ep};
}

static void listens_again(void **state)
{
	struct qv_fi_group *group = start();

	answer = QV_ENOMEM;
	qv_fi_group_listen(group);
	assert_int_equal(listens, 0);
	answer = 0;
	for (int k = 0; k < 2; k++)
		qv_fi_group_progress(group);
	assert_int_equal(listens, 1);
	assert_int_equal(fi_close(&group->mc.fid), 0);
	free(coll.slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tried_again),
		cmocka_unit_test(listens_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
