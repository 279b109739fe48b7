/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * join.c - fi_join_collective without memory: each of its allocations fails in turn at one of two
 * members. The call fails, and joins when it is made again; or memory comes back, and it joins.
 */
#include "memory.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <string.h>
#include <time.h>

enum { N = 2, SECONDS = 10 };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_av_set *set;
static struct {
	struct fid_eq *eq;
	struct fid_ep *ep;
	struct fid_mc *mc;
} member[N];

static void offer(void)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_TAGGED | FI_COLLECTIVE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("quiver");
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
}

static void open_all(void)
{
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_av_set_attr all = {.flags = FI_UNIVERSE};

	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
	OK(fi_av_open(domain, &av_attr, &av, NULL));
	OK(fi_cq_open(domain, &cq_attr, &cq, NULL));
	for (int i = 0; i < N; i++) {
		char name[512];
		size_t len = sizeof name;
		fi_addr_t addr;

		OK(fi_eq_open(fabric, &eq_attr, &member[i].eq, NULL));
		OK(fi_endpoint(domain, info, &member[i].ep, NULL));
		OK(fi_ep_bind(member[i].ep, &av->fid, 0));
		OK(fi_ep_bind(member[i].ep, &member[i].eq->fid, 0));
		OK(fi_ep_bind(member[i].ep, &cq->fid, FI_TRANSMIT | FI_RECV));
		OK(fi_enable(member[i].ep));
		OK(fi_getname(&member[i].ep->fid, name, &len));
		CHECK(fi_av_insert(av, name, 1, &addr, 0, NULL) == 1, "no address\n");
	}
	OK(fi_av_set(av, &all, &set, NULL));
}

static void close_all(void)
{
	for (int i = 0; i < N; i++)
		OK(fi_close(&member[i].mc->fid));
	OK(fi_close(&set->fid));
	for (int i = 0; i < N; i++) {
		OK(fi_close(&member[i].ep->fid));
		OK(fi_close(&member[i].eq->fid));
	}
	OK(fi_close(&cq->fid));
	OK(fi_close(&av->fid));
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
}

static int join(int i)
{
	return fi_join_collective(member[i].ep, FI_ADDR_NOTAVAIL, set, 0, &member[i].mc, NULL);
}

static void await_join(int i, unsigned nth)
{
	const time_t end = time(NULL) + SECONDS;
	struct fi_eq_err_entry err = {0};
	struct fi_cq_tagged_entry done;
	struct fi_eq_entry entry;
	uint32_t event;
	ssize_t ret;

	while ((ret = fi_eq_read(member[i].eq, &event, &entry, sizeof entry, 0)) == -FI_EAGAIN) {
		fi_cq_read(cq, &done, 1);
		CHECK(time(NULL) < end, "%u: member %d waits for ever\n", nth, i);
	}
	if (ret == -FI_EAVAIL)
		fi_eq_readerr(member[i].eq, &err, 0);
	CHECK(ret == sizeof entry && event == FI_JOIN_COMPLETE, "%u: member %d: %s\n", nth, i,
	      fi_strerror(err.err));
}

/* The nth allocation of the call fails. False: it has fewer. */
static bool try(unsigned nth, unsigned *again)
{
	bool failed;
	int rc;

	watched = true;
	open_all();
	countdown = nth;
	rc = join(0);
	failed = !countdown;
	countdown = 0;
	CHECK(!rc || (failed && rc == -FI_ENOMEM), "%u: fi_join_collective: %d\n", nth, rc);
	if (rc)
		OK(join(0));
	*again += rc != 0;
	OK(join(1));
	for (int i = 0; i < N; i++)
		await_join(i, nth);
	close_all();
	watched = false;
	CHECK(!left(), "%u: %u blocks are left\n", nth, left());
	return failed;
}

int main(void)
{
	unsigned nth = 1, again = 0;

	offer();
	while (try(nth, &again))
		nth++;
	CHECK(again > 3, "fi_join_collective fails %u times only\n", again);
	printf("%u allocations failed in turn, %u times the call was made again\n", nth - 1, again);
	fi_freeinfo(info);
	return 0;
}
