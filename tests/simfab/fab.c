/* SPDX-License-Identifier: BSD-2-Clause */
/* fab.c - objects of a simulated core but for endpoints: fabric, domain, memory, AV, CQ. */
#include "fab.h"

#include <stdlib.h>
#include <string.h>

static struct sf_dom *domains[1 << 16]; /* open ones, to end with their process */
static size_t ndomains;

static int no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid;
	(void)bfid;
	(void)flags;
	return 0;
}

/* Memory that peers may read. */

static int mr_close(struct fid *fid)
{
	struct sf_mr *mr = SF_CONTAINER(fid, struct sf_mr, fid.fid), **at = &mr->dom->mrs;

	while (*at != mr)
		at = &(*at)->next;
	*at = mr->next;
	sf_free(mr);
	return 0;
}

static struct fi_ops mr_ops = {.size = sizeof(struct fi_ops), .close = mr_close, .bind = no_bind};

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t key, uint64_t flags, struct fid_mr **out, void *context)
{
	struct sf_dom *dom = SF_CONTAINER(fid, struct sf_dom, fid.fid);
	struct sf_mr *mr;

	(void)access;
	(void)offset;
	(void)flags;
	if (sf_strikes(SF_NOMEM, 50))
		return -FI_ENOMEM;
	if (sf_strikes(SF_BUSY, 50))
		return -FI_EBUSY;
	mr = sf_alloc(sizeof *mr);
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = context;
	mr->fid.fid.ops = &mr_ops;
	mr->fid.key = key;
	mr->dom = dom;
	mr->buf = (char *)(uintptr_t)buf;
	mr->len = len;
	mr->base = dom->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)buf : 0;
	mr->next = dom->mrs;
	dom->mrs = mr;
	*out = &mr->fid;
	return 0;
}

static struct fi_ops_mr domain_mr_ops = {.size = sizeof(struct fi_ops_mr), .reg = mr_reg};

/* Address vectors. */

#define SLOTS 12u /* places for peers under SF_SLOTS */

static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *out,
		     uint64_t flags, void *context)
{
	struct sf_av *av = SF_CONTAINER(fid, struct sf_av, fid);
	uint32_t number = sf_addr_parse(av->dom->flavor, addr);

	(void)flags;
	(void)context;
	if (count != 1)
		sf_broken("%zu addresses at once", count);
	if (!number)
		return -FI_EINVAL;
	if (sf_strikes(SF_NOMEM, 50))
		return -FI_ENOMEM;
	if (sf_strikes(SF_BUSY, 50))
		return -FI_EBUSY;
	for (size_t i = 0; i < av->count; i++)
		if (av->numbers[i] == number) {
			*out = i;
			return 1;
		}
	if (av->count >= SLOTS && sf.cfg.faults >> SF_SLOTS & 1 && av->dom->flavor->shared) {
		sf.happened[SF_SLOTS]++;
		if (sf.cfg.seed & 1)
			return -FI_ENOMEM;
		number = 0; /* taken, and nothing will ever come through */
	}
	if (av->count == av->cap) {
		av->cap = av->cap ? 2 * av->cap : 16;
		av->numbers = sf_grow(av->numbers, av->cap * sizeof *av->numbers);
	}
	av->numbers[av->count] = number;
	*out = av->count++;
	return 1;
}

static int av_remove(struct fid_av *fid, fi_addr_t *addr, size_t count, uint64_t flags)
{
	struct sf_av *av = SF_CONTAINER(fid, struct sf_av, fid);

	(void)flags;
	for (size_t i = 0; i < count; i++)
		av->numbers[addr[i]] = 0;
	return 0;
}

static int av_lookup(struct fid_av *fid, fi_addr_t addr, void *out, size_t *len)
{
	struct sf_av *av = SF_CONTAINER(fid, struct sf_av, fid);
	char text[SF_ADDR_MAX];
	size_t n;

	if (addr >= av->count)
		return -FI_EINVAL;
	n = sf_addr_write(av->dom->flavor, av->numbers[addr], 1, text);
	memcpy(out, text, n < *len ? n : *len);
	*len = n;
	return 0;
}

static int av_close(struct fid *fid)
{
	struct sf_av *av = SF_CONTAINER(fid, struct sf_av, fid.fid);

	sf_free(av->numbers);
	sf_free(av);
	return 0;
}

static struct fi_ops av_fi_ops = {
	.size = sizeof(struct fi_ops), .close = av_close, .bind = no_bind};
static struct fi_ops_av av_ops = {.size = sizeof(struct fi_ops_av),
				  .insert = av_insert,
				  .remove = av_remove,
				  .lookup = av_lookup};

static int av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
		   void *context)
{
	struct sf_av *av = sf_alloc(sizeof *av);

	(void)attr;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fi_ops;
	av->fid.ops = &av_ops;
	av->dom = SF_CONTAINER(domain, struct sf_dom, fid);
	*out = &av->fid;
	return 0;
}

/* Completion queues. */

void sf_cq_add(struct sf_cq *cq, const struct sf_comp *c)
{
	if (cq->tail - cq->head == cq->cap) {
		struct sf_comp *ring = sf_alloc(2 * cq->cap * sizeof *ring);

		for (size_t i = 0; i < cq->cap; i++)
			ring[i] = cq->ring[(cq->head + i) % cq->cap];
		sf_free(cq->ring);
		cq->ring = ring;
		cq->head = 0;
		cq->tail = cq->cap;
		cq->cap *= 2;
	}
	cq->ring[cq->tail++ % cq->cap] = *c;
	sf.activity++;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *from)
{
	struct sf_cq *cq = SF_CONTAINER(fid, struct sf_cq, fid);
	struct fi_cq_data_entry *e = buf;
	size_t n = 0;

	sf_fiber_wait();
	if (cq->head == cq->tail && cq->ep)
		sf_cep_progress(cq->ep);
	for (; n < count && cq->head != cq->tail; n++) {
		struct sf_comp *c = &cq->ring[cq->head % cq->cap];

		if (c->err)
			return n ? (ssize_t)n : -FI_EAVAIL;
		e[n] = c->e;
		if (from)
			from[n] = c->from;
		cq->head++;
	}
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *e, uint64_t flags)
{
	struct sf_cq *cq = SF_CONTAINER(fid, struct sf_cq, fid);
	const struct sf_comp *c = &cq->ring[cq->head % cq->cap];

	(void)flags;
	if (cq->head == cq->tail || !c->err)
		return -FI_EAGAIN;
	e->op_context = c->e.op_context;
	e->flags = c->e.flags;
	e->err = c->err;
	e->prov_errno = c->err;
	cq->head++;
	return 1;
}

static int cq_close(struct fid *fid)
{
	struct sf_cq *cq = SF_CONTAINER(fid, struct sf_cq, fid.fid);

	sf_free(cq->ring);
	sf_free(cq);
	return 0;
}

static struct fi_ops cq_fi_ops = {
	.size = sizeof(struct fi_ops), .close = cq_close, .bind = no_bind};
static struct fi_ops_cq cq_ops = {.size = sizeof(struct fi_ops_cq),
				  .read = cq_read,
				  .readfrom = cq_readfrom,
				  .readerr = cq_readerr};

static int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		   void *context)
{
	struct sf_cq *cq;

	(void)domain;
	if (attr->wait_obj != FI_WAIT_NONE)
		return -FI_ENOSYS;
	cq = sf_alloc(sizeof *cq);
	cq->cap = 64;
	cq->ring = sf_alloc(cq->cap * sizeof *cq->ring);
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fi_ops;
	cq->fid.ops = &cq_ops;
	*out = &cq->fid;
	return 0;
}

/* Fabric and domain. */

static void domain_end(size_t i)
{
	struct sf_dom *dom = domains[i];

	while (dom->mrs)
		mr_close(&dom->mrs->fid.fid);
	domains[i] = domains[--ndomains];
}

static int domain_close(struct fid *fid)
{
	struct sf_dom *dom = SF_CONTAINER(fid, struct sf_dom, fid.fid);

	if (dom->mrs)
		sf_broken("a domain is closed with memory that peers may read");
	for (size_t i = 0; i < ndomains; i++)
		if (domains[i] == dom)
			domain_end(i--);
	return 0; /* endpoints that have ended still say of which it was */
}

void sf_fab_domains_ended(const struct sf_proc *proc)
{
	for (size_t i = 0; i < ndomains;)
		if (domains[i]->proc == proc)
			domain_end(i);
		else
			i++;
}

static struct fi_ops domain_fi_ops = {
	.size = sizeof(struct fi_ops), .close = domain_close, .bind = no_bind};
static struct fi_ops_domain domain_ops = {.size = sizeof(struct fi_ops_domain),
					  .av_open = av_open,
					  .cq_open = cq_open,
					  .endpoint = sf_cep_open};

static int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
		       void *context)
{
	struct sf_dom *dom = sf_alloc(sizeof *dom);

	(void)fabric;
	dom->fid.fid.fclass = FI_CLASS_DOMAIN;
	dom->fid.fid.context = context;
	dom->fid.fid.ops = &domain_fi_ops;
	dom->fid.ops = &domain_ops;
	dom->fid.mr = &domain_mr_ops;
	dom->flavor = sf_flavor_of(info->fabric_attr->prov_name);
	dom->mr_mode = info->domain_attr->mr_mode;
	dom->proc = sf.self;
	if (ndomains == sizeof domains / sizeof *domains)
		sf_broken("too many domains");
	domains[ndomains++] = dom;
	*out = &dom->fid;
	return 0;
}

static int fabric_close(struct fid *fid)
{
	sf_free(SF_CONTAINER(fid, struct fid_fabric, fid));
	return 0;
}

static struct fi_ops fabric_fi_ops = {
	.size = sizeof(struct fi_ops), .close = fabric_close, .bind = no_bind};
static struct fi_ops_fabric fabric_ops = {.size = sizeof(struct fi_ops_fabric),
					  .domain = domain_open};

int sf_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	struct fid_fabric *fabric = sf_alloc(sizeof *fabric);

	fabric->fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.context = context;
	fabric->fid.ops = &fabric_fi_ops;
	fabric->ops = &fabric_ops;
	fabric->api_version = attr->api_version;
	*out = fabric;
	return 0;
}
