/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic_valid.c - which atomic operations there are: over two cores, those
 * that both have. */
#include "fabric_glue/calls.h"
#include "fabric_glue/node/memory.h"

static int query(struct qv_fi_domain *dom, unsigned c, enum fi_datatype type, enum fi_op op,
		 struct fi_atomic_attr *attr, uint64_t flags)
{
	return dom->own_atomics[c] ? qv_fi_update_query(dom->memory, type, op, attr, flags)
				   : fi_query_atomic(dom->core[c], type, op, attr, flags);
}

int qv_fi_query_atomic(struct fid_domain *fid, enum fi_datatype type, enum fi_op op,
		       struct fi_atomic_attr *attr, uint64_t flags)
{
	struct qv_fi_domain *dom = container_of(fid, struct qv_fi_domain, fid);
	int rc = dom->has_atomic ? 0 : -FI_EOPNOTSUPP;
	QV_FI_ROOMY(fi_atomic_attr, one);

	for (unsigned c = 0; c < dom->cores && !rc; c++) {
		rc = query(dom, c, type, op, &one.a, flags);
		if (rc)
			break;
		if (c == 0)
			*attr = one.a;
		else if (one.a.count < attr->count)
			attr->count = one.a.count;
	}
	return rc;
}

static int valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count,
		 uint64_t flags)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid);
	QV_FI_ROOMY(fi_atomic_attr, attr);
	int rc = count ? qv_fi_query_atomic(&ep->dom->fid, type, op, &attr.a, flags) : -FI_EINVAL;

	if (!rc)
		*count = attr.a.count;
	return rc;
}

int qv_fi_atomic_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return valid(fid, type, op, count, 0);
}

int qv_fi_fetch_atomic_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
			     size_t *count)
{
	return valid(fid, type, op, count, FI_FETCH_ATOMIC);
}

int qv_fi_compare_atomic_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
			       size_t *count)
{
	return valid(fid, type, op, count, FI_COMPARE_ATOMIC);
}
