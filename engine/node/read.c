/* SPDX-License-Identifier: BSD-2-Clause */
/* read.c - another process's memory, read by the kernel where it allows that. */
#include "internal.h"
#include "engine/base/clock.h"
#include "engine/base/iov.h"
#include "engine/base/local.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* So long after it was seen alive nobody asks again: that takes as long as to copy 4 to 20 KiB. No other
 * process gets its number in that time, for the kernel first gives out all others. */
#define ALIVE_NS 1000000u

void qv_node_read_init(struct qv_node *n)
{
	uint64_t from = 1, to = 0;
	struct iovec a = {&to, sizeof to}, b = {&from, sizeof from};

	/* A seccomp filter forbids it for all; Yama's ptrace_scope only shows with another. */
	n->readable = process_vm_readv(getpid(), &a, 1, &b, 1, 0) == (ssize_t)sizeof to && to == 1;
	n->done_tail = &n->done;
}

void qv_node_finish(struct qv_node *n, struct qv_xfer *xfer, int status)
{
	xfer->scratch[0] = NULL;
	xfer->scratch[1] = (void *)(intptr_t)status;
	*n->done_tail = xfer;
	n->done_tail = (struct qv_xfer **)&xfer->scratch[0];
}

void qv_node_finish_all(struct qv_node *n)
{
	struct qv_xfer *xfer = n->done;

	n->done = NULL;
	n->done_tail = &n->done;
	while (xfer) {
		struct qv_xfer *next = xfer->scratch[0];

		xfer->done(xfer, (int)(intptr_t)xfer->scratch[1]);
		xfer = next;
	}
}

/* Does the kernel say no, to this and all that comes? */
static int refused(struct qv_node *n, struct qv_node_peer *peer, int error)
{
	n->stats.unread++;
	if (error != EPERM && error != ENOSYS)
		return QV_EIO;
	peer->blind = true;
	n->ops->warn(n->owner, "the kernel does not let us read another process's memory "
			       "(ptrace_scope, seccomp): long messages are copied twice");
	return QV_ENOSYS;
}

/* Numbers of processes are used again: a descriptor says whether it is still the same one. */
static int open_process(struct qv_node *n, struct qv_node_peer *peer)
{
	struct qv_proc proc = {.host = n->self.host, .start = peer->start, .pid = peer->pid};

	if (peer->pid_fd >= 0)
		return QV_OK;
	if (!peer->rx.ring)
		return QV_EIO;
	if (!peer->pid)
		return refused(n, peer, EPERM); /* of another name space */
	do
		peer->pid_fd = (int)syscall(SYS_pidfd_open, peer->pid, 0);
	while (peer->pid_fd < 0 && qv_local_more());
	if (peer->pid_fd < 0)
		return refused(n, peer, errno);
	if (peer->start && qv_proc_alive(&n->self, &proc))
		return QV_OK;
	close(peer->pid_fd); /* another's: the next read asks again */
	peer->pid_fd = -1;
	return QV_EIO;
}

/* Has it ended the connection that it made? It does so before its owner has the memory back. In our own
 * process one thread may have closed it before it could come here, and its messages arrive. */
static bool has_ended(const struct qv_node *n, const struct qv_node_peer *peer)
{
	return peer->pid != n->self.pid && (peer->rx_fd < 0 || qv_ring_has_ended(&peer->rx));
}

/* Is its process alive, and the same one? */
static bool is_alive(const struct qv_node *n, struct qv_node_peer *peer)
{
	const bool own = peer->pid == n->self.pid;
	struct pollfd fds[] = {{.fd = peer->pid_fd, .events = POLLIN},
			       {.fd = own ? -1 : peer->rx_fd, .events = POLLRDHUP}};

	if (has_ended(n, peer) || poll(fds, 2, 0))
		return false;
	peer->alive_at = qv_clock_ns();
	return true;
}

/* The same, and somebody has asked a moment ago. */
static bool was_alive(const struct qv_node *n, const struct qv_node_peer *peer)
{
	return peer->alive_at && qv_clock_ns() - peer->alive_at < ALIVE_NS && !has_ended(n, peer);
}

int qv_node_read_from(struct qv_node *n, struct qv_node_peer *peer, const struct iovec *to,
		      size_t nto, const struct iovec *from, size_t nfrom)
{
	ssize_t got;
	bool whole;
	int error, rc;

	if (!n->readable || peer->blind)
		return QV_ENOSYS;
	n->stats.reads++;
	rc = open_process(n, peer);
	if (rc)
		return rc;
	if (!was_alive(n, peer) && !is_alive(n, peer))
		return QV_EIO;
	got = process_vm_readv((pid_t)peer->pid, to, nto, from, nfrom, 0);
	error = errno;
	whole = got == (ssize_t)qv_iov_len(from, nfrom);
	/* Who lives now lived all the time; else it may have been another, or other things, that was
	 * read. */
	if (whole && was_alive(n, peer))
		return QV_OK;
	if (is_alive(n, peer)) {
		if (got < 0)
			return refused(n, peer, error);
		if (whole)
			return QV_OK;
	}
	n->stats.unread++;
	return QV_EIO;
}

int qv_node_read(struct qv_xport *x, uint64_t from, const struct iovec *iov, size_t cnt,
		 uint64_t addr, uint64_t key, struct qv_xfer *xfer)
{
	const struct iovec there = {(void *)(uintptr_t)addr, qv_iov_len(iov, cnt)};
	struct qv_node *n = x->self;
	struct qv_node_peer *peer = from < n->npeers ? n->peers[from] : NULL;
	int rc = peer ? qv_node_read_from(n, peer, iov, cnt, &there, 1) : QV_EIO;

	(void)key;
	qv_node_finish(n, xfer, rc ? QV_EIO : QV_OK);
	return QV_OK;
}
