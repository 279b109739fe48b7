/* SPDX-License-Identifier: BSD-2-Clause */
/* cq_wait.c - sleeping on a completion queue. */
#include "fabric_glue/data.h"

#include <stdatomic.h>

int qv_fi_cq_control(struct fid *fid, int command, void *arg)
{
	return qv_fi_wait_set_control(&container_of(fid, struct qv_fi_cq, fid.fid)->wait_set,
				      command, arg);
}

static bool is_empty(struct qv_fi_cq *cq)
{
	bool empty;

	qv_fi_lock(cq->wait_set.dom);
	empty = qv_fi_cq_empty(cq);
	qv_fi_unlock(cq->wait_set.dom);
	return empty;
}

ssize_t qv_fi_cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
			   const void *cond, int timeout)
{
	struct qv_fi_cq *cq = container_of(fid, struct qv_fi_cq, fid);
	struct qv_fi_wait_set *wait_set = &cq->wait_set;
	int64_t end = qv_fi_deadline(timeout);
	bool slept = false;
	ssize_t n;

	(void)cond; /* a hint */
	if (wait_set->wait_obj == FI_WAIT_NONE)
		return -FI_ENOSYS;
	for (unsigned spins = 0;; spins++) {
		const unsigned told = qv_fi_wait_set_told(wait_set);
		int64_t left = qv_fi_left(end);

		n = slept && left && is_empty(cq) ? -FI_EAGAIN
						  : qv_fi_cq_readfrom(fid, buf, count, src);
		if (n != -FI_EAGAIN)
			return n;
		if (atomic_load(&wait_set->signaled) && atomic_exchange(&wait_set->signaled, false))
			return -FI_ECANCELED;
		if (!left)
			return -FI_EAGAIN;
		slept = qv_fi_wait_set_sleep(wait_set, left, spins, told);
	}
}

ssize_t qv_fi_cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return qv_fi_cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

int qv_fi_cq_signal(struct fid_cq *fid)
{
	struct qv_fi_cq *cq = container_of(fid, struct qv_fi_cq, fid);

	qv_fi_lock(cq->wait_set.dom);
	atomic_store(&cq->wait_set.signaled, true);
	qv_fi_wait_set_wake(&cq->wait_set);
	qv_fi_unlock(cq->wait_set.dom);
	return 0;
}
