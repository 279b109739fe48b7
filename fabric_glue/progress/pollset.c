/* SPDX-License-Identifier: BSD-2-Clause */
/* pollset.c - fi_poll(3): which of several completion queues and counters have news. */
#include "fabric_glue/data.h"

#include <stdlib.h>

struct pollset {
	struct fid_poll fid;
	struct qv_fi_domain *dom;
	struct fid **fids;
	size_t count;
};

struct qv_fi_wait_set *qv_fi_wait_set_of(struct fid *fid)
{
	switch (fid->fclass) {
	case FI_CLASS_CQ: return &container_of(fid, struct qv_fi_cq, fid.fid)->wait_set;
	case FI_CLASS_CNTR: return &container_of(fid, struct qv_fi_cntr, fid.fid)->wait_set;
	default: return NULL;
	}
}

/* A counter that whoever wants to sleep has looked at still has news here. */
static bool has_news(struct fid *fid, struct qv_fi_wait_set *wait_set)
{
	return fid->fclass == FI_CLASS_CNTR
		       ? qv_fi_cntr_poll(container_of(fid, struct qv_fi_cntr, fid.fid))
		       : wait_set->news(wait_set);
}

static int poll_once(struct fid_poll *fid, void **context, int count)
{
	struct pollset *set = container_of(fid, struct pollset, fid);
	int n = 0;

	qv_fi_lock(set->dom);
	for (size_t i = 0; i < set->count && n < count; i++) {
		struct qv_fi_wait_set *wait_set = qv_fi_wait_set_of(set->fids[i]);

		qv_fi_wait_set_progress(wait_set);
		if (has_news(set->fids[i], wait_set))
			context[n++] = set->fids[i]->context;
	}
	qv_fi_unlock(set->dom);
	return n;
}

/* Where it is in the set; set->count: nowhere. */
static size_t place_of(const struct pollset *set, const struct fid *fid)
{
	size_t i = 0;

	while (i < set->count && set->fids[i] != fid)
		i++;
	return i;
}

static int add(struct pollset *set, struct fid *fid, struct qv_fi_wait_set *wait_set)
{
	struct fid **fids;

	if (place_of(set, fid) < set->count)
		return 0;
	fids = realloc(set->fids, (set->count + 1) * sizeof(*fids));
	if (!fids)
		return -FI_ENOMEM;
	set->fids = fids;
	set->fids[set->count++] = fid;
	wait_set->sets++;
	return 0;
}

/* What is in a set refuses to be closed. */
static int poll_add(struct fid_poll *fid, struct fid *event_fid, uint64_t flags)
{
	struct pollset *set = container_of(fid, struct pollset, fid);
	struct qv_fi_wait_set *wait_set = qv_fi_wait_set_of(event_fid);
	int rc;

	if (!wait_set || wait_set->dom != set->dom || flags)
		return -FI_EINVAL;
	qv_fi_lock(set->dom);
	rc = add(set, event_fid, wait_set);
	qv_fi_unlock(set->dom);
	return rc;
}

static int poll_del(struct fid_poll *fid, struct fid *event_fid, uint64_t flags)
{
	struct pollset *set = container_of(fid, struct pollset, fid);
	int rc = -FI_EINVAL;
	size_t i;

	if (flags)
		return -FI_EINVAL;
	qv_fi_lock(set->dom);
	i = place_of(set, event_fid);
	if (i < set->count) {
		set->fids[i] = set->fids[--set->count];
		qv_fi_wait_set_of(event_fid)->sets--;
		rc = 0;
	}
	qv_fi_unlock(set->dom);
	return rc;
}

static int poll_close(struct fid *fid)
{
	struct pollset *set = container_of(fid, struct pollset, fid.fid);

	qv_fi_lock(set->dom);
	for (size_t i = 0; i < set->count; i++)
		qv_fi_wait_set_of(set->fids[i])->sets--;
	set->dom->refs--;
	qv_fi_unlock(set->dom);
	free(set->fids);
	free(set);
	return 0;
}

static struct fi_ops poll_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = poll_close,
	.bind = qv_fi_no_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_poll poll_ops = {
	.size = sizeof(struct fi_ops_poll),
	.poll = poll_once,
	.poll_add = poll_add,
	.poll_del = poll_del,
};

int qv_fi_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **pollset)
{
	struct qv_fi_domain *dom = container_of(domain, struct qv_fi_domain, fid);
	struct pollset *set;

	if (attr && attr->flags)
		return -FI_EINVAL;
	set = calloc(1, sizeof *set);
	if (!set)
		return -FI_ENOMEM;
	set->dom = dom;
	set->fid.fid.fclass = FI_CLASS_POLL;
	set->fid.fid.ops = &poll_fi_ops;
	set->fid.ops = &poll_ops;
	qv_fi_lock(dom);
	dom->refs++;
	qv_fi_unlock(dom);
	*pollset = &set->fid;
	return 0;
}
