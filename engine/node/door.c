/* SPDX-License-Identifier: BSD-2-Clause */
/* door.c - the socket that others find an endpoint by, and how they knock. */
#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/base/local.h"

static socklen_t door_of(uint64_t name, struct sockaddr_un *a)
{
	char text[64];

	snprintf(text, sizeof text, "quiver-node/%u/%llu", (unsigned)geteuid(),
		 (unsigned long long)name);
	return qv_local_address(a, text);
}

int qv_node_open_door(struct qv_node *n)
{
	struct sockaddr_un a;
	socklen_t len = door_of(n->name, &a);

	n->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	n->door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (n->epoll_fd < 0 || n->door < 0 || bind(n->door, (struct sockaddr *)&a, len) ||
	    listen(n->door, 4096) || !qv_node_listen_to(n, n->door, QV_NODE_DOOR))
		return QV_EIO;
	return QV_OK;
}

void qv_node_close_door(struct qv_node *n)
{
	int fd;

	if (n->door < 0)
		return;
	if ((uint32_t)getpid() == n->self.pid) {
		(void)shutdown(n->door, SHUT_RDWR);
		while ((fd = accept4(n->door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
			qv_node_hang_up(n, fd);
	}
	close(n->door);
	n->door = -1;
}

/* Knocking. */

int qv_node_errno_status(void)
{
	switch (errno) {
	case EAGAIN:
	case EINTR:
	case ETOOMANYREFS: /* the user has too many descriptors under way: others take theirs */
	case EPIPE:        /* it was shown out before it spoke, or nobody is there any more: */
	case ECONNRESET: /* whoever knocks again finds out */ return QV_EAGAIN;
	case ENOMEM:
	case ENOBUFS:
	case EMFILE:
	case ENFILE: return QV_ENOMEM;
	default: return QV_EPEER;
	}
}

int qv_node_knock(uint64_t name, int *fd)
{
	struct sockaddr_un a;
	socklen_t len = door_of(name, &a);
	int rc;

	do
		*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	while (*fd < 0 && qv_local_more());
	if (*fd < 0)
		return qv_node_errno_status();
	if (!connect(*fd, (struct sockaddr *)&a, len))
		return QV_OK;
	rc = qv_node_errno_status();
	close(*fd);
	return rc;
}

bool qv_node_is_here(uint64_t name)
{
	uint32_t pid;
	int fd, rc = qv_node_knock(name, &fd);
	bool ours = !rc && qv_local_is_ours(fd, &pid) && !qv_node_has_died(pid);

	if (!rc)
		close(fd);
	return rc ? rc != QV_EPEER : ours;
}

bool qv_node_can_serve(void)
{
	struct qv_node n = {.door = -1, .epoll_fd = -1, .name = qv_proc_random()};
	struct qv_ring *ring;
	bool can;
	int fd;

	qv_proc_self(&n.self);
	can = !qv_node_open_door(&n);
	qv_node_close_door(&n);
	if (n.epoll_fd >= 0)
		close(n.epoll_fd);
	ring = can ? qv_segment_make(&fd) : NULL;
	if (!ring)
		return false;
	qv_segment_unmap(ring);
	close(fd);
	return true;
}
