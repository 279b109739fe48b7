/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open.c - how the memory gets to all members. Each but rank 0 has a door, a socket with a name made
 * of the team's and its rank; rank 0 makes the memory, knocks at all doors, and hands it over. All
 * that may wait is done by the owner between the steps.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/local.h"

#define MAGIC   0x6d61657472657671u
#define VERSION 2u

/* With the descriptor of the memory. */
struct words {
	uint64_t magic, version, name, bytes;
};

static socklen_t door_of(const struct qv_team *t, uint32_t rank, struct sockaddr_un *a)
{
	char text[80];

	snprintf(text, sizeof text, "quiver-team/%u/%llu/%u", (unsigned)geteuid(),
		 (unsigned long long)t->spec.name, rank);
	return qv_local_address(a, text);
}

static struct words words_of(const struct qv_team *t)
{
	return (struct words){MAGIC, VERSION, t->spec.name, t->mapped};
}

static void use(struct qv_team *t, void *memory)
{
	t->seats = memory;
	t->stages = (char *)memory + (t->mapped - (size_t)t->ranks * QV_TEAM_SLOTS * QV_TEAM_PIECE);
	t->seats[t->rank].proc = t->self;
}

static size_t bytes_of(uint32_t ranks)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t seats = ranks * sizeof(struct qv_team_seat);

	return (seats + page - 1) / page * page + (size_t)ranks * QV_TEAM_SLOTS * QV_TEAM_PIECE;
}

static int open_door(struct qv_team *t)
{
	struct sockaddr_un a;
	const socklen_t len = door_of(t, t->rank, &a);

	t->door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->door < 0 || bind(t->door, (struct sockaddr *)&a, len) || listen(t->door, 8))
		return QV_EIO;
	return QV_OK;
}

int qv_team_open(const struct qv_team_spec *spec, struct qv_team **team)
{
	struct qv_team *t;
	void *memory;
	int rc = QV_OK;

	if (spec->ranks < 2 || spec->ranks > QV_TEAM_MOST || spec->rank >= spec->ranks)
		return QV_EINVAL;
	t = calloc(1, sizeof *t);
	if (!t)
		return QV_ENOMEM;
	t->spec = *spec;
	t->rank = spec->rank;
	t->ranks = spec->ranks;
	t->mapped = bytes_of(spec->ranks);
	t->fd = t->door = -1;
	qv_proc_self(&t->self);
	if (t->rank)
		rc = open_door(t);
	else if ((memory = qv_local_make(t->mapped, &t->fd)))
		use(t, memory);
	else
		rc = QV_EIO;
	if (rc) {
		qv_team_close(t);
		return rc;
	}
	*team = t;
	return QV_OK;
}

static int give_to(const struct qv_team *t, uint32_t rank)
{
	const struct words words = words_of(t);
	struct sockaddr_un a;
	const socklen_t len = door_of(t, rank, &a);
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	uint32_t pid;
	int rc = QV_OK;

	if (fd < 0)
		return QV_EIO;
	if (connect(fd, (struct sockaddr *)&a, len))
		rc = QV_EIO;
	else if (!qv_local_is_ours(fd, &pid))
		rc = QV_EPEER;
	else if (!qv_local_give(fd, &words, sizeof words, t->fd))
		rc = QV_EIO;
	close(fd); /* what was sent is there */
	return rc;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int qv_team_give(struct qv_team *t)
{
	int rc = t->fd < 0 ? QV_EINVAL : QV_OK;

	for (uint32_t i = 1; i < t->ranks && !rc; i++)
		rc = give_to(t, i);
	close_fd(&t->fd);
	return rc;
}

/* QV_EPROTO: whoever knocks has no business here. */
static int take_from(struct qv_team *t, int fd)
{
	const struct words wanted = words_of(t);
	struct words words;
	uint32_t pid;
	void *memory;
	int given, rc = QV_EPROTO;

	if (!qv_local_is_ours(fd, &pid))
		return QV_EPROTO;
	if (qv_local_take(fd, &words, sizeof words, MSG_DONTWAIT, &given) == (long)sizeof words &&
	    given >= 0 && words.magic == wanted.magic && words.version == wanted.version &&
	    words.name == wanted.name && words.bytes == wanted.bytes) {
		memory = qv_local_map(given, t->mapped);
		rc = memory ? QV_OK : QV_ENOMEM;
		if (memory)
			use(t, memory);
	}
	if (given >= 0)
		close(given);
	return rc;
}

int qv_team_take(struct qv_team *t)
{
	int fd, rc = t->door < 0 ? QV_EINVAL : QV_EPROTO;

	while (rc == QV_EPROTO) {
		fd = accept4(t->door, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return QV_EAGAIN;
		rc = take_from(t, fd);
		close(fd);
	}
	if (rc != QV_EINVAL)
		close_fd(&t->door);
	return rc;
}

void qv_team_close(struct qv_team *t)
{
	if (!t)
		return;
	/* A child that was forked is no member, and has not the memory (MADV_DONTFORK): what is there is its
	 * own. */
	if (t->seats && t->self.pid == (uint32_t)getpid()) {
		atomic_store_explicit(&t->seats[t->rank].failed, 1, memory_order_release);
		qv_local_unmap(t->seats, t->mapped);
	}
	close_fd(&t->fd);
	close_fd(&t->door);
	free(t);
}

size_t qv_team_bytes(const struct qv_team *t)
{
	return t->mapped;
}
