/* SPDX-License-Identifier: BSD-2-Clause */
/* eq.c - event queues: sleeping until there is an event, and what an address vector writes there. */
#include "tests/fabric/harness/ft.h"

#include <poll.h>

static struct fid_eq *open_eq(struct ft_ep *ep, enum fi_wait_obj wait)
{
	struct fi_eq_attr attr = {.size = 32, .flags = FI_WRITE, .wait_obj = wait};
	struct fid_eq *eq;

	OK(fi_eq_open(ep->fabric, &attr, &eq, NULL));
	return eq;
}

static void write_event(struct fid_eq *eq, void *context)
{
	const struct fi_eq_entry entry = {.fid = &eq->fid, .context = context};

	CHECK_EQ(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0), sizeof entry);
}

/* Who wants to sleep asks fi_trywait first; the descriptor is readable as long as an event waits. */
static void eq_trywait(void)
{
	struct fi_eq_entry entry = {0};
	struct pollfd fd = {.events = POLLIN};
	struct fid *fids[1];
	struct fid_eq *eq;
	uint32_t event = 0;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	eq = open_eq(&ep, FI_WAIT_FD);
	fids[0] = &eq->fid;
	OK(fi_control(&eq->fid, FI_GETWAIT, &fd.fd));
	for (int i = 0; i < 3; i++) {
		OK(fi_trywait(ep.fabric, fids, 1));
		CHECK_EQ(poll(&fd, 1, 0), 0);
		write_event(eq, &ep);
		write_event(eq, &eq);
		CHECK_EQ(fi_trywait(ep.fabric, fids, 1), -FI_EAGAIN);
		CHECK_EQ(poll(&fd, 1, 0), 1);
		CHECK_EQ(fi_eq_read(eq, &event, &entry, sizeof entry, FI_PEEK), sizeof entry);
		CHECK(event == FI_NOTIFY && entry.context == &ep);
		CHECK_EQ(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
		CHECK_EQ(poll(&fd, 1, 0), 1);
		CHECK_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, 0, 0), sizeof entry);
		CHECK(entry.context == &eq);
	}
	write_event(eq, &ep);
	event = 0;
	CHECK_EQ(fi_eq_read(eq, &event, &entry, 1, 0), -FI_ETOOSMALL);
	CHECK_EQ(fi_eq_read(eq, &event, NULL, 0, 0), 0); /* the number only */
	CHECK_EQ(event, FI_NOTIFY);
	CHECK_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, 10, 0), -FI_EAGAIN);
	OK(fi_close(&eq->fid));
	ft_close(&ep);
}

/* A queue refuses to be closed while an object would write to it. */
static void eq_bound(void)
{
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .flags = FI_EVENT};
	struct fid_eq *eq;
	struct fid_av *av;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	eq = open_eq(&ep, FI_WAIT_NONE);
	OK(fi_av_open(ep.domain, &attr, &av, NULL));
	OK(fi_av_bind(av, &eq->fid, 0));
	CHECK_EQ(fi_close(&eq->fid), -FI_EBUSY);
	OK(fi_close(&av->fid));
	OK(fi_close(&eq->fid));
	ft_close(&ep);
}

/* Our own address, one that no peer can have, and ours again. */
static void three_names(struct ft_ep *ep, char *out)
{
	const struct ft_rank *me = &ft.sh->rank[ft.rank];
	const size_t len = me->namelen[ep->index];
	const bool text = ep->info->addr_format == FI_ADDR_STR;
	const size_t bad = text ? FT_MAX_NAME + 1 : len;

	memcpy(out, me->name[ep->index], len);
	memset(out + len, text ? '?' : 0, bad);
	memcpy(out + len + bad, me->name[ep->index], len);
}

/* An asynchronous insertion: an error for each address that failed, then how many did not. */
static void av_async(void)
{
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .flags = FI_EVENT};
	char names[3 * FT_MAX_NAME + 1];
	struct fi_eq_err_entry err = {0};
	struct fi_eq_entry entry = {0};
	fi_addr_t addrs[3];
	struct fid_eq *eq;
	struct fid_av *av;
	uint32_t event = 0;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	three_names(&ep, names);
	eq = open_eq(&ep, FI_WAIT_FD);
	OK(fi_av_open(ep.domain, &attr, &av, NULL));
	OK(fi_av_bind(av, &eq->fid, 0));
	OK(fi_av_insert(av, names, 3, addrs, 0, &ep));
	CHECK_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, 1000, 0), -FI_EAVAIL);
	err.err_data = names; /* ours: a queue that has no more to say leaves it */
	err.err_data_size = sizeof names;
	while (fi_eq_readerr(eq, &err, 0) > 0) {
		CHECK(err.err_data == names && err.err_data_size == 0);
		err.err_data_size = sizeof names;
		CHECK(err.fid == &av->fid && err.context == &ep && err.err > 0);
		CHECK(err.data < 3 && addrs[err.data] == FI_ADDR_NOTAVAIL);
		CHECK(*fi_eq_strerror(eq, err.prov_errno, err.err_data, NULL, 0));
	}
	CHECK_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, 1000, 0), sizeof entry);
	CHECK(event == FI_AV_COMPLETE && entry.fid == &av->fid && entry.context == &ep);
	CHECK(addrs[0] != FI_ADDR_NOTAVAIL && addrs[1] == FI_ADDR_NOTAVAIL);
	CHECK_EQ(entry.data, addrs[2] == FI_ADDR_NOTAVAIL ? 1 : 2);
	OK(fi_close(&av->fid));
	OK(fi_close(&eq->fid));
	ft_close(&ep);
}

const struct ft_case ft_cases_eq[] = {
	{"eq_trywait", 1, 20, eq_trywait},
	{"eq_bound", 1, 20, eq_bound},
	{"av_async", 1, 20, av_async},
	{0},
};
