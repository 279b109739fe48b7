/* SPDX-License-Identifier: BSD-2-Clause */
/* join.c - a join that fails at once leaves the notice that its repetition needs. Of the provider there
 * is coll/join.c only. */
#include "fabric_glue/coll/coll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/fabric/parts/not_called.h"

static int start;        /* the answer to the start of a join */
static unsigned listens; /* each may take a notice that waits */

struct fi_provider qv_fi_prov;
struct qv_fi_host qv_fi_host;
struct qv_fi_params qv_fi_params;
struct fi_ops qv_fi_group_ops;

static struct qv_fi_av_entry entry = {.refs = 1, .name = "self", .namelen = 4};
static struct qv_fi_av av = {.entries = &entry, .used = 1};
static fi_addr_t addr;
static struct qv_fi_set set = {.av = &av, .n = 1, .addrs = &addr};
static struct qv_fi_coll coll;
static struct qv_fi_domain dom;
static struct fid_eq eq;
static struct qv_fi_ep ep = {
	.dom = &dom, .av = &av, .eq = &eq, .coll = &coll, .enabled = true, .caps = FI_COLLECTIVE};

int qv_fi_ep_name(struct qv_fi_ep *of, void *name, size_t *len)
{
	memcpy(name, entry.name, entry.namelen);
	*len = entry.namelen;
	return 0;
}
struct qv_fi_set *qv_fi_set_of(const struct fid_av_set *fid)
{
	return &set;
}
int qv_fi_group_take_slot(struct qv_fi_coll *of, struct qv_fi_group *group)
{
	return 0;
}
void qv_fi_group_leave_slot(struct qv_fi_coll *of, struct qv_fi_group *group)
{
}
void qv_fi_memory_offer(const struct qv_fi_group *group, struct qv_fi_member *own)
{
}
uint64_t qv_fi_coll_mix(uint64_t hash, const void *data, size_t len)
{
	return hash + len;
}
void qv_fi_group_listen(struct qv_fi_group *group)
{
	listens++;
}
int qv_fi_coll_start_join(struct qv_fi_coll *of, struct qv_fi_group *group)
{
	return start;
}
void qv_fi_coll_progress(struct qv_fi_ep *of)
{
}
void qv_fi_group_free(struct qv_fi_group *group)
{
	qv_select_close(group->select);
	free(group->addrs);
	free(group->load);
	free(group->members);
	free(group);
}
void qv_fi_lock_slow(struct qv_fi_domain *of)
{
}
void qv_fi_warn(const char *format, ...)
{
}

/* What is not asked here of the rest of the provider. */
NOT_CALLED(int, qv_fi_coll_open, struct qv_fi_ep *of)
NOT_CALLED(fi_addr_t, qv_fi_set_addr, const struct qv_fi_set *of)
NOT_CALLED(struct qv_fi_group *, qv_fi_group_find, struct qv_fi_coll *of, fi_addr_t group)
NOT_CALLED(void, qv_fi_group_fail, struct qv_fi_group *group, int status)
NOT_CALLED(int, qv_fi_memory_begin, struct qv_fi_group *group)
NOT_CALLED(int, qv_fi_measure_begin, struct qv_fi_group *group)
NOT_CALLED(int, qv_fi_errno, int status)
NOT_CALLED(int, qv_fi_eq_tell, struct fid_eq *of, uint32_t event, const struct fi_eq_entry *e)
NOT_CALLED(int, qv_fi_eq_tell_error, struct fid_eq *of, const struct fi_eq_err_entry *e)

static void fails_at_once(void **state)
{
	struct fid_av_set fid;
	const struct fi_collective_addr all = {.set = &fid, .coll_addr = FI_ADDR_NOTAVAIL};
	struct fid_mc *mc;

	start = -FI_ENOMEM;
	assert_int_equal(qv_fi_join(&ep.fid, &all, FI_COLLECTIVE, &mc, NULL), -FI_ENOMEM);
	assert_int_equal(listens, 0);
	start = 0;
	assert_int_equal(qv_fi_join(&ep.fid, &all, FI_COLLECTIVE, &mc, NULL), 0);
	assert_int_equal(listens, 1);
	qv_fi_group_free(container_of(mc, struct qv_fi_group, mc));
	qv_fi_coll_forget_joins(&coll);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fails_at_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
