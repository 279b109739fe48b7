/* SPDX-License-Identifier: BSD-2-Clause */
/* sever.c - cut the TCP connections of this process under the core that has them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sever.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static bool is_established(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	       info.tcpi_state == TCP_ESTABLISHED;
}

/* The kernel ends a connection for good, as if it had been reset: both sides find an error. */
static bool reset(int fd)
{
	struct sockaddr_in here, there;
	socklen_t len = sizeof(here), there_len = sizeof(there), cookie_len = sizeof(uint64_t);
	uint64_t cookie;
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 req;
	} ask = {.head = {.nlmsg_len = sizeof(ask),
			  .nlmsg_type = SOCK_DESTROY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		 .req = {.sdiag_family = AF_INET,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = UINT32_MAX}};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr err;
	} answer = {.err.error = -1};
	int diag;

	if (getsockname(fd, (struct sockaddr *)&here, &len) ||
	    getpeername(fd, (struct sockaddr *)&there, &there_len) || here.sin_family != AF_INET ||
	    getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &cookie_len))
		return false;
	ask.req.id.idiag_sport = here.sin_port;
	ask.req.id.idiag_dport = there.sin_port;
	ask.req.id.idiag_src[0] = here.sin_addr.s_addr;
	ask.req.id.idiag_dst[0] = there.sin_addr.s_addr;
	/* If it is gone by now, the kernel would take the socket that listens at its port. */
	ask.req.id.idiag_cookie[0] = (uint32_t)cookie;
	ask.req.id.idiag_cookie[1] = (uint32_t)(cookie >> 32);
	diag = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
	if (diag < 0 || send(diag, &ask, sizeof(ask), 0) < 0 ||
	    recv(diag, &answer, sizeof(answer), 0) < 0)
		answer.err.error = -1;
	if (diag >= 0)
		close(diag);
	return answer.err.error == 0;
}

/* Where the kernel cannot reset connections, or we may not, they are ended. */
static bool sever(int fd, enum ft_severing how)
{
	if (how != FT_END && reset(fd))
		return true;
	return shutdown(fd, SHUT_RDWR) == 0;
}

/* NULL: whichever. */
static bool is_at(int fd, const char *network)
{
	struct sockaddr_in here = {0};
	socklen_t len = sizeof(here);
	struct in_addr net;

	if (!network)
		return true;
	return inet_aton(network, &net) && !getsockname(fd, (struct sockaddr *)&here, &len) &&
	       here.sin_family == AF_INET &&
	       !((here.sin_addr.s_addr ^ net.s_addr) & htonl(0xffffff00));
}

static size_t for_each(bool severs, enum ft_severing how, const char *network)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && is_established(fd) && is_at(fd, network))
			n += !severs || sever(fd, how);
	}
	if (dir)
		closedir(dir);
	return n;
}

size_t ft_sever(enum ft_severing how)
{
	return for_each(true, how, NULL);
}

size_t ft_sever_at(enum ft_severing how, const char *network)
{
	return for_each(true, how, network);
}

size_t ft_connections(void)
{
	return for_each(false, FT_END, NULL);
}

static void sleep_us(unsigned us)
{
	struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

	nanosleep(&t, NULL);
}

static void *severer(void *arg)
{
	struct ft_severer *s = arg;
	size_t n;

	for (unsigned done = 0; done < s->times && !s->stop;) {
		n = ft_sever(s->how);
		s->severed += n;
		done += n > 0;
		sleep_us(n && done < s->times ? (unsigned)(ft_random(&s->seed) % s->most) : 100);
	}
	return NULL;
}

void ft_sever_start(struct ft_severer *s)
{
	s->stop = false;
	s->severed = 0;
	CHECK(!pthread_create(&s->thread, NULL, severer, s));
}

size_t ft_sever_stop(struct ft_severer *s)
{
	s->stop = true;
	CHECK(!pthread_join(s->thread, NULL));
	return s->severed;
}
