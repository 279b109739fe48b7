/* SPDX-License-Identifier: BSD-2-Clause */
/* local.c - see local.h; memfd_create(2), unix(7). */
#include "local.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

bool qv_local_more(void)
{
	const int error = errno;
	struct rlimit limit;
	bool more = false;

	if (error == EMFILE && !getrlimit(RLIMIT_NOFILE, &limit) &&
	    limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur =
			limit.rlim_cur < limit.rlim_max / 2 ? 2 * limit.rlim_cur : limit.rlim_max;
		more = !setrlimit(RLIMIT_NOFILE, &limit);
	}
	errno = error;
	return more;
}

static void *map(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_DONTFORK); /* a child is another process */
	return p;
}

static int make(unsigned flags)
{
	int fd;

	do
		fd = memfd_create("quiver", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
	while (fd < 0 && qv_local_more());
	return fd;
}

void *qv_local_make(size_t bytes, int *fd)
{
	void *p;

	*fd = make(MFD_NOEXEC_SEAL); /* vm.memfd_noexec may ask for it */
	if (*fd < 0 && errno == EINVAL)
		*fd = make(0); /* before Linux 6.3 */
	if (*fd < 0)
		return NULL;
	if (!ftruncate(*fd, (off_t)bytes) && !fcntl(*fd, F_ADD_SEALS, SEALS) &&
	    (p = map(*fd, bytes)))
		return p;
	close(*fd);
	*fd = -1;
	return NULL;
}

void *qv_local_map(int fd, size_t bytes)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) || st.st_size != (off_t)bytes) {
		errno = EINVAL;
		return NULL;
	}
	return map(fd, bytes);
}

void qv_local_unmap(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

socklen_t qv_local_address(struct sockaddr_un *a, const char *name)
{
	const size_t len = strnlen(name, sizeof a->sun_path - 1);

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path + 1, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

bool qv_local_is_ours(int fd, uint32_t *pid)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) || cred.uid != geteuid())
		return false;
	*pid = cred.pid > 0 ? (uint32_t)cred.pid : 0;
	return true;
}

/* Room for one descriptor. */
union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int))];
};

bool qv_local_give(int to, const void *words, size_t len, int fd)
{
	struct iovec iov = {(void *)(uintptr_t)words, len};
	union control control = {.room = {0}};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof control.room};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	return sendmsg(to, &msg, MSG_NOSIGNAL) == (ssize_t)len;
}

static long take(int from, void *words, size_t room, int flags, int *fd)
{
	struct iovec iov = {words, room};
	union control control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = CMSG_LEN(sizeof(int))}; /* no room for two */
	const ssize_t got = recvmsg(from, &msg, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&msg);

	*fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof *fd);
	if (got < 0 || *fd >= 0 || !(flags & MSG_PEEK) || !(msg.msg_flags & MSG_CTRUNC))
		return got;
	errno = EMFILE;
	return -1;
}

long qv_local_take(int from, void *words, size_t room, int flags, int *fd)
{
	long got;

	do
		got = take(from, words, room, flags, fd);
	while (got < 0 && qv_local_more());
	return got;
}
