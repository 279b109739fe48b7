/* SPDX-License-Identifier: BSD-2-Clause */
/* guest.c - see guest.h. */
#include "guest.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/base/proc.h"
#include "engine/node/internal.h"
#include "tests/proto/rig/need.h"

#define GUARD 4096u

static socklen_t door_of(uint64_t name, unsigned user, struct sockaddr_un *a)
{
	int len;

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	len = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "quiver-node/%u/%llu", user,
		       (unsigned long long)name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	QV_NEED(fd >= 0);
	return fd;
}

int guest_knock_of(uint64_t name, unsigned user)
{
	struct sockaddr_un a;
	socklen_t len = door_of(name, user, &a);
	int fd = new_socket();

	if (!connect(fd, (struct sockaddr *)&a, len))
		return fd;
	close(fd);
	return -1;
}

int guest_knock(uint64_t name)
{
	return guest_knock_of(name, geteuid());
}

int guest_door(uint64_t name)
{
	struct sockaddr_un a;
	socklen_t len = door_of(name, geteuid(), &a);
	int fd = new_socket();

	QV_NEED(!bind(fd, (struct sockaddr *)&a, len) && !listen(fd, 64));
	return fd;
}

long guest_say(int fd, const void *words, size_t len, const int *fds, unsigned nfds)
{
	struct iovec iov = {(void *)(uintptr_t)words, len};
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = {.room = {0}};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (nfds) {
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL);
}

struct qv_ring *guest_ring_of(int door, int *fd)
{
	struct guest_join words;
	struct iovec iov = {&words, sizeof words};
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof control.room};
	struct qv_ring *ring;
	int ring_fd;

	*fd = accept4(door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	QV_NEED(*fd >= 0);
	QV_NEED(recvmsg(*fd, &msg, MSG_CMSG_CLOEXEC) == (ssize_t)sizeof words);
	QV_NEED(words.magic == GUEST_MAGIC && words.version == GUEST_VERSION);
	memcpy(&ring_fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof ring_fd);
	ring = qv_segment_map(ring_fd);
	QV_NEED(ring);
	close(ring_fd);
	return ring;
}

struct guest_join guest_words(uint64_t name)
{
	struct qv_proc self;

	qv_proc_self(&self);
	return (struct guest_join){GUEST_MAGIC, GUEST_VERSION, name, self.start};
}

struct qv_ring *guest_join(uint64_t to, uint64_t name, int *fd)
{
	struct guest_join words = guest_words(name);
	int ring_fd;
	struct qv_ring *ring = qv_segment_make(&ring_fd);

	QV_NEED(ring);
	*fd = guest_knock(to);
	QV_NEED(*fd >= 0);
	QV_NEED(guest_say(*fd, &words, sizeof words, &ring_fd, 1) == (long)sizeof words);
	close(ring_fd);
	return ring;
}

void guest_put(struct qv_ring *ring, uint32_t number, uint32_t low, uint64_t tag, uint64_t data,
	       const void *payload, size_t len)
{
	struct qv_slot *slot = &ring->slots[(number - 1) % QV_RING_FIRST];

	slot->tag = tag;
	slot->data = data;
	if (len)
		memcpy(slot->payload, payload, len < QV_RING_INLINE ? len : QV_RING_INLINE);
	atomic_store_explicit(&slot->word, (uint64_t)number << 32 | low, memory_order_release);
}

struct qv_ring *guest_map_guarded(int fd)
{
	size_t size = sizeof(struct qv_ring);
	char *all = mmap(NULL, size + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *ring;

	QV_NEED(all != MAP_FAILED && size % GUARD == 0);
	ring = mmap(all + GUARD, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	QV_NEED(ring == all + GUARD);
	return ring;
}

void guest_unmap_guarded(struct qv_ring *ring)
{
	munmap((char *)ring - GUARD, sizeof *ring + 2 * GUARD);
}
