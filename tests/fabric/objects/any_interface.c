/* SPDX-License-Identifier: BSD-2-Clause */
/* any_interface.c - endpoints that are given a port, and no host to listen at. */
#include "tests/fabric/harness/ft.h"

#include <ifaddrs.h>
#include <net/if.h>

static bool has_network(void)
{
	struct ifaddrs *list, *i;

	CHECK_EQ(getifaddrs(&list), 0);
	for (i = list; i && (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
			     i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP));)
		i = i->ifa_next;
	freeifaddrs(list);
	return i;
}

/* The name that such an endpoint has is one that peers can use. */
static void talk(struct ft_ep *ep)
{
	uint64_t in = 0, out = 6;
	struct ft_op rx, tx;

	ft_trecv(ep, !ft.rank, 1, 0, &in, 8, &rx);
	ft_tsend(ep, !ft.rank, 1, &out, 8, &tx);
	ft_wait(&tx);
	ft_wait(&rx);
	CHECK_EQ(in, 6);
	CHECK_EQ(rx.src, ep->peer[!ft.rank]);
}

/* What such an endpoint was opened with, less its address, are hints for another one. */
static void open_again(struct ft_ep *ep, const struct fi_info *hints)
{
	struct fi_info *again = fi_dupinfo(ep->info), *info;
	struct fid_ep *other;

	free(again->src_addr);
	again->src_addr = NULL;
	again->src_addrlen = 0;
	free(again->fabric_attr->prov_name);
	again->fabric_attr->prov_name = strdup(hints->fabric_attr->prov_name);
	OK(fi_getinfo(FT_API, NULL, NULL, 0, again, &info));
	OK(fi_endpoint(ep->domain, info, &other, NULL));
	OK(fi_close(&other->fid));
	fi_freeinfo(info);
	fi_freeinfo(again);
}

/* First rank 0 listens at no host; then rank 1, at a port that rank 0 has on one of the interfaces. */
static void any_interface(void)
{
	struct ft_conf conf = {.caps = FI_SOURCE | FI_DIRECTED_RECV};
	struct fi_info *hints = ft_hints(&conf);
	const int rounds = has_network() ? 2 : 1;
	char service[16];
	struct ft_ep ep;

	for (int round = 0; round < rounds; round++) {
		snprintf(service, sizeof service, "%u", ft_port());
		ft_open_domain(&ep, &conf);
		if (ft.rank == 1)
			ft_barrier_idle();
		if (ft.rank <= round) {
			fi_freeinfo(ep.info);
			OK(fi_getinfo(FT_API, ft.rank == round ? NULL : "127.0.0.1", service,
				      FI_SOURCE, hints, &ep.info));
		}
		ft_open_ep(&ep);
		open_again(&ep, hints);
		if (ft.rank == 0)
			ft_barrier_idle();
		ft_exchange(&ep);
		talk(&ep);
		ft_close(&ep);
	}
	fi_freeinfo(hints);
}

const struct ft_case ft_cases_any_interface[] = {
	{"any_interface", 2, 20, any_interface},
	{0},
};
