/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic_valid.c - which atomic operations there are: over two cores, those
 * that both have. */
#include "fabric_glue/calls.h"

typedef int valid_fn(struct fid_ep *core, enum fi_datatype type, enum fi_op op, size_t *count);

static int each_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count,
		      valid_fn *valid)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid);
	size_t least = SIZE_MAX, n;
	int rc = ep->dom->has_atomic ? 0 : -FI_EOPNOTSUPP;

	if (!count)
		return -FI_EINVAL;
	for (unsigned r = 0; r < ep->rails && !rc; r++) {
		rc = valid(ep->rail[r].core, type, op, &n);
		if (!rc && n < least)
			least = n;
	}
	if (!rc)
		*count = least;
	return rc;
}

int qv_fi_atomic_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return each_valid(fid, type, op, count, fi_atomicvalid);
}

int qv_fi_fetch_atomic_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
			     size_t *count)
{
	return each_valid(fid, type, op, count, fi_fetch_atomicvalid);
}

int qv_fi_compare_atomic_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
			       size_t *count)
{
	return each_valid(fid, type, op, count, fi_compare_atomicvalid);
}

int qv_fi_query_atomic(struct fid_domain *fid, enum fi_datatype type, enum fi_op op,
		       struct fi_atomic_attr *attr, uint64_t flags)
{
	struct qv_fi_domain *dom = container_of(fid, struct qv_fi_domain, fid);
	int rc = dom->has_atomic ? 0 : -FI_EOPNOTSUPP;
	QV_FI_ROOMY(fi_atomic_attr, one);

	for (unsigned c = 0; c < dom->cores && !rc; c++) {
		rc = fi_query_atomic(dom->core[c], type, op, &one.a, flags);
		if (rc)
			break;
		if (c == 0)
			*attr = one.a;
		else if (one.a.count < attr->count)
			attr->count = one.a.count;
	}
	return rc;
}
