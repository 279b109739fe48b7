/* SPDX-License-Identifier: BSD-2-Clause */
/* cep.c - endpoints of a simulated core: what they are asked to do. */
#include "fab.h"

#include <stdlib.h>
#include <string.h>

#define TX_MAX 128u /* sends in hand, then calls are refused */

static struct sf_cep **open_eps; /* to end with their process */
static size_t nopen, open_cap;
static uint64_t uids;

static struct sf_cep *cep_of(struct fid_ep *fid)
{
	return SF_CONTAINER(fid, struct sf_cep, fid);
}

/* Sending. */

static bool waits(const struct sf_cep *ep, const struct sf_conn *c)
{
	for (const struct sf_tx *tx = ep->txs; tx; tx = tx->next)
		if (tx->conn == c)
			return true;
	return false;
}

/* What every call to a peer meets: 0, with the connection, or -FI_E*. *conn NULL: the peer was
 * taken in although there was no place for it, so nothing arrives. */
static ssize_t meet(struct sf_cep *ep, fi_addr_t to, struct sf_conn **conn)
{
	uint32_t number;

	if (!ep->enabled || !ep->av || to >= ep->av->count)
		sf_broken("a core is told to send by, or to, what it does not know");
	if (sf_strikes(SF_EAGAIN, 400))
		ep->refused_until = sf.now + qv_random_below(&sf.rnd_fault, 2 * SF_MS);
	if (sf.now < ep->refused_until)
		return -FI_EAGAIN;
	if (sf_strikes(SF_NOMEM, 500))
		return -FI_ENOMEM;
	if (sf_strikes(SF_BUSY, 500))
		return -FI_EBUSY;
	number = ep->av->numbers[to];
	*conn = number ? sf_net_conn(ep, number) : NULL;
	if (!number)
		return 0;
	if (!*conn || sf_net_dead(*conn))
		return -FI_EAGAIN;
	return sf.now < (*conn)->up && (*conn)->cuts == 0 ? -FI_EAGAIN : 0;
}

static ssize_t give(struct sf_cep *ep, struct sf_conn *c, struct sf_tx *tx)
{
	static const struct sf_tx none;
	struct sf_tx *kept;

	if (!c) {
		if (!tx->inject)
			sf_cq_add(ep->cq, &(struct sf_comp){.e.op_context = tx->context,
							    .e.flags = FI_SEND | FI_MSG});
		return 0;
	}
	tx->conn = c;
	tx->cuts = c->cuts;
	if (tx->inject && sf.now >= c->up && sf_net_has_room(c, ep) && !waits(ep, c)) {
		sf_net_launch(c, ep, tx);
		return 0;
	}
	if (ep->ntx >= TX_MAX || (tx->inject && ep->flavor->shared))
		return -FI_EAGAIN;
	kept = sf_alloc(sizeof none + (tx->inject ? tx->len : 0));
	*kept = *tx;
	kept->next = NULL;
	if (tx->inject) {
		size_t at = 0;

		for (size_t i = 0; i < tx->cnt; at += tx->iov[i++].iov_len)
			memcpy(kept->copy + at, tx->iov[i].iov_base, tx->iov[i].iov_len);
		kept->iov[0] = (struct iovec){kept->copy, tx->len};
		kept->cnt = 1;
	} else if (!ep->flavor->shared) {
		kept->at = sf.now + qv_random_below(&sf.rnd_net, 20 * SF_US);
	}
	*ep->txs_tail = kept;
	ep->txs_tail = &kept->next;
	ep->ntx++;
	return 0;
}

static ssize_t ep_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct sf_cep *ep = cep_of(fid);
	struct sf_tx tx = {.context = msg->context, .inject = flags & FI_INJECT};
	struct sf_conn *c;
	ssize_t rc = meet(ep, msg->addr, &c);

	if (rc)
		return rc;
	tx.cnt = msg->iov_count;
	for (size_t i = 0; i < tx.cnt; i++) {
		tx.iov[i] = msg->msg_iov[i];
		tx.len += tx.iov[i].iov_len;
	}
	if (tx.inject && tx.len > ep->flavor->inject)
		sf_broken("%zu bytes are injected, the core takes %zu", tx.len, ep->flavor->inject);
	return give(ep, c, &tx);
}

static ssize_t inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to, bool has_data,
		      uint64_t data)
{
	struct sf_cep *ep = cep_of(fid);
	struct sf_tx tx = {.inject = true,
			   .has_data = has_data,
			   .data = data,
			   .len = len,
			   .cnt = 1,
			   .iov = {{(void *)(uintptr_t)buf, len}}};
	struct sf_conn *c;
	ssize_t rc = meet(ep, to, &c);

	if (len > ep->flavor->inject)
		sf_broken("%zu bytes are injected, the core takes %zu", len, ep->flavor->inject);
	return rc ? rc : give(ep, c, &tx);
}

static ssize_t ep_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to)
{
	return inject(fid, buf, len, to, false, 0);
}

static ssize_t ep_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			     fi_addr_t to)
{
	return inject(fid, buf, len, to, true, data);
}

/* Receiving, reading. */

static ssize_t ep_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
		       void *context)
{
	struct sf_cep *ep = cep_of(fid);

	(void)desc;
	(void)from;
	if (sf_strikes(SF_EAGAIN, 100))
		return -FI_EAGAIN;
	if (ep->pcount == ep->pcap) {
		size_t cap = ep->pcap ? 2 * ep->pcap : 128;
		struct sf_rxbuf *ring = sf_alloc(cap * sizeof *ring);

		for (size_t i = 0; i < ep->pcount; i++)
			ring[i] = ep->posted[(ep->phead + i) % ep->pcap];
		sf_free(ep->posted);
		ep->posted = ring;
		ep->phead = 0;
		ep->pcap = cap;
	}
	ep->posted[(ep->phead + ep->pcount++) % ep->pcap] = (struct sf_rxbuf){buf, len, context};
	return 0;
}

static ssize_t ep_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct sf_cep *ep = cep_of(fid);
	struct sf_conn *c;
	struct sf_read *r;
	ssize_t rc = meet(ep, msg->addr, &c);

	(void)flags;
	if (rc || !c)
		return rc ? rc : -FI_EAGAIN;
	r = sf_alloc(sizeof *r);
	r->conn = c;
	r->cuts = c->cuts;
	r->at = sf.now + (ep->flavor->shared ? SF_US : 20 * SF_US) +
		qv_random_below(&sf.rnd_net, 20 * SF_US);
	r->addr = msg->rma_iov->addr;
	r->key = msg->rma_iov->key;
	r->context = msg->context;
	r->cnt = msg->iov_count;
	memcpy(r->iov, msg->msg_iov, r->cnt * sizeof *r->iov);
	r->next = ep->reads;
	ep->reads = r;
	return 0;
}

/* Life. */

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct sf_cep *ep = SF_CONTAINER(fid, struct sf_cep, fid.fid);

	(void)flags;
	if (bfid->fclass == FI_CLASS_AV) {
		ep->av = SF_CONTAINER(bfid, struct sf_av, fid.fid);
	} else if (bfid->fclass == FI_CLASS_CQ) {
		ep->cq = SF_CONTAINER(bfid, struct sf_cq, fid.fid);
		ep->cq->ep = ep;
	} else {
		return -FI_ENOSYS;
	}
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct sf_cep *ep = SF_CONTAINER(fid, struct sf_cep, fid.fid);

	(void)arg;
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	ep->enabled = true;
	sf_addr_set(ep->number, ep);
	return 0;
}

static void end(struct sf_cep *ep, bool silent, bool lossy)
{
	ep->closed = true;
	while (ep->txs) {
		struct sf_tx *next = ep->txs->next;

		sf_free(ep->txs);
		ep->txs = next;
	}
	while (ep->reads) {
		struct sf_read *next = ep->reads->next;

		sf_free(ep->reads);
		ep->reads = next;
	}
	sf_free(ep->posted);
	ep->posted = NULL;
	if (ep->cq)
		ep->cq->ep = NULL;
	sf_net_closed(ep, silent, lossy);
	for (size_t i = 0; i < nopen; i++)
		if (open_eps[i] == ep)
			open_eps[i--] = open_eps[--nopen];
}

static int ep_close(struct fid *fid)
{
	struct sf_cep *ep = SF_CONTAINER(fid, struct sf_cep, fid.fid);

	end(ep, false, !ep->flavor->shared);
	return 0;
}

void sf_fab_proc_ended(struct sf_proc *proc)
{
	for (size_t i = 0; i < nopen;)
		if (open_eps[i]->proc == proc)
			end(open_eps[i], proc->silent, !open_eps[i]->flavor->shared);
		else
			i++;
	sf_fab_domains_ended(proc);
}

static int getname(fid_t fid, void *addr, size_t *len)
{
	struct sf_cep *ep = SF_CONTAINER(fid, struct sf_cep, fid.fid);
	char text[SF_ADDR_MAX];
	size_t n = sf_addr_write(ep->flavor, ep->number, ep->proc->pid, text), room = *len;

	memcpy(addr, text, n < room ? n : room);
	*len = n;
	return n > room ? -FI_ETOOSMALL : 0;
}

static struct fi_ops fid_ops = {
	.size = sizeof(struct fi_ops), .close = ep_close, .bind = ep_bind, .control = ep_control};
static struct fi_ops_ep ep_ops = {.size = sizeof(struct fi_ops_ep)};
static struct fi_ops_cm cm_ops = {.size = sizeof(struct fi_ops_cm), .getname = getname};
static struct fi_ops_rma rma_ops = {.size = sizeof(struct fi_ops_rma), .readmsg = ep_readmsg};
static struct fi_ops_msg msg_ops = {.size = sizeof(struct fi_ops_msg),
				    .recv = ep_recv,
				    .sendmsg = ep_sendmsg,
				    .inject = ep_inject,
				    .injectdata = ep_injectdata};

int sf_cep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out, void *context)
{
	struct sf_cep *ep = sf_alloc(sizeof *ep);

	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &fid_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &cm_ops;
	ep->fid.msg = &msg_ops;
	ep->fid.rma = &rma_ops;
	ep->uid = ++uids;
	ep->dom = SF_CONTAINER(domain, struct sf_dom, fid);
	ep->flavor = ep->dom->flavor;
	ep->proc = sf.self;
	ep->txs_tail = &ep->txs;
	if (info->src_addr && !ep->flavor->shared)
		ep->number = sf_addr_parse(ep->flavor, info->src_addr);
	if (!ep->number)
		ep->number = sf_addr_new();
	if (nopen == open_cap) {
		open_cap = open_cap ? 2 * open_cap : 256;
		open_eps = sf_grow(open_eps, open_cap * sizeof(struct sf_cep *));
	}
	open_eps[nopen++] = ep;
	*out = &ep->fid;
	return 0;
}
