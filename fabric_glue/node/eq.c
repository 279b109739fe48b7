/* SPDX-License-Identifier: BSD-2-Clause */
/* eq.c - event queue of the core `node`: what the provider writes, the application reads. */
#include "node.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <poll.h>

#define IS_ERROR (UINT64_C(1) << 60) /* flag of libfabric's fi_eq_write: fi_eq_readerr tells it */

struct event {
	struct event *next;
	bool error;
	uint32_t number;
	size_t len;
	char body[];
};

struct eq {
	struct fid_eq fid;
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

	while (eq->first) {
		struct event *e = eq->first;

		eq->first = e->next;
		free(e);
	}
	if (eq->fd >= 0)
		close(eq->fd);
	pthread_mutex_destroy(&eq->lock);
	free(eq);
	return 0;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t number, const void *buf, size_t len,
			uint64_t flags)
{
	struct event *e = malloc(sizeof *e + len);
	struct eq *eq = eq_of(fid);

	if (!e)
		return -FI_ENOMEM;
	*e = (struct event){.number = number, .len = len, .error = flags & IS_ERROR};
	memcpy(e->body, buf, len);
	pthread_mutex_lock(&eq->lock);
	*eq->last = e;
	eq->last = &e->next;
	if (eq->fd >= 0)
		eventfd_write(eq->fd, 1);
	pthread_mutex_unlock(&eq->lock);
	return (ssize_t)len;
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

static ssize_t eq_read(struct fid_eq *fid, uint32_t *number, void *buf, size_t len, uint64_t flags)
{
	struct eq *eq = eq_of(fid);
	ssize_t got = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (eq->first && eq->first->error) {
		got = -FI_EAVAIL;
	} else if (eq->first) {
		*number = eq->first->number;
		got = (ssize_t)(len < eq->first->len ? len : eq->first->len);
		memcpy(buf, eq->first->body, (size_t)got);
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
	ssize_t got = eq_read(fid, number, buf, len, flags);

	if (got != -FI_EAGAIN)
		return got;
	if (fd.fd < 0)
		return -FI_ENOSYS;
	poll(&fd, 1, timeout);
	return eq_read(fid, number, buf, len, flags);
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct eq *eq = eq_of(fid);
	ssize_t got = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (eq->first && eq->first->error) {
		got = sizeof *buf;
		memcpy(buf, eq->first->body,
		       eq->first->len < sizeof *buf ? eq->first->len : sizeof *buf);
		if (!(flags & FI_PEEK))
			drop_first(eq);
	}
	pthread_mutex_unlock(&eq->lock);
	return got;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	return qv_fi_host.strerror(prov_errno);
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct eq *eq = container_of(fid, struct eq, fid.fid);

	if (command != FI_GETWAIT || eq->fd < 0)
		return -FI_ENOSYS;
	*(int *)arg = eq->fd;
	return 0;
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

int qv_fi_node_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out,
		       void *context)
{
	struct eq *eq = calloc(1, sizeof *eq);

	if (!eq)
		return -FI_ENOMEM;
	eq->fd = -1;
	if (attr->wait_obj != FI_WAIT_NONE) {
		eq->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		attr->wait_obj = FI_WAIT_FD;
		if (eq->fd < 0) {
			free(eq);
			return -FI_ENOMEM;
		}
	}
	pthread_mutex_init(&eq->lock, NULL);
	eq->last = &eq->first;
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fi_ops;
	eq->fid.ops = &eq_ops;
	*out = &eq->fid;
	return 0;
}
