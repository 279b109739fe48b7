/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cq.c - a completion queue that is full and has no memory to grow. Each completion is told once or
 * given up, and what was given up is told as an error. Of the provider there is the queue only.
 */
#include "fabric_glue/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/fabric/parts/not_called.h"

#include "tests/proto/rig/nomem.h"

#define ROOM 256u /* entries of a queue that nobody has asked to be larger */

static struct qv_fi_domain dom;
static struct qv_fi_cq *cq;

int qv_fi_wait_set_open(struct qv_fi_wait_set *wait_set, struct qv_fi_domain *of,
			enum fi_wait_obj wait_obj, bool (*news)(struct qv_fi_wait_set *wait_set))
{
	wait_set->dom = of;
	wait_set->event_fd = -1;
	return 0;
}

void qv_fi_wait_set_close(struct qv_fi_wait_set *wait_set)
{
}

void qv_fi_lock_slow(struct qv_fi_domain *of)
{
}

static int log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		       enum fi_log_subsys subsys)
{
	return 0;
}

struct qv_fi_host qv_fi_host = {.log_enabled = log_enabled};
struct fi_provider qv_fi_prov;

/* What is not asked here of the rest of the provider. */
NOT_CALLED(void, qv_fi_beside_own, const struct qv_fi_domain *of)
NOT_CALLED(void, qv_fi_wait_set_wake_slow, struct qv_fi_wait_set *wait_set)
NOT_CALLED(int, qv_fi_cq_control, struct fid *fid, int command, void *arg)
NOT_CALLED(int, qv_fi_cq_signal, struct fid_cq *fid)
NOT_CALLED(ssize_t, qv_fi_cq_sread, struct fid_cq *fid, void *buf, size_t count, const void *cond,
	   int timeout)
NOT_CALLED(ssize_t, qv_fi_cq_sreadfrom, struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
	   const void *cond, int timeout)
NOT_CALLED(int, qv_fi_no_bind, struct fid *fid, struct fid *bfid, uint64_t flags)
NOT_CALLED(int, qv_fi_no_ops_open, struct fid *fid, const char *name, uint64_t flags, void **ops,
	   void *context)

static void push(uint64_t id)
{
	*qv_fi_cq_push(cq, FI_ADDR_NOTAVAIL) = (struct fi_cq_tagged_entry){.data = id};
}

static void push_error(uint64_t id)
{
	qv_fi_cq_error(cq, &(struct fi_cq_err_entry){.err = FI_EIO, .data = id}, FI_ADDR_NOTAVAIL);
}

static void next_is(uint64_t id)
{
	struct fi_cq_tagged_entry e;

	assert_int_equal(fi_cq_read(&cq->fid, &e, 1), 1);
	assert_int_equal(e.data, id);
}

static void next_is_error(int err, uint64_t id)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry bad = {0};

	assert_int_equal(fi_cq_read(&cq->fid, &e, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(&cq->fid, &bad, 0), 1);
	assert_int_equal(bad.err, err);
	assert_int_equal(bad.data, id);
}

/* Errors among the entries and at their end; then two more find no memory. */
static void full(void **state)
{
	struct fi_cq_tagged_entry e;

	for (uint64_t id = 0; id < ROOM; id++) {
		push(id);
		if (id == 9)
			push_error(1000);
	}
	push_error(1001);
	push_error(1002);
	qv_nomem_enter();
	qv_nomem_after(1, 100);
	push(ROOM);
	push(ROOM + 1);
	assert_true(qv_nomem_failed() >= 2);
	qv_nomem_leave();
	for (uint64_t id = 0; id < ROOM - 1; id++) {
		next_is(id);
		if (id == 9)
			next_is_error(FI_EIO, 1000);
	}
	next_is_error(FI_EIO, 1001);
	next_is_error(FI_EIO, 1002);
	next_is_error(FI_EOVERRUN, 0);
	next_is_error(FI_EOVERRUN, 0);
	next_is(ROOM + 1);
	assert_int_equal(fi_cq_read(&cq->fid, &e, 1), -FI_EAGAIN);
	assert_int_equal(fi_close(&cq->fid.fid), 0);
}

static int begin(void **state)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
	static struct qv_fi_fabric fabric = {.api_version = QV_FI_CORE_API};
	struct fid_cq *fid;

	dom.fabric = &fabric;
	assert_int_equal(qv_fi_cq_open(&dom.fid, &attr, &fid, NULL), 0);
	cq = container_of(fid, struct qv_fi_cq, fid);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup(full, begin)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
