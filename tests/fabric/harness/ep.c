/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.c - endpoints of the conformance tests: opening, addresses, completions. */
#include "ft.h"

#include <netinet/in.h>
#include <sched.h>

static struct ft_ep *open_eps; /* of this process */

struct fi_info *ft_hints(const struct ft_conf *conf)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->caps = FI_MSG | FI_TAGGED | conf->caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->tx_attr->op_flags = conf->tx_flags;
	hints->domain_attr->threading = conf->threading ? conf->threading : FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = hints->domain_attr->control_progress =
		conf->progress ? conf->progress : FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = conf->av_map ? FI_AV_MAP : FI_AV_TABLE;
	hints->domain_attr->mr_mode =
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	hints->fabric_attr->prov_name = strdup(ft.prov);
	return hints;
}

int ft_getinfo(struct fi_info *hints, struct fi_info **info)
{
	int ret = fi_getinfo(FT_API, NULL, NULL, 0, hints, info);

	/* No silent fall-back: exactly the provider that was named. */
	if (!ret && strcmp((*info)->fabric_attr->prov_name, ft.prov))
		ft_fail("asked for %s, got %s", ft.prov, (*info)->fabric_attr->prov_name);
	return ret;
}

static void open_cntrs(struct ft_ep *ep)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};

	OK(fi_cntr_open(ep->domain, &attr, &ep->send_cntr, NULL));
	OK(fi_cntr_open(ep->domain, &attr, &ep->recv_cntr, NULL));
	if (ep->conf.caps & FI_RMA)
		OK(fi_cntr_open(ep->domain, &attr, &ep->rma_cntr, NULL));
}

static void open_queues(struct ft_ep *ep)
{
	struct fi_cq_attr cq = {.format = ep->conf.format, .wait_obj = ep->conf.wait};
	struct fi_av_attr av = {.type = ep->conf.av_map ? FI_AV_MAP : FI_AV_TABLE};
	int ret;

	if (cq.format == FI_CQ_FORMAT_UNSPEC)
		cq.format = FI_CQ_FORMAT_TAGGED;
	ep->conf.format = cq.format;
	ret = fi_cq_open(ep->domain, &cq, &ep->rx_cq, &ep->rx_cq);
	if (ret == -FI_ENOSYS && (!ft.quiver || (!strcmp(ft_core(), "shm") && !ft_pair())))
		ft_skip("%s has no queue with wait object %d", ft_core(), cq.wait_obj);
	OK(ret);
	ep->tx_cq = ep->rx_cq;
	if (ep->conf.split_cq)
		OK(fi_cq_open(ep->domain, &cq, &ep->tx_cq, NULL));
	if (ep->conf.cntrs)
		open_cntrs(ep);
	if (ep->conf.beside)
		ep->av = ep->conf.beside->av;
	else
		OK(fi_av_open(ep->domain, &av, &ep->av, NULL));
}

/* Capabilities that peer mode leaves out: our protocol has one, and shm has the other wrong. */
static uint64_t not_offered(void)
{
	if (!ft.peer)
		return 0;
	return FI_FENCE | (strcmp(ft_core(), "shm") ? 0 : FI_ATOMIC);
}

void ft_open_domain(struct ft_ep *ep, const struct ft_conf *conf)
{
	struct fi_info *hints = ft_hints(conf);
	int ret;

	memset(ep, 0, sizeof(*ep));
	ep->conf = *conf;
	FT_HERE();
	ret = conf->in_band && ft_has_ports() ? ft_getinfo_port(hints, &ep->info)
					      : ft_getinfo(hints, &ep->info);
	fi_freeinfo(hints);
	if (ret == -FI_ENODATA && (!ft.quiver || conf->caps & not_offered()))
		ft_skip("%s does not offer capabilities %#llx", ft.prov,
			(unsigned long long)conf->caps);
	OK(ret);
	if (conf->beside) {
		ep->fabric = conf->beside->fabric;
		ep->domain = conf->beside->domain;
	} else {
		OK(fi_fabric(ep->info->fabric_attr, &ep->fabric, NULL));
		OK(fi_domain(ep->fabric, ep->info, &ep->domain, NULL));
	}
	open_queues(ep);
}

static void publish(struct ft_ep *ep)
{
	struct ft_rank *me = &ft.sh->rank[ft.rank];
	size_t len = FT_MAX_NAME;

	ep->index = ft.eps++ % FT_MAX_EPS;
	OK(fi_getname(&ep->ep->fid, me->name[ep->index], &len));
	CHECK(len > 0 && len <= FT_MAX_NAME);
	me->namelen[ep->index] = len;
}

/* Peer mode over rxm: a domain has room for one. */
void ft_needs_room(const struct ft_ep *ep)
{
	size_t n = 0;

	for (const struct ft_ep *e = open_eps; e; e = e->next)
		n += e->domain == ep->domain;
	if (ft.peer && n >= ep->info->domain_attr->ep_cnt)
		ft_skip("a domain has room for %zu endpoints", ep->info->domain_attr->ep_cnt);
}

void ft_open_ep(struct ft_ep *ep)
{
	uint64_t selective = ep->conf.selective ? FI_SELECTIVE_COMPLETION : 0;

	ft_needs_room(ep);
	OK(fi_endpoint(ep->domain, ep->info, &ep->ep, NULL));
	OK(fi_ep_bind(ep->ep, &ep->av->fid, 0));
	if (ep->conf.no_cq) {
		/* counters only */
	} else if (ep->conf.split_cq) {
		OK(fi_ep_bind(ep->ep, &ep->tx_cq->fid, FI_TRANSMIT | selective));
		OK(fi_ep_bind(ep->ep, &ep->rx_cq->fid, FI_RECV | selective));
	} else {
		OK(fi_ep_bind(ep->ep, &ep->rx_cq->fid, FI_TRANSMIT | FI_RECV | selective));
	}
	if (ep->send_cntr) {
		OK(fi_ep_bind(ep->ep, &ep->send_cntr->fid, FI_SEND));
		OK(fi_ep_bind(ep->ep, &ep->recv_cntr->fid, FI_RECV));
	}
	if (ep->rma_cntr)
		OK(fi_ep_bind(ep->ep, &ep->rma_cntr->fid, FI_READ | FI_WRITE));
	if (ep->conf.eq && !ep->eq) {
		struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};

		OK(fi_eq_open(ep->fabric, &attr, &ep->eq, NULL));
	}
	if (ep->eq)
		OK(fi_ep_bind(ep->ep, &ep->eq->fid, 0));
	if (ep->recv_wait)
		OK(fi_ep_bind(ep->ep, &ep->recv_wait->fid, FI_RECV));
	if (ep->remote_cntr)
		OK(fi_ep_bind(ep->ep, &ep->remote_cntr->fid, FI_REMOTE_WRITE));
	if (ep->read_cntr)
		OK(fi_ep_bind(ep->ep, &ep->read_cntr->fid, FI_REMOTE_READ));
	OK(fi_enable(ep->ep));
	publish(ep);
	ep->next = open_eps;
	open_eps = ep;
}

void ft_tell(struct ft_ep *ep, struct ft_op *op, bool send, uint64_t nth)
{
	struct fid_cntr *cntr = send ? ep->send_cntr : ep->recv_cntr;

	while (cntr && fi_cntr_read(cntr) < nth)
		;
	/* In selective mode a send without flags leaves no entry: what follows is its answer. */
	if (!ep->conf.no_cq && !(send && ep->conf.selective))
		ft_wait(op);
}

/* A name as the core below quiver takes it: quiver may have said in the padding of an IPv4 address
 * which mode it is in. */
static void plain_name(const void *name, void *plain)
{
	struct sockaddr_in addr;

	memcpy(plain, name, FT_MAX_NAME);
	memcpy(&addr, plain, sizeof addr);
	if (ft.quiver || addr.sin_family != AF_INET)
		return;
	memset(addr.sin_zero, 0, sizeof addr.sin_zero);
	memcpy(plain, &addr, sizeof addr);
}

void ft_exchange(struct ft_ep *ep)
{
	char name[FT_MAX_NAME];

	if (ep->conf.in_band) {
		ft_exchange_in_band(ep);
		return;
	}
	ft_barrier();
	for (int i = 0; i < ft.n; i++) {
		FT_HERE();
		plain_name(ft.sh->rank[i].name[ep->index], name);
		CHECK_EQ(fi_av_insert(ep->av, name, 1, &ep->peer[i], 0, NULL), 1);
	}
	ft_barrier(); /* nobody is spoken to before it knows its peers */
}

void ft_open(struct ft_ep *ep, const struct ft_conf *conf)
{
	ft_open_domain(ep, conf);
	ft_open_ep(ep);
	if (!conf->lonely)
		ft_exchange(ep);
}

void ft_close_ep(struct ft_ep *ep)
{
	struct ft_ep **link = &open_eps;

	while (*link && *link != ep)
		link = &(*link)->next;
	if (*link)
		*link = ep->next;
	OK(fi_close(&ep->ep->fid));
	ep->ep = NULL;
}

void ft_close(struct ft_ep *ep)
{
	ft_barrier();
	ft_close_part(ep);
}

void ft_close_part(struct ft_ep *ep)
{
	if (!ep)
		return;
	if (ep->ep)
		ft_close_ep(ep);
	if (ep->tx_cq != ep->rx_cq)
		OK(fi_close(&ep->tx_cq->fid));
	OK(fi_close(&ep->rx_cq->fid));
	if (ep->send_cntr) {
		OK(fi_close(&ep->send_cntr->fid));
		OK(fi_close(&ep->recv_cntr->fid));
	}
	if (ep->rma_cntr)
		OK(fi_close(&ep->rma_cntr->fid));
	if (ep->recv_wait)
		OK(fi_close(&ep->recv_wait->fid));
	if (ep->remote_cntr)
		OK(fi_close(&ep->remote_cntr->fid));
	if (ep->read_cntr)
		OK(fi_close(&ep->read_cntr->fid));
	if (ep->eq)
		OK(fi_close(&ep->eq->fid));
	if (!ep->conf.beside) {
		OK(fi_close(&ep->av->fid));
		OK(fi_close(&ep->domain->fid));
		OK(fi_close(&ep->fabric->fid));
	}
	fi_freeinfo(ep->info);
}

/* Completions. */

static size_t entry_size(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_CONTEXT: return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG: return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA: return sizeof(struct fi_cq_data_entry);
	default: return sizeof(struct fi_cq_tagged_entry);
	}
}

static void finish(struct ft_op *op)
{
	if (op->on)
		op->on(op);
	atomic_fetch_add_explicit(&op->done, 1, memory_order_release);
}

/* Each format is a prefix of the tagged one. */
void ft_record(struct ft_ep *ep, const void *entry, fi_addr_t src)
{
	struct fi_cq_tagged_entry e = {0};
	struct ft_op *op;

	memcpy(&e, entry, entry_size(ep->conf.format));
	op = e.op_context;
	if (!op)
		ft_fail("a completion without context, flags %#llx", (unsigned long long)e.flags);
	op->flags = e.flags;
	op->len = e.len;
	op->buf = e.buf;
	op->data = e.data;
	op->tag = e.tag;
	op->src = src;
	op->err = 0;
	finish(op);
}

bool ft_take_error(struct ft_ep *ep, struct fid_cq *cq)
{
	union {
		struct fi_cq_err_entry e;
		char room[512];
	} u = {.room = {0}};
	struct ft_op *op;
	ssize_t ret = fi_cq_readerr(cq, &u.e, 0);

	if (ret == -FI_EAGAIN)
		return false;
	CHECK_EQ(ret, 1);
	op = u.e.op_context;
	if (!op)
		ft_fail("an error completion without context: %s", fi_strerror(u.e.err));
	op->flags = u.e.flags;
	op->len = u.e.len;
	op->olen = u.e.olen;
	op->buf = u.e.buf;
	op->data = u.e.data;
	op->tag = u.e.tag;
	op->err = u.e.err;
	op->prov_errno = u.e.prov_errno;
	CHECK(op->err > 0);
	(void)ep;
	finish(op);
	return true;
}

int ft_poll_cq(struct ft_ep *ep, struct fid_cq *cq)
{
	char entries[16 * sizeof(struct fi_cq_tagged_entry)];
	size_t size = entry_size(ep->conf.format);
	fi_addr_t src[16];
	ssize_t n;

	memset(src, 0xff, sizeof(src));
	if (ep->conf.caps & FI_SOURCE)
		n = fi_cq_readfrom(cq, entries, 16, src);
	else
		n = fi_cq_read(cq, entries, 16);
	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL)
		return ft_take_error(ep, cq);
	if (n < 0)
		ft_fail("fi_cq_read: %zd (%s)", n, fi_strerror((int)-n));
	for (ssize_t i = 0; i < n; i++)
		ft_record(ep, entries + (size_t)i * size, src[i]);
	return (int)n;
}

/* More ranks than cores: who has nothing to do lets others run, and sleeps when that goes on. */
static void rest(unsigned idle)
{
	const struct timespec nap = {.tv_nsec = 50000};

	if (idle > 2000)
		nanosleep(&nap, NULL);
	else if (idle > 20)
		sched_yield();
}

int ft_progress(void)
{
	static _Thread_local unsigned idle;
	int n = 0;

	for (struct ft_ep *ep = open_eps; ep; ep = ep->next) {
		n += ft_poll_cq(ep, ep->rx_cq);
		if (ep->tx_cq != ep->rx_cq)
			n += ft_poll_cq(ep, ep->tx_cq);
	}
	idle = n ? 0 : idle + 1;
	rest(idle);
	return n;
}
