/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * enable.c - fi_enable without memory, and again: each of its allocations fails in turn. The second
 * call works, or is refused as long as the endpoint is open; either way all closes and nothing of
 * the provider's is left. So it is with fi_ep_bind of a counter, and with the first call to a peer. A
 * peer's first message arrives, whatever fails on its way. Only what the provider itself calls fails.
 */
#include "memory.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <string.h>
#include <time.h>

struct objects {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
};

static struct fi_info *offer(bool automatic)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	hints->caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->data_progress = automatic ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
	hints->domain_attr->control_progress = hints->domain_attr->data_progress;
	hints->fabric_attr->prov_name = strdup("quiver");
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void open_all(struct objects *o)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED};

	OK(fi_fabric(o->info->fabric_attr, &o->fabric, NULL));
	OK(fi_domain(o->fabric, o->info, &o->domain, NULL));
	OK(fi_av_open(o->domain, &av, &o->av, NULL));
	OK(fi_cq_open(o->domain, &cq, &o->cq, NULL));
	OK(fi_endpoint(o->domain, o->info, &o->ep, NULL));
	OK(fi_ep_bind(o->ep, &o->av->fid, 0));
	OK(fi_ep_bind(o->ep, &o->cq->fid, FI_TRANSMIT | FI_RECV));
}

static void close_all(struct objects *o)
{
	if (o->ep)
		OK(fi_close(&o->ep->fid));
	OK(fi_close(&o->cq->fid));
	OK(fi_close(&o->av->fid));
	OK(fi_close(&o->domain->fid));
	OK(fi_close(&o->fabric->fid));
}

/* A message to itself arrives. */
static void check_works(struct objects *o)
{
	struct fi_cq_tagged_entry entry;
	uint64_t out = 17, in = 0;
	char name[512];
	size_t len = sizeof name, done = 0;
	fi_addr_t self;

	OK(fi_getname(&o->ep->fid, name, &len));
	CHECK(fi_av_insert(o->av, name, 1, &self, 0, NULL) == 1, "no address\n");
	OK(fi_trecv(o->ep, &in, sizeof in, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tsend(o->ep, &out, sizeof out, NULL, self, 1, NULL));
	while (done < 2) {
		ssize_t n = fi_cq_read(o->cq, &entry, 1);

		CHECK(n == 1 || n == -FI_EAGAIN, "fi_cq_read: %zd\n", n);
		done += n == 1;
	}
	CHECK(in == 17, "%llu has come\n", (unsigned long long)in);
}

/* Who has no memory for a peer says so. */
static void try_peer(struct fi_info *info)
{
	struct objects o = {.info = info};
	uint64_t word = 1;
	char name[512];
	size_t len = sizeof name;
	fi_addr_t self;
	ssize_t rc;

	open_all(&o);
	OK(fi_enable(o.ep));
	OK(fi_getname(&o.ep->fid, name, &len));
	CHECK(fi_av_insert(o.av, name, 1, &self, 0, NULL) == 1, "no address\n");
	watched = true;
	none = true;
	rc = fi_tsend(o.ep, &word, sizeof word, NULL, self, 1, NULL);
	CHECK(rc == -FI_ENOMEM, "fi_tsend: %zd\n", rc);
	rc = fi_trecv(o.ep, &word, sizeof word, NULL, self, 1, 0, NULL);
	CHECK(rc == -FI_ENOMEM, "fi_trecv: %zd\n", rc);
	none = false;
	watched = false;
	close_all(&o);
}

/* A counter that is not bound for want of memory leaves its place to another. */
static void try_counter(struct fi_info *info)
{
	struct objects o = {.info = info};
	struct fid_cntr *cntr[2];
	int rc;

	watched = true;
	open_all(&o);
	for (int i = 0; i < 2; i++)
		OK(fi_cntr_open(o.domain, NULL, &cntr[i], NULL));
	countdown = 1;
	rc = fi_ep_bind(o.ep, &cntr[0]->fid, FI_SEND);
	countdown = 0;
	CHECK(rc == -FI_ENOMEM, "fi_ep_bind of a counter: %d\n", rc);
	OK(fi_ep_bind(o.ep, &cntr[1]->fid, FI_SEND));
	OK(fi_close(&cntr[0]->fid));
	OK(fi_enable(o.ep));
	check_works(&o);
	OK(fi_close(&o.ep->fid));
	o.ep = NULL;
	OK(fi_close(&cntr[1]->fid));
	close_all(&o);
	watched = false;
	CHECK(!left(), "counters: %u blocks are left\n", left());
}

/* The nth allocation of fi_enable fails. False: it has fewer. */
static bool try(struct fi_info *info, unsigned nth, unsigned *worked)
{
	struct objects o = {.info = info};
	bool failed;
	int rc, again;

	watched = true;
	open_all(&o);
	countdown = nth;
	rc = fi_enable(o.ep);
	failed = !countdown;
	countdown = 0;
	CHECK(failed || !rc, "%u: fi_enable: %d with memory\n", nth, rc);
	CHECK(!rc || rc == -FI_ENOMEM, "%u: fi_enable: %d\n", nth, rc);
	again = fi_enable(o.ep);
	CHECK(rc ? !again || again == -FI_EOPBADSTATE : !again, "%u: fi_enable again: %d\n", nth,
	      again);
	if (rc && again) {
		CHECK(fi_enable(o.ep) == again, "%u: fi_enable the third time\n", nth);
		CHECK(fi_tsend(o.ep, NULL, 0, NULL, 0, 1, NULL), "%u: it sends\n", nth);
	} else {
		check_works(&o);
		*worked += rc != 0;
	}
	close_all(&o);
	watched = false;
	CHECK(!left(), "%u: %u blocks are left\n", nth, left());
	return failed;
}

/* One call of each, the nth allocation of the receiver's fails. */
static bool poll_both(struct objects *from, struct objects *to, unsigned *nth)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {0};
	ssize_t n;

	n = fi_cq_read(from->cq, &entry, 1);
	CHECK(n == 1 || n == -FI_EAGAIN, "fi_cq_read of the sender: %zd\n", n);
	watched = true;
	countdown = *nth;
	n = fi_cq_read(to->cq, &entry, 1);
	*nth = countdown;
	watched = false;
	countdown = 0;
	if (n == -FI_EAVAIL)
		fi_cq_readerr(to->cq, &err, 0);
	CHECK(n == 1 || n == -FI_EAGAIN, "fi_cq_read: %zd (%s)\n", n, fi_strerror(err.err));
	return n == 1;
}

static fi_addr_t insert(struct objects *o, const struct objects *peer)
{
	char name[512];
	size_t len = sizeof name;
	fi_addr_t addr;

	OK(fi_getname(&peer->ep->fid, name, &len));
	CHECK(fi_av_insert(o->av, name, 1, &addr, 0, NULL) == 1, "no address\n");
	return addr;
}

/* The first message of a peer, named or not, while the nth allocation fails. False: there are fewer. */
static bool try_first_word(struct fi_info *info, bool named, unsigned nth)
{
	struct objects from = {.info = info}, to = {.info = info};
	const time_t until = time(NULL) + 10;
	uint64_t out = 17, in = 0;
	unsigned left_to_do = nth;

	open_all(&from);
	open_all(&to);
	OK(fi_enable(from.ep));
	OK(fi_enable(to.ep));
	if (named)
		insert(&to, &from);
	OK(fi_trecv(to.ep, &in, sizeof in, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tsend(from.ep, &out, sizeof out, NULL, insert(&from, &to), 1, NULL));
	while (!poll_both(&from, &to, &left_to_do))
		CHECK(time(NULL) < until, "%u: the message of %s peer has not come\n", nth,
		      named ? "a named" : "an unknown");
	CHECK(in == 17, "%llu has come\n", (unsigned long long)in);
	close_all(&from);
	close_all(&to);
	return !left_to_do;
}

static void try_first_words(struct fi_info *info)
{
	for (int named = 0; named < 2; named++) {
		unsigned nth = 1;

		while (try_first_word(info, named, nth))
			nth++;
		CHECK(nth > 3, "a peer's first message asks for memory %u times only\n", nth - 1);
		printf("%u allocations failed in turn when a peer spoke first\n", nth - 1);
	}
}

int main(void)
{
	for (int automatic = 0; automatic < 2; automatic++) {
		struct fi_info *info = offer(automatic);
		unsigned nth = 1, worked = 0;

		try_peer(info);
		try_counter(info);
		if (!automatic)
			try_first_words(info);
		while (try(info, nth, &worked))
			nth++;
		CHECK(nth > 3, "fi_enable asks for memory %u times only\n", nth - 1);
		printf("%u allocations failed in turn, %u times it worked when called again\n",
		       nth - 1, worked);
		fi_freeinfo(info);
	}
	return 0;
}
