/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cntr.c - counters (fi_cntr(3)). Our own transfers are counted here; what peers do to our
 * memory (FI_REMOTE_READ, FI_REMOTE_WRITE) only the cores see, so their counters are added. They
 * tell of an endpoint, or of a region.
 */
#include "fabric_glue/data.h"

#include <stdlib.h>

#define REMOTE_FLAGS ((uint64_t)(FI_REMOTE_READ | FI_REMOTE_WRITE))
#define BIND_FLAGS   (FI_SEND | FI_RECV | FI_READ | FI_WRITE | REMOTE_FLAGS)

static struct qv_fi_cntr *cntr_of(struct fid_cntr *fid)
{
	return container_of(fid, struct qv_fi_cntr, fid);
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

static uint64_t look(struct qv_fi_cntr *cntr, uint64_t (*now)(struct qv_fi_cntr *cntr),
		     bool progress)
{
	uint64_t value;

	qv_fi_lock(cntr->wait_set.dom);
	if (progress)
		qv_fi_wait_set_progress(&cntr->wait_set);
	value = now(cntr);
	qv_fi_unlock(cntr->wait_set.dom);
	return value;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	return look(cntr_of(fid), value_now, true);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	return look(cntr_of(fid), errors_now, true);
}

static bool moved(struct qv_fi_cntr *cntr, uint64_t *told)
{
	uint64_t before = *told;

	*told = value_now(cntr) + errors_now(cntr);
	return *told != before;
}

static bool cntr_news(struct qv_fi_wait_set *wait_set)
{
	struct qv_fi_cntr *cntr = container_of(wait_set, struct qv_fi_cntr, wait_set);

	return moved(cntr, &cntr->told);
}

bool qv_fi_cntr_poll(struct qv_fi_cntr *cntr)
{
	return moved(cntr, &cntr->polled);
}

/* The program has written it: only what changes from now on is news to fi_poll(3). To who sleeps, or is about to,
 * it is news itself. */
static void written(struct qv_fi_cntr *cntr)
{
	cntr->polled = value_now(cntr) + errors_now(cntr);
	cntr->told = ~cntr->polled;
	qv_fi_wait_set_wake(&cntr->wait_set);
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);

	qv_fi_lock(cntr->wait_set.dom);
	cntr->value += value;
	written(cntr);
	qv_fi_unlock(cntr->wait_set.dom);
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);

	qv_fi_lock(cntr->wait_set.dom);
	cntr->errors += value;
	written(cntr);
	qv_fi_unlock(cntr->wait_set.dom);
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);

	qv_fi_lock(cntr->wait_set.dom);
	cntr->value = value;
	cntr->core_base = core_values(cntr);
	written(cntr);
	qv_fi_unlock(cntr->wait_set.dom);
	return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);

	qv_fi_lock(cntr->wait_set.dom);
	cntr->errors = value;
	cntr->core_err_base = core_errors(cntr);
	written(cntr);
	qv_fi_unlock(cntr->wait_set.dom);
	return 0;
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	struct qv_fi_cntr *cntr = cntr_of(fid);
	int64_t end = qv_fi_deadline(timeout);
	bool slept = false;
	uint64_t errors;

	/* No progress before this: an error that it finds is to end the wait. */
	qv_fi_lock(cntr->wait_set.dom);
	errors = errors_now(cntr);
	qv_fi_unlock(cntr->wait_set.dom);
	for (unsigned spins = 0;; spins++) {
		const unsigned told = qv_fi_wait_set_told(&cntr->wait_set);
		int64_t left = qv_fi_left(end);

		if (look(cntr, value_now, !slept || !left) >= threshold)
			return 0;
		if (look(cntr, errors_now, !slept || !left) != errors)
			return -FI_EAVAIL;
		if (!left)
			return -FI_ETIMEDOUT;
		slept = qv_fi_wait_set_sleep(&cntr->wait_set, left, spins, told);
	}
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	return qv_fi_wait_set_control(&container_of(fid, struct qv_fi_cntr, fid.fid)->wait_set,
				      command, arg);
}

int qv_fi_cntr_core(struct qv_fi_cntr *cntr, unsigned core, struct fid **fid)
{
	QV_FI_ROOMY(fi_cntr_attr, attr);
	int rc = 0;

	attr.a.wait_obj = FI_WAIT_NONE;
	if (!cntr->core[core])
		rc = fi_cntr_open(cntr->wait_set.dom->core[core], &attr.a, &cntr->core[core], NULL);
	if (!rc)
		*fid = &cntr->core[core]->fid;
	return rc;
}

static int bind_cores(struct qv_fi_cntr *cntr, struct qv_fi_ep *ep, uint64_t flags)
{
	struct fid *fid;
	int rc = 0;

	for (unsigned c = 0; c < ep->dom->cores && !rc; c++) {
		rc = qv_fi_cntr_core(cntr, c, &fid);
		if (!rc)
			rc = fi_ep_bind(ep->rail[c].core, fid, flags);
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
	int rc;

	if (!flags || flags & ~BIND_FLAGS)
		return -FI_EBADFLAGS;
	if (cntr->wait_set.dom != ep->dom)
		return -FI_EINVAL;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (flags & kinds[i].flag && ep->cntrs[kinds[i].which] &&
		    ep->cntrs[kinds[i].which] != cntr)
			return -FI_EINVAL;
	rc = flags & REMOTE_FLAGS ? bind_cores(cntr, ep, flags & REMOTE_FLAGS) : 0;
	if (!rc)
		rc = qv_fi_wait_set_add(&cntr->wait_set, ep);
	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (flags & kinds[i].flag)
			ep->cntrs[kinds[i].which] = cntr;
	if (ep->enabled)
		qv_fi_wait_set_enable(&cntr->wait_set, ep);
	return 0;
}

static int close_cores(struct qv_fi_cntr *cntr)
{
	for (unsigned c = 0; c < QV_FI_CORES; c++) {
		int rc = cntr->core[c] ? fi_close(&cntr->core[c]->fid) : 0;

		if (rc)
			return rc;
		cntr->core[c] = NULL;
	}
	return 0;
}

static int cntr_close(struct fid *fid)
{
	struct qv_fi_cntr *cntr = container_of(fid, struct qv_fi_cntr, fid.fid);
	struct qv_fi_domain *dom = cntr->wait_set.dom;
	int rc;

	qv_fi_lock(dom);
	rc = cntr->wait_set.neps || cntr->wait_set.sets || cntr->wait_set.regions
		     ? -FI_EBUSY
		     : close_cores(cntr);
	if (!rc)
		dom->refs--;
	qv_fi_unlock(dom);
	if (rc)
		return rc;
	qv_fi_wait_set_close(&cntr->wait_set);
	free(cntr);
	return 0;
}

static struct fi_ops cntr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = cntr_close,
	.bind = qv_fi_no_bind,
	.control = cntr_control,
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
	int rc;

	if (attr && attr->events != FI_CNTR_EVENTS_COMP)
		return -FI_ENOSYS;
	cntr = calloc(1, sizeof *cntr);
	if (!cntr)
		return -FI_ENOMEM;
	qv_fi_lock(dom);
	rc = qv_fi_wait_set_open(&cntr->wait_set, dom, attr ? attr->wait_obj : FI_WAIT_UNSPEC,
				 cntr_news);
	dom->refs += !rc;
	qv_fi_unlock(dom);
	if (rc) {
		qv_fi_wait_set_close(&cntr->wait_set);
		free(cntr);
		return rc;
	}
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	cntr->fid.fid.context = context;
	cntr->fid.fid.ops = &cntr_fi_ops;
	cntr->fid.ops = &cntr_ops;
	*fid = &cntr->fid;
	return 0;
}
