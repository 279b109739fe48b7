/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * band.c - addresses learned in band, as fabtests does: rank 0 listens where a name and a port
 * say, the others send it their addresses, and it sends each of them those of all.
 */
#include "tests/fabric/harness/ft.h"

#include <arpa/inet.h>
#include <unistd.h>

#define FIRST_PORT 20000u /* up to where the kernel chooses */
#define CASE_PORTS 128u   /* one for each endpoint of a case */
#define CASES      96u    /* that run at once */

static uint32_t claimed;

/* The ranks know the ports of a case from their parent, which keeps others away by listening before
 * the first of them. */
void ft_claim_ports(void)
{
	for (uint32_t i = 0; i < CASES; i++) {
		struct sockaddr_in at = {.sin_family = AF_INET};
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		claimed = FIRST_PORT + ((uint32_t)getpid() + i) % CASES * (CASE_PORTS + 1);
		at.sin_port = htons((uint16_t)claimed++);
		at.sin_addr.s_addr = htonl(INADDR_ANY);
		if (fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof at) && !listen(fd, 1))
			return;
		close(fd);
	}
	ft_fail("no ports are left for another case");
}

uint32_t ft_port(void)
{
	/* Where a relay has some only. */
	const char *first = getenv("QV_TEST_PORT"), *last = getenv("QV_TEST_LAST_PORT");
	uint32_t number = first ? (uint32_t)atoi(first) + (uint32_t)ft.eps : 0;

	if (first && last && number > (uint32_t)atoi(last))
		ft_fail("port %u is beyond those of the relay", number);
	return first ? number : claimed + (uint32_t)ft.eps;
}

/* libfabric's shared memory has no ports, and rxm of libfabric 1.17 does not hear at the one that it is given:
 * rank 0's name is told by hand. */
bool ft_has_ports(void)
{
	return (strcmp(ft_core(), "shm") && !strstr(ft_core(), "ofi_rxm")) || ft_pair();
}

/* The info of rank 0's own endpoint, bound to the port, or of an endpoint that is to reach it. */
int ft_getinfo_port(struct fi_info *hints, struct fi_info **info)
{
	char service[16];

	snprintf(service, sizeof(service), "%u", ft_port());
	return fi_getinfo(FT_API, ft_host(), service, ft.rank ? 0 : FI_SOURCE, hints, info);
}

const char *ft_host(void)
{
	const char *host = getenv("QV_TEST_HOST");

	return host ? host : "127.0.0.1";
}

struct hello {
	uint32_t rank, len;
	char name[FT_MAX_NAME];
};

static void send_away(struct ft_ep *ep, fi_addr_t to, void *buf, size_t len, uint64_t *sent)
{
	struct ft_op op;

	POST(fi_send(ep->ep, buf, len, NULL, to, ft_fresh(&op)));
	ft_told(ep, &op, true, ++*sent);
}

static void take(struct ft_ep *ep, void *buf, size_t len, uint64_t *received)
{
	struct ft_op op;
	struct iovec iov = {buf, len};
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = ft_fresh(&op)};

	POST(fi_recvmsg(ep->ep, &msg, FI_COMPLETION));
	ft_told(ep, &op, false, ++*received);
}

static fi_addr_t insert(struct ft_ep *ep, const void *name)
{
	fi_addr_t addr;

	CHECK_EQ(fi_av_insert(ep->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

/* Rank 0: hear from everybody, then tell everybody. */
static void serve(struct ft_ep *ep, struct hello *all, uint64_t *sent, uint64_t *received)
{
	struct hello one;

	for (int i = 1; i < ft.n; i++) {
		take(ep, &one, sizeof(one), received);
		CHECK(one.rank < (uint32_t)ft.n);
		all[one.rank] = one;
	}
	for (int i = 0; i < ft.n; i++)
		ep->peer[i] = insert(ep, all[i].name);
	for (int i = 1; i < ft.n; i++)
		send_away(ep, ep->peer[i], all, (size_t)ft.n * sizeof(*all), sent);
}

void ft_exchange_in_band(struct ft_ep *ep)
{
	struct hello all[FT_MAX_RANKS] = {0}, *me = &all[ft.rank];
	uint64_t sent = 0, received = 0;
	size_t len = sizeof(me->name);
	fi_addr_t server;

	me->rank = (uint32_t)ft.rank;
	OK(fi_getname(&ep->ep->fid, me->name, &len));
	me->len = (uint32_t)len;
	ft_barrier_idle(); /* rank 0 listens */
	if (ft.rank == 0) {
		serve(ep, all, &sent, &received);
	} else {
		server = insert(ep, ft_has_ports() ? ep->info->dest_addr
						   : ft.sh->rank[0].name[ep->index]);
		send_away(ep, server, me, sizeof(*me), &sent);
		take(ep, all, sizeof(all), &received);
		for (int i = 1; i < ft.n; i++)
			ep->peer[i] = insert(ep, all[i].name);
		ep->peer[0] = server;
	}
	for (struct fid_cntr **c = (struct fid_cntr *[]){ep->send_cntr, ep->recv_cntr, NULL}; *c;
	     c++)
		OK(fi_cntr_set(*c, 0));
	ft_barrier(); /* nobody is spoken to before it knows its peers */
}
