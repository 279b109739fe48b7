/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_fi_cntr.c - counters (fi_cntr(3)). Our own transfers are counted here; what peers do to our
 * memory (FI_REMOTE_READ, FI_REMOTE_WRITE) only the cores see, so their counters are added.
 */
#include "qv_fi_data.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define REMOTE_FLAGS ((uint64_t)(FI_REMOTE_READ | FI_REMOTE_WRITE))

static struct qv_fi_cntr *cntr_of(struct fid_cntr *fid)
{
	return container_of(fid, struct qv_fi_cntr, fid);
}

static void progress(struct qv_fi_cntr *cntr)
{
	qv_fi_lock(cntr->dom);
	for (size_t i = 0; i < cntr->neps; i++)
		qv_fi_ep_progress(cntr->eps[i]);
	qv_fi_unlock(cntr->dom);
}

static uint64_t core_values(const struct qv_fi_cntr *cntr)
{
	uint64_t sum = 0;

	for (unsigned c = 0; c < QV_FI_CORES; c++)
		sum += cntr->core[c] ? fi_cntr_read(cntr->core[c]) : 0;
	return sum;
}

static uint64_t core_errors(const struct qv_fi_cntr *cntr)
{
	uint64_t sum = 0;

	for (unsigned c = 0; c < QV_FI_CORES; c++)
		sum += cntr->core[c] ? fi_cntr_readerr(cntr->core[c]) : 0;
	return sum;
}

static uint64_t value_now(struct qv_fi_cntr *cntr)
{
	return cntr->value + core_values(cntr) - cntr->core_base;
}

static uint64_t errors_now(struct qv_fi_cntr *cntr)
{
	return cntr->errors + core_errors(cntr) - cntr->core_err_base;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	progress(cntr_of(fid));
	return value_now(cntr_of(fid));
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	progress(cntr_of(fid));
	return errors_now(cntr_of(fid));
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);

	qv_fi_lock(cntr->dom);
	cntr->value += value;
	qv_fi_unlock(cntr->dom);
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);

	qv_fi_lock(cntr->dom);
	cntr->errors += value;
	qv_fi_unlock(cntr->dom);
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);

	qv_fi_lock(cntr->dom);
	cntr->value = value;
	cntr->core_base = core_values(cntr);
	qv_fi_unlock(cntr->dom);
	return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);

	qv_fi_lock(cntr->dom);
	cntr->errors = value;
	cntr->core_err_base = core_errors(cntr);
	qv_fi_unlock(cntr->dom);
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);
	uint64_t errors = errors_now(cntr);
	int64_t end = timeout < 0 ? INT64_MAX : now_ms() + timeout;

	for (;;) {
		if (cntr_read(fid) >= threshold)
			return 0;
		if (errors_now(cntr) != errors)
			return -FI_EAVAIL;
		if (end != INT64_MAX && now_ms() >= end)
			return -FI_ETIMEDOUT;
		sched_yield();
	}
}

static int bind_cores(struct qv_fi_cntr *cntr, struct qv_fi_ep *ep, uint64_t flags)
{
	QV_FI_ROOMY(fi_cntr_attr, attr);
	int rc = 0;

	attr.a.wait_obj = FI_WAIT_NONE;
	for (unsigned c = 0; c < ep->rails && !rc; c++) {
		if (!cntr->core[c])
			rc = fi_cntr_open(cntr->dom->core[c], &attr.a, &cntr->core[c], NULL);
		if (!rc)
			rc = fi_ep_bind(ep->rail[c].core, &cntr->core[c]->fid, flags);
	}
	return rc;
}

int qv_fi_cntr_bind(struct qv_fi_cntr *cntr, struct qv_fi_ep *ep, uint64_t flags)
{
	static const struct {
		uint64_t flag;
		int which;
	} kinds[] = {{FI_SEND, QV_FI_CNTR_SEND},
		     {FI_RECV, QV_FI_CNTR_RECV},
		     {FI_READ, QV_FI_CNTR_READ},
		     {FI_WRITE, QV_FI_CNTR_WRITE},
		     {FI_REMOTE_READ, QV_FI_CNTR_REMOTE_READ},
		     {FI_REMOTE_WRITE, QV_FI_CNTR_REMOTE_WRITE}};
	struct qv_fi_ep **eps = realloc(cntr->eps, (cntr->neps + 1) * sizeof *eps);
	int rc;

	if (!eps)
		return -FI_ENOMEM;
	cntr->eps = eps;
	rc = flags & REMOTE_FLAGS ? bind_cores(cntr, ep, flags & REMOTE_FLAGS) : 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (flags & kinds[i].flag)
			ep->cntrs[kinds[i].which] = cntr;
	cntr->eps[cntr->neps++] = ep;
	return 0;
}

void qv_fi_cntr_unbind(struct qv_fi_cntr *cntr, struct qv_fi_ep *ep)
{
	size_t kept = 0;

	for (size_t i = 0; i < cntr->neps; i++)
		if (cntr->eps[i] != ep)
			cntr->eps[kept++] = cntr->eps[i];
	cntr->neps = kept;
}

static int cntr_close(struct fid *fid)
{
	struct qv_fi_cntr *cntr = container_of(fid, struct qv_fi_cntr, fid.fid);
	struct qv_fi_domain *dom = cntr->dom;
	int rc;

	if (cntr->neps)
		return -FI_EBUSY;
	for (unsigned c = 0; c < QV_FI_CORES; c++) {
		rc = cntr->core[c] ? fi_close(&cntr->core[c]->fid) : 0;
		if (rc)
			return rc;
		cntr->core[c] = NULL;
	}
	qv_fi_lock(dom);
	dom->refs--;
	qv_fi_unlock(dom);
	free(cntr->eps);
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = qv_fi_no_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
};

int qv_fi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **fid,
		    void *context)
{
	struct qv_fi_domain *dom = container_of(domain, struct qv_fi_domain, fid);
	struct qv_fi_cntr *cntr;

	if (attr && attr->events != FI_CNTR_EVENTS_COMP)
		return -FI_ENOSYS;
	if (attr && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
	    attr->wait_obj != FI_WAIT_YIELD)
		return -FI_ENOSYS;
	cntr = calloc(1, sizeof *cntr);
	if (!cntr)
		return -FI_ENOMEM;
	cntr->dom = dom;
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fi_ops;
	cntr->fid.ops = &cntr_ops;
	qv_fi_lock(dom);
	dom->refs++;
	qv_fi_unlock(dom);
	*fid = &cntr->fid;
	return 0;
}
