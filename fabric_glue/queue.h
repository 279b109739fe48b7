/* SPDX-License-Identifier: BSD-2-Clause */
/* queue.h - completion queue and counter, and what event queues are told. */
#ifndef QV_FI_QUEUE_H
#define QV_FI_QUEUE_H

#include "engine/base/compiler.h"
#include "provider.h"
#include "fabric_glue/progress/wait_set.h"

struct qv_fi_ep;

struct qv_fi_comp {
	struct fi_cq_tagged_entry e;
	fi_addr_t src;
};

struct qv_fi_err {
	struct qv_fi_err *next;
	size_t at; /* place in the ring of the first entry that came behind it */
	struct fi_cq_err_entry e;
	fi_addr_t src;
};

#define QV_FI_ERR_RESERVE 32

struct qv_fi_cq {
	struct fid_cq fid;
	size_t entry_size;       /* of the format that the application reads */
	size_t head, tail, mask; /* ring: entries tail-head, free running */
	struct qv_fi_comp *ring;
	/* The array of a reader who waits for entries, and room in it; 0: there is none. The ring
	 * is empty and no error waits while there is. */
	struct fi_cq_tagged_entry *into;
	size_t room;
	struct qv_fi_err *err_head, **err_tail;
	struct qv_fi_err *spare; /* of these, for when there is no memory */
	struct qv_fi_err reserve[QV_FI_ERR_RESERVE];
	struct qv_fi_wait_set wait_set; /* endpoints that report here */
};

/* The last two only the cores count. */
enum {
	QV_FI_CNTR_SEND,
	QV_FI_CNTR_RECV,
	QV_FI_CNTR_READ,
	QV_FI_CNTR_WRITE,
	QV_FI_CNTR_REMOTE_READ,
	QV_FI_CNTR_REMOTE_WRITE,
	QV_FI_CNTRS
};

struct qv_fi_cntr {
	struct fid_cntr fid;
	/* What peers do to our memory; NULL until so bound. */
	struct fid_cntr *core[QV_FI_CORES];
	uint64_t value, errors;
	uint64_t core_base, core_err_base; /* what of core's value was there at fi_cntr_set */
	/* Value and errors together: when somebody last wanted to sleep; at the last fi_poll, or when the program
	 * wrote them. */
	uint64_t told, polled;
	struct qv_fi_wait_set wait_set; /* endpoints that are counted */
};

/* From fabric_glue/objects/cq.c, fabric_glue/progress/cq_wait.c. */

void qv_fi_cq_grow(struct qv_fi_cq *cq);
void qv_fi_cq_error(struct qv_fi_cq *cq, const struct fi_cq_err_entry *e, fi_addr_t src);
ssize_t qv_fi_cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src);
int qv_fi_cq_control(struct fid *fid, int command, void *arg);
ssize_t qv_fi_cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout);
ssize_t qv_fi_cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
			   const void *cond, int timeout);
int qv_fi_cq_signal(struct fid_cq *fid);

static inline bool qv_fi_cq_empty(const struct qv_fi_cq *cq)
{
	return cq->head == cq->tail && !cq->err_head;
}

/* The place of the next entry in the array of a reader who waits for it and does not want to know
 * sources. There is room, and so nothing in the ring. */
static inline struct fi_cq_tagged_entry *qv_fi_cq_direct(struct qv_fi_cq *cq)
{
	cq->room--;
	return cq->into++;
}

/* The same in the ring. */
static inline struct fi_cq_tagged_entry *qv_fi_cq_append(struct qv_fi_cq *cq, fi_addr_t src)
{
	struct qv_fi_comp *comp;

	if (QV_UNLIKELY(cq->tail - cq->head > cq->mask))
		qv_fi_cq_grow(cq);
	qv_fi_wait_set_wake(&cq->wait_set);
	comp = &cq->ring[cq->tail++ & cq->mask];
	comp->src = src;
	return &comp->e;
}

/* One or the other; the caller fills all of it. */
static inline struct fi_cq_tagged_entry *qv_fi_cq_push(struct qv_fi_cq *cq, fi_addr_t src)
{
	return QV_LIKELY(cq->room) ? qv_fi_cq_direct(cq) : qv_fi_cq_append(cq, src);
}

/* From fabric_glue/objects/eq.c. */

/* An object is bound, or no longer; NULL can be released. */
void qv_fi_eq_hold(struct fid_eq *eq);
void qv_fi_eq_release(struct fid_eq *eq);
/* An event, or an error. 0 or -FI_ENOMEM. */
int qv_fi_eq_tell(struct fid_eq *eq, uint32_t event, const struct fi_eq_entry *entry);
int qv_fi_eq_tell_error(struct fid_eq *eq, const struct fi_eq_err_entry *entry);
/* fi_trywait of one. */
int qv_fi_eq_may_sleep(struct fid *eq);

/* From fabric_glue/objects/cntr.c. */

int qv_fi_cntr_bind(struct qv_fi_cntr *cntr, struct qv_fi_ep *ep, uint64_t flags);
/* Has it moved since it was asked this last? Lock held. */
bool qv_fi_cntr_poll(struct qv_fi_cntr *cntr);
/* What counts for it in one of the cores. */
int qv_fi_cntr_core(struct qv_fi_cntr *cntr, unsigned core, struct fid **fid);

#endif /* QV_FI_QUEUE_H */
