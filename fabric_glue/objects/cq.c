/* SPDX-License-Identifier: BSD-2-Clause */
/* cq.c - completion queue: a ring that grows, errors beside it; reading drives progress. */
#include "fabric_glue/data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_MIN 256u

/* Double the ring. Without memory the newest entry is given up, and an error entry says so: it is
 * all that can be done, and what a full queue of a core provider does (FI_EOVERRUN). */
void qv_fi_cq_grow(struct qv_fi_cq *cq)
{
	static struct fi_cq_err_entry overrun = {.err = FI_EOVERRUN};
	size_t n = cq->mask + 1;
	struct qv_fi_comp *ring = malloc(2 * n * sizeof *ring);

	if (!ring) {
		QV_FI_WARN(CQ, "completion queue overrun: out of memory at %zu entries\n", n);
		cq->tail--;
		for (struct qv_fi_err *err = cq->err_head; err; err = err->next)
			if (err->at > cq->tail) /* it came behind that entry */
				err->at = cq->tail;
		qv_fi_cq_error(cq, &overrun, FI_ADDR_NOTAVAIL);
		return;
	}
	for (size_t i = 0; i < n; i++)
		ring[i] = cq->ring[(cq->head + i) & cq->mask];
	free(cq->ring);
	for (struct qv_fi_err *err = cq->err_head; err; err = err->next)
		err->at -= cq->head;
	cq->ring = ring;
	cq->mask = 2 * n - 1;
	cq->head = 0;
	cq->tail = n;
}

static struct qv_fi_err *get_err(struct qv_fi_cq *cq)
{
	struct qv_fi_err *err = malloc(sizeof *err);

	if (err || !cq->spare)
		return err;
	err = cq->spare;
	cq->spare = err->next;
	return err;
}

static void put_err(struct qv_fi_cq *cq, struct qv_fi_err *err)
{
	if (err < cq->reserve || err >= cq->reserve + QV_FI_ERR_RESERVE) {
		free(err);
		return;
	}
	err->next = cq->spare;
	cq->spare = err;
}

void qv_fi_cq_error(struct qv_fi_cq *cq, const struct fi_cq_err_entry *e, fi_addr_t src)
{
	struct qv_fi_err *err = get_err(cq);

	if (!err) {
		QV_FI_WARN(CQ, "out of memory: error completion %d is lost\n", e->err);
		return;
	}
	err->next = NULL;
	err->at = cq->tail;
	cq->room = 0; /* what comes behind it waits behind it */
	err->e = *e;
	err->src = src;
	*cq->err_tail = err;
	cq->err_tail = &err->next;
	qv_fi_wait_set_wake(&cq->wait_set);
}

/* The ring is empty: move the endpoints on. What comes goes into the reader's array as far as there
 * is room; returns how many entries did. */
static size_t wait_in(struct qv_fi_cq *cq, void *buf, size_t count, const fi_addr_t *src)
{
	if (src || cq->entry_size != sizeof *cq->into)
		count = 0;
	cq->into = buf;
	cq->room = count;
	qv_fi_wait_set_progress(&cq->wait_set);
	cq->room = 0;
	return (size_t)(cq->into - (struct fi_cq_tagged_entry *)buf);
}

/* Entries of the ring up to this one. */
static size_t take(struct qv_fi_cq *cq, char *out, size_t count, fi_addr_t *src, size_t end)
{
	size_t n = 0;

	while (n < count && cq->head != end) {
		struct qv_fi_comp *c = &cq->ring[cq->head++ & cq->mask];

		if (QV_LIKELY(cq->entry_size == sizeof c->e))
			memcpy(out, &c->e, sizeof c->e); /* the MPIs' format, without a call */
		else
			memcpy(out, &c->e, cq->entry_size);
		out += cq->entry_size;
		if (src)
			src[n] = c->src;
		n++;
	}
	/* Begin anew in memory that is in the cache. */
	if (cq->head == cq->tail && QV_LIKELY(!cq->err_head))
		cq->head = cq->tail = 0;
	return n;
}

/* An error waits: what came before it, or that it is next. */
static QV_NOINLINE ssize_t read_before_error(struct qv_fi_cq *cq, void *buf, size_t count,
					     fi_addr_t *src)
{
	if (cq->head == cq->err_head->at)
		return -FI_EAVAIL;
	return (ssize_t)take(cq, buf, count, src, cq->err_head->at);
}

ssize_t qv_fi_cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct qv_fi_cq *cq = container_of(fid, struct qv_fi_cq, fid);
	ssize_t n = 0;

	qv_fi_lock(cq->wait_set.dom);
	/* Who reads nothing wants progress, whatever waits. */
	if (cq->head == cq->tail && (QV_LIKELY(!cq->err_head) || !count))
		n = (ssize_t)wait_in(cq, buf, count, src);
	if (!n) {
		if (QV_UNLIKELY(cq->err_head != NULL))
			n = read_before_error(cq, buf, count, src);
		else if (cq->head != cq->tail)
			n = (ssize_t)take(cq, buf, count, src, cq->tail);
	}
	qv_fi_unlock(cq->wait_set.dom);
	return n ? n : -FI_EAGAIN;
}

/* As an MPI polls: no lock is to be taken, and nothing waits. */
static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct qv_fi_cq *cq = container_of(fid, struct qv_fi_cq, fid);
	size_t n;

	if (QV_UNLIKELY(qv_fi_owner(cq->wait_set.dom) != qv_thread() || !qv_fi_cq_empty(cq)))
		return qv_fi_cq_readfrom(fid, buf, count, NULL);
	n = wait_in(cq, buf, count, NULL);
	if (n)
		return (ssize_t)n;
	return QV_LIKELY(qv_fi_cq_empty(cq)) ? -FI_EAGAIN
					     : qv_fi_cq_readfrom(fid, buf, count, NULL);
}

/* The entry as the application's API version knows it: err_data since 1.5, src_addr since 1.20. */
static void copy_err(const struct qv_fi_err *err, struct fi_cq_err_entry *buf, uint32_t api)
{
	memcpy(buf, &err->e, offsetof(struct fi_cq_err_entry, err_data));
	if (FI_VERSION_GE(api, FI_VERSION(1, 5)))
		buf->err_data_size = 0;
	if (FI_VERSION_GE(api, FI_VERSION(1, 20)))
		memcpy((char *)&buf->err_data_size + sizeof buf->err_data_size, &err->src,
		       sizeof err->src);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct qv_fi_cq *cq = container_of(fid, struct qv_fi_cq, fid);
	struct qv_fi_err *err;

	(void)flags;
	qv_fi_lock(cq->wait_set.dom);
	err = cq->err_head;
	if (err && err->at != cq->head) /* others came first */
		err = NULL;
	if (err) {
		cq->err_head = err->next;
		if (!cq->err_head)
			cq->err_tail = &cq->err_head;
		copy_err(err, buf, cq->wait_set.dom->fabric->api_version);
		put_err(cq, err);
	}
	qv_fi_unlock(cq->wait_set.dom);
	return err ? 1 : -FI_EAGAIN;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	const char *text = qv_strerror(prov_errno);

	(void)fid;
	(void)err_data;
	if (buf && len) {
		strncpy(buf, text, len - 1);
		buf[len - 1] = 0;
	}
	return text;
}

static void cq_free(struct qv_fi_cq *cq)
{
	while (cq->err_head) {
		struct qv_fi_err *err = cq->err_head;

		cq->err_head = err->next;
		put_err(cq, err);
	}
	qv_fi_wait_set_close(&cq->wait_set);
	free(cq->ring);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct qv_fi_cq *cq = container_of(fid, struct qv_fi_cq, fid.fid);
	struct qv_fi_domain *dom = cq->wait_set.dom;

	qv_fi_lock(dom);
	if (cq->wait_set.neps || cq->wait_set.sets) {
		qv_fi_unlock(dom);
		return -FI_EBUSY;
	}
	dom->refs--;
	cq_free(cq);
	qv_fi_unlock(dom);
	return 0;
}

static struct fi_ops cq_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.bind = qv_fi_no_bind,
	.control = qv_fi_cq_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = qv_fi_cq_readfrom,
	.readerr = cq_readerr,
	.sread = qv_fi_cq_sread,
	.sreadfrom = qv_fi_cq_sreadfrom,
	.signal = qv_fi_cq_signal,
	.strerror = cq_strerror,
};

static size_t entry_size(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_CONTEXT: return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG: return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA: return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_UNSPEC:
	case FI_CQ_FORMAT_TAGGED: return sizeof(struct fi_cq_tagged_entry);
	default: return 0;
	}
}

static bool cq_news(struct qv_fi_wait_set *wait_set)
{
	return !qv_fi_cq_empty(container_of(wait_set, struct qv_fi_cq, wait_set));
}

int qv_fi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **fid,
		  void *context)
{
	struct qv_fi_domain *dom = container_of(domain, struct qv_fi_domain, fid);
	struct fi_cq_attr defaults = {0};
	struct qv_fi_cq *cq;
	int rc;

	if (!attr)
		attr = &defaults;
	if (!entry_size(attr->format) || (attr->flags & ~(uint64_t)FI_AFFINITY))
		return -FI_EINVAL;
	cq = calloc(1, sizeof *cq);
	if (!cq)
		return -FI_ENOMEM;
	cq->entry_size = entry_size(attr->format);
	cq->err_tail = &cq->err_head;
	for (size_t i = 0; i < QV_FI_ERR_RESERVE; i++)
		put_err(cq, &cq->reserve[i]);
	for (cq->mask = RING_MIN; cq->mask < attr->size && cq->mask < 1u << 20;)
		cq->mask *= 2;
	cq->ring = malloc(cq->mask * sizeof *cq->ring);
	cq->mask--;
	qv_fi_lock(dom);
	rc = qv_fi_wait_set_open(&cq->wait_set, dom, attr->wait_obj, cq_news);
	if (!rc && !cq->ring)
		rc = -FI_ENOMEM;
	dom->refs += !rc;
	qv_fi_unlock(dom);
	if (rc) {
		cq_free(cq);
		return rc;
	}
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fi_ops;
	cq->fid.ops = &cq_ops;
	*fid = &cq->fid;
	return 0;
}
