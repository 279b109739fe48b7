/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.c - what libfabric's own functional tests (fabtests 1.17) try and no other file here
 * does. Row by row:
 *   fi_rdm, rdm_pingpong, rdm_tagged_pingpong  pingpong_*, sweep_*
 *   fi_rdm_tagged_bw, fi_bw                    rate
 *   fi_rdm_tagged_peek                         peek, peek_order
 *   fi_recv_cancel                             cancel_*
 *   fi_unexpected_msg                          unexpected_*
 *   fi_multi_recv                              multi_recv_*
 *   fi_cq_data                                 cq_data
 *   fi_multi_ep                                several_endpoints
 *   fi_av_xfer                                 av_again
 *   fi_rdm_multi_client                        multi_client
 *   fi_rma_bw                                  rma_*
 *   fi_rdm_cntr_pingpong                       counters, sweep_*
 *   fi_rdm_atomic                              atomic_*
 *   fi_multi_mr                                rma_windows
 *   fi_rdm_rma_event                           rma_events
 *   fi_poll                                    poll_set
 *   fi_cq_test, fi_cntr_test, fi_eq_test       objects
 *   fi_av_test, fi_dom_test, fi_mr_test        objects, av_*
 *   fi_getinfo_test                            attributes, refused_hints
 *   fi_rdm_multi_domain                        multi_domain
 *   fi_multinode                               all_to_all, multinode_rma
 *   fi_ubertest                                sweep_*
 *   fi_shared_ctx, fi_scalable_ep              scalable
 */
#include "tests/fabric/harness/ft.h"

/* Objects: many of each, of all sizes and kinds, closed in another order. */

static void queues(struct ft_ep *ep)
{
	enum { SIZES = 5, FORMATS = FI_CQ_FORMAT_TAGGED + 1 };
	static const size_t sizes[SIZES] = {0, 1, 16, 256, 4096};
	struct fid_cq *cq[SIZES * FORMATS], *none;
	size_t n = 0;

	for (int format = FI_CQ_FORMAT_UNSPEC; format < FORMATS; format++)
		for (size_t i = 0; i < SIZES; i++) {
			struct fi_cq_attr attr = {.format = (enum fi_cq_format)format,
						  .size = sizes[i]};

			OK(fi_cq_open(ep->domain, &attr, &cq[n++], NULL));
		}
	CHECK_EQ(fi_cq_open(ep->domain, &(struct fi_cq_attr){.format = 99}, &none, NULL),
		 -FI_EINVAL);
	CHECK_EQ(fi_close(&ep->domain->fid), -FI_EBUSY);
	while (n--)
		OK(fi_close(&cq[n]->fid));
}

static void counters_and_maps(struct ft_ep *ep)
{
	enum { N = 32 };
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
	struct fid_cntr *cntr[N];
	struct fid_av *av[N];

	for (uint64_t i = 0; i < N; i++) {
		struct fi_av_attr av_attr = {.type = i % 2 ? FI_AV_MAP : FI_AV_TABLE,
					     .count = i * i};

		OK(fi_cntr_open(ep->domain, &attr, &cntr[i], NULL));
		OK(fi_cntr_set(cntr[i], i));
		OK(fi_cntr_add(cntr[i], i));
		OK(fi_av_open(ep->domain, &av_attr, &av[i], NULL));
	}
	for (uint64_t i = 0; i < N; i++) {
		CHECK_EQ(fi_cntr_read(cntr[i]), 2 * i);
		OK(fi_close(&cntr[i]->fid));
		OK(fi_close(&av[i]->fid));
	}
}

static void events(struct ft_ep *ep)
{
	struct fi_eq_attr attr = {.size = 16, .flags = FI_WRITE, .wait_obj = FI_WAIT_NONE};
	struct fi_eq_entry in = {0}, out = {0};
	struct fid_eq *eq;
	uint32_t event = 0;

	OK(fi_eq_open(ep->fabric, &attr, &eq, NULL));
	CHECK_EQ(fi_eq_read(eq, &event, &out, sizeof(out), 0), -FI_EAGAIN);
	for (uint64_t i = 0; i < 5; i++) {
		in.fid = &ep->domain->fid;
		in.context = (void *)(uintptr_t)(i + 1);
		in.data = i;
		CHECK_EQ(fi_eq_write(eq, FI_NOTIFY, &in, sizeof(in), 0), sizeof(in));
	}
	for (uint64_t i = 0; i < 5; i++) {
		CHECK_EQ(fi_eq_read(eq, &event, &out, sizeof(out), 0), sizeof(out));
		CHECK_EQ(event, FI_NOTIFY);
		CHECK(out.fid == &ep->domain->fid && out.data == i);
	}
	CHECK_EQ(fi_eq_read(eq, &event, &out, sizeof(out), 0), -FI_EAGAIN);
	OK(fi_close(&eq->fid));
}

static void registrations(struct ft_ep *ep)
{
	static const uint64_t access[] = {FI_REMOTE_READ, FI_REMOTE_WRITE, FI_READ | FI_WRITE,
					  FI_REMOTE_READ | FI_REMOTE_WRITE | FI_SEND | FI_RECV};
	struct fid_mr *mr[32];
	char *buf = ft_buf(1 << 20);
	size_t n = 0;

	for (size_t len = 1; len <= 1 << 20; len *= 8)
		for (size_t a = 0; a < 4; a++, n++)
			OK(fi_mr_reg(ep->domain, buf, len, access[a], 0, 1000 + n, 0, &mr[n],
				     NULL));
	/* What no peer may touch needs no key: libfabric 2.6 gives none. Who chooses keys may give one
	 * to regions that overlap: verbs keeps registrations and gives them out again. */
	for (size_t i = 0; i < n && !(ep->info->domain_attr->mr_mode & FI_MR_PROV_KEY); i++)
		for (size_t j = 0; j < i; j++)
			CHECK(fi_mr_key(mr[i]) != fi_mr_key(mr[j]) ||
			      (i % 4 == 2 && fi_mr_key(mr[i]) == FI_KEY_NOTAVAIL));
	CHECK_EQ(fi_close(&ep->domain->fid), -FI_EBUSY);
	while (n--)
		OK(fi_close(&mr[n]->fid));
	free(buf);
}

static void objects(void)
{
	struct ft_ep ep;

	ft_open_domain(&ep, &(struct ft_conf){.caps = FI_RMA});
	queues(&ep);
	counters_and_maps(&ep);
	events(&ep);
	registrations(&ep);
	ft_open_ep(&ep);
	ft_close(&ep);
}

/* What is offered to who asks for nothing is there when it is asked for: MPICH does that. */

static void info_echo(void)
{
	struct fi_info *hints = fi_allocinfo(), *list, *again;
	size_t n = 0;

	hints->fabric_attr->prov_name = strdup(ft.prov);
	OK(fi_getinfo(FT_API, NULL, NULL, 0, hints, &list));
	fi_freeinfo(hints);
	for (struct fi_info *i = list; i && n < 8; i = i->next, n++) {
		struct fid_fabric *fabric;
		struct fid_domain *domain;

		hints = fi_dupinfo(i);
		CHECK(hints);
		OK(fi_getinfo(FT_API, NULL, NULL, 0, hints, &again));
		CHECK_EQ(again->caps & i->caps, i->caps);
		OK(fi_fabric(again->fabric_attr, &fabric, NULL));
		OK(fi_domain(fabric, again, &domain, NULL));
		OK(fi_close(&domain->fid));
		OK(fi_close(&fabric->fid));
		fi_freeinfo(again);
		fi_freeinfo(hints);
	}
	CHECK(n > 0);
	fi_freeinfo(list);
}

/* Several domains of one process, each with its own endpoint. */

static void multi_domain(void)
{
	enum { N = 4 };
	struct ft_ep ep[N];
	struct ft_op in[N], out[N];
	char *got = ft_buf(N * 20000), *put = ft_buf(N * 20000);

	for (uint64_t i = 0; i < N; i++)
		ft_open(&ep[i], &(struct ft_conf){0});
	for (uint64_t i = 0; i < N; i++) {
		ft_fill(put + i * 20000, 20000, i);
		ft_trecv(&ep[i], !ft.rank, 5, 0, got + i * 20000, 20000, &in[i]);
	}
	for (uint64_t i = N; i-- > 0;)
		ft_tsend(&ep[i], !ft.rank, 5, put + i * 20000, 20000, &out[i]);
	ft_wait_all(in, N);
	ft_wait_all(out, N);
	for (uint64_t i = 0; i < N; i++)
		ft_verify(got + i * 20000, 20000, i, 20000 * (i + 1 == N));
	for (uint64_t i = 0; i < N; i++)
		ft_close(&ep[i]);
	free(got);
	free(put);
}

/* Clients that come and go, one server. */

static void multi_client(void)
{
	enum { CLIENTS = 10, N = 5 };
	struct ft_ep server, client;
	struct ft_op op;
	uint64_t word;

	if (ft.rank == 0)
		ft_open(&server, &(struct ft_conf){.lonely = true});
	else
		ft.eps++; /* endpoint 0 is the server's alone */
	ft_barrier_idle();
	for (uint64_t c = 0; c < CLIENTS; c++) {
		fi_addr_t to = FI_ADDR_UNSPEC;

		if (ft.rank == 1) {
			ft_open(&client, &(struct ft_conf){.lonely = true});
			ft.sh->word[30] = (uint64_t)client.index;
			CHECK_EQ(fi_av_insert(client.av, ft.sh->rank[0].name[0], 1, &to, 0, NULL),
				 1);
		}
		ft_barrier();
		if (ft.rank == 0)
			CHECK_EQ(fi_av_insert(server.av, ft.sh->rank[1].name[ft.sh->word[30]], 1,
					      &to, 0, NULL),
				 1);
		for (uint64_t i = 0; i < N; i++) {
			struct ft_ep *ep = ft.rank ? &client : &server;

			word = ft.rank ? c * N + i : ~0ull;
			for (int dir = 1; dir >= 0; dir--) { /* there and back */
				if (ft.rank == dir)
					POST(fi_tsend(ep->ep, &word, 8, NULL, to, i,
						      ft_fresh(&op)));
				else
					POST(fi_trecv(ep->ep, &word, 8, NULL, FI_ADDR_UNSPEC, i, 0,
						      ft_fresh(&op)));
				ft_wait(&op);
				CHECK_EQ(word, c * N + i);
			}
		}
		ft_barrier();
		if (ft.rank == 0)
			OK(fi_av_remove(server.av, &to, 1, 0));
		ft_close_part(ft.rank ? &client : NULL);
	}
	ft_barrier();
	ft_close_part(ft.rank ? NULL : &server);
}

/* Every rank writes to and reads from every other. */

static void multinode_rma(void)
{
	enum { LEN = 10000 };
	struct ft_window w;
	struct ft_op op[FT_MAX_RANKS];

	ft_open_window(&w, (struct ft_conf){0});
	for (int i = 0; i < ft.n; i++) {
		char *at = w.buf + i * LEN;

		ft_fill(at, LEN, (uint64_t)(ft.rank * 8 + i));
		POST(fi_write(w.ep.ep, at, LEN, NULL, w.ep.peer[i],
			      w.addrs[i] + (uint64_t)ft.rank * LEN, w.keys[i], ft_fresh(&op[i])));
	}
	ft_wait_all(op, ft.n);
	ft_barrier();
	for (int i = 0; i < ft.n; i++) {
		ft_guard(w.buf, LEN);
		POST(fi_read(w.ep.ep, w.buf, LEN, NULL, w.ep.peer[i],
			     w.addrs[i] + (uint64_t)ft.rank * LEN, w.keys[i], ft_fresh(&op[0])));
		ft_wait(&op[0]);
		ft_verify(w.buf, LEN, (uint64_t)(ft.rank * 8 + i), LEN);
		ft_verify(w.target + i * LEN, LEN, (uint64_t)(i * 8 + ft.rank), 0 * LEN);
	}
	ft_close_window(&w);
}

const struct ft_case ft_cases_rows[] = {
	{"objects", 1, 20, objects},
	{"info_echo", 1, 20, info_echo},
	{"multi_domain", 2, 20, multi_domain},
	{"multi_client", 2, 30, multi_client},
	{"multinode_rma", 4, 20, multinode_rma},
	{0},
};
