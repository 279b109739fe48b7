/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eq.c - event queue: what the provider writes, the application reads. The cores have no part in it:
 * they have nothing to report of connectionless endpoints.
 */
#include "fabric_glue/data.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct event {
	struct event *next;
	bool error; /* fi_eq_readerr tells it */
	uint32_t number;
	size_t len;
	char body[];
};

struct eq {
	struct fid_eq fid;
	struct qv_fi_fabric *fabric;
	int refs; /* objects that are bound to it */
	pthread_mutex_t lock;
	struct event *first, **last;
	int fd; /* an eventfd, as long as one waits; -1: nobody sleeps here */
};

static struct eq *eq_of(struct fid_eq *fid)
{
	return container_of(fid, struct eq, fid);
}

static int eq_close(struct fid *fid)
{
	struct eq *eq = container_of(fid, struct eq, fid.fid);

	if (__atomic_load_n(&eq->refs, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	while (eq->first) {
		struct event *e = eq->first;

		eq->first = e->next;
		free(e);
	}
	if (eq->fd >= 0)
		close(eq->fd);
	pthread_mutex_destroy(&eq->lock);
	__atomic_sub_fetch(&eq->fabric->refs, 1, __ATOMIC_RELEASE);
	free(eq);
	return 0;
}

void qv_fi_eq_hold(struct fid_eq *fid)
{
	__atomic_add_fetch(&eq_of(fid)->refs, 1, __ATOMIC_RELAXED);
}

void qv_fi_eq_release(struct fid_eq *fid)
{
	if (fid)
		__atomic_sub_fetch(&eq_of(fid)->refs, 1, __ATOMIC_RELEASE);
}

static ssize_t put(struct eq *eq, uint32_t number, const void *buf, size_t len, bool error)
{
	struct event *e = malloc(sizeof *e + len);

	if (!e)
		return -FI_ENOMEM;
	*e = (struct event){.number = number, .len = len, .error = error};
	memcpy(e->body, buf, len);
	pthread_mutex_lock(&eq->lock);
	*eq->last = e;
	eq->last = &e->next;
	if (eq->fd >= 0)
		eventfd_write(eq->fd, 1);
	pthread_mutex_unlock(&eq->lock);
	return (ssize_t)len;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t number, const void *buf, size_t len,
			uint64_t flags)
{
	return put(eq_of(fid), number, buf, len, false);
}

int qv_fi_eq_tell(struct fid_eq *fid, uint32_t number, const struct fi_eq_entry *entry)
{
	ssize_t ret = put(eq_of(fid), number, entry, sizeof *entry, false);

	return ret < 0 ? (int)ret : 0;
}

int qv_fi_eq_tell_error(struct fid_eq *fid, const struct fi_eq_err_entry *entry)
{
	ssize_t ret = put(eq_of(fid), 0, entry, sizeof *entry, true);

	return ret < 0 ? (int)ret : 0;
}

/* Lock held. */
static void drop_first(struct eq *eq)
{
	struct event *e = eq->first;
	eventfd_t value;

	eq->first = e->next;
	free(e);
	if (eq->first)
		return;
	eq->last = &eq->first;
	if (eq->fd >= 0)
		eventfd_read(eq->fd, &value);
}

/* Without a buffer the number is read, and the rest dropped, as libfabric's own queues do it. */
static ssize_t eq_read(struct fid_eq *fid, uint32_t *number, void *buf, size_t len, uint64_t flags)
{
	struct eq *eq = eq_of(fid);
	ssize_t got = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (eq->first && eq->first->error) {
		got = -FI_EAVAIL;
	} else if (eq->first && buf && len < eq->first->len) {
		got = -FI_ETOOSMALL;
	} else if (eq->first) {
		*number = eq->first->number;
		got = buf ? (ssize_t)eq->first->len : 0;
		if (buf)
			memcpy(buf, eq->first->body, eq->first->len);
		if (!(flags & FI_PEEK))
			drop_first(eq);
	}
	pthread_mutex_unlock(&eq->lock);
	return got;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *number, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct pollfd fd = {.fd = eq_of(fid)->fd, .events = POLLIN};
	const int64_t end = qv_fi_deadline(timeout);
	int64_t left;
	ssize_t got;

	while ((got = eq_read(fid, number, buf, len, flags)) == -FI_EAGAIN) {
		if (fd.fd < 0)
			return -FI_ENOSYS;
		left = qv_fi_left(end);
		if (!left)
			break;
		if (poll(&fd, 1, (int)left) < 0 && errno == EINTR)
			return -FI_EINTR;
	}
	return got;
}

int qv_fi_eq_may_sleep(struct fid *fid)
{
	struct eq *eq = container_of(fid, struct eq, fid.fid);
	int rc;

	if (eq->fd < 0)
		return -FI_EINVAL;
	pthread_mutex_lock(&eq->lock);
	rc = eq->first ? -FI_EAGAIN : 0;
	pthread_mutex_unlock(&eq->lock);
	return rc;
}

/* A caller's own err_data stays. Programs of older versions have none, and no size behind the pointer. */
static void copy_error(const struct eq *eq, const void *from, struct fi_eq_err_entry *to)
{
	const bool sized = FI_VERSION_GE(eq->fabric->api_version, FI_VERSION(1, 5));

	memcpy(to, from, offsetof(struct fi_eq_err_entry, err_data));
	if (!sized || !to->err_data_size)
		to->err_data = NULL;
	if (sized)
		to->err_data_size = 0;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct eq *eq = eq_of(fid);
	ssize_t got = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (eq->first && eq->first->error) {
		got = sizeof *buf;
		copy_error(eq, eq->first->body, buf);
		if (!(flags & FI_PEEK))
			drop_first(eq);
	}
	pthread_mutex_unlock(&eq->lock);
	return got;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	const char *text = qv_strerror(prov_errno);

	if (buf && len)
		snprintf(buf, len, "%s", text);
	return text;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct eq *eq = container_of(fid, struct eq, fid.fid);

	switch (command) {
	case FI_GETWAIT:
		if (eq->fd < 0)
			return -FI_ENODATA;
		*(int *)arg = eq->fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = eq->fd < 0 ? FI_WAIT_NONE : FI_WAIT_FD;
		return 0;
	default: return -FI_ENOSYS;
	}
}

static struct fi_ops eq_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.bind = qv_fi_no_bind,
	.control = eq_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

int qv_fi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out,
		  void *context)
{
	const enum fi_wait_obj wait_obj = attr ? attr->wait_obj : FI_WAIT_UNSPEC;
	struct eq *eq;

	if (wait_obj != FI_WAIT_NONE && wait_obj != FI_WAIT_UNSPEC && wait_obj != FI_WAIT_FD)
		return -FI_ENOSYS;
	eq = calloc(1, sizeof *eq);
	if (!eq)
		return -FI_ENOMEM;
	eq->fd = wait_obj == FI_WAIT_NONE ? -1 : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (wait_obj != FI_WAIT_NONE && eq->fd < 0) {
		free(eq);
		return -FI_ENOMEM;
	}
	if (attr && eq->fd >= 0)
		attr->wait_obj = FI_WAIT_FD;
	pthread_mutex_init(&eq->lock, NULL);
	eq->last = &eq->first;
	eq->fabric = container_of(fabric, struct qv_fi_fabric, fid);
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fi_ops;
	eq->fid.ops = &eq_ops;
	__atomic_add_fetch(&eq->fabric->refs, 1, __ATOMIC_RELAXED);
	*out = &eq->fid;
	return 0;
}
