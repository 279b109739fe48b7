/* SPDX-License-Identifier: BSD-2-Clause */
/* late.c - a server that opens its service after a client has sent to it. */
#include "tests/fabric/harness/ft.h"

#define REACH (5 * ft.patience) /* seconds until it is reached, whatever errors come first */

/* False: an error told that nobody is there. */
static bool send_one(struct ft_ep *ep, fi_addr_t to, uint64_t *word)
{
	struct ft_op op;
	ssize_t ret;

	FT_HERE();
	while ((ret = fi_tsend(ep->ep, word, 8, NULL, to, 1, ft_fresh(&op))) == -FI_EAGAIN)
		ft_progress();
	if (ret)
		return false;
	while (!op.done)
		ft_progress();
	return !op.err;
}

static void ask(const char *service)
{
	uint64_t word = 7;
	struct ft_ep ep;
	fi_addr_t server;
	double end;

	ft_open(&ep, &(struct ft_conf){.lonely = true});
	CHECK_EQ(fi_av_insertsvc(ep.av, NULL, service, &server, 0, NULL), 1);
	CHECK(!send_one(&ep, server, &word));
	ft_barrier();
	ft_barrier(); /* the service is open */
	for (end = ft_now() + REACH; !send_one(&ep, server, &word); ft_progress_for(0.02))
		if (ft_now() > end)
			ft_fail("the server is not reached");
	ft_barrier();
	ft_close_part(&ep);
}

static void serve(const char *service)
{
	const struct ft_conf conf = {.lonely = true};
	struct fi_info *hints = ft_hints(&conf);
	uint64_t in = 0;
	struct ft_ep ep;
	struct ft_op rx;

	ft_barrier_idle(); /* it was asked for */
	ft_open_domain(&ep, &conf);
	fi_freeinfo(ep.info);
	OK(fi_getinfo(FT_API, NULL, service, FI_SOURCE, hints, &ep.info));
	fi_freeinfo(hints);
	ft_open_ep(&ep);
	ft_trecv(&ep, FT_ANY, 1, 0, &in, 8, &rx);
	ft_barrier();
	ft_wait(&rx);
	CHECK_EQ(in, 7);
	ft_barrier();
	ft_close_part(&ep);
}

static void service_late(void)
{
	char service[16];

	snprintf(service, sizeof service, "%u", ft_port());
	(ft.rank ? serve : ask)(service);
}

const struct ft_case ft_cases_late[] = {
	{"service_late", 2, 20, service_late},
	{0},
};
