/* SPDX-License-Identifier: BSD-2-Clause */
/* bad.c - wrong calls get an error at once, and the endpoint works afterwards. */
#include "tests/fabric/harness/ft.h"

#define REFUSED(call)                                                  \
	do {                                                           \
		FT_HERE();                                             \
		long ret_ = (long)(call);                              \
		if (ret_ >= 0 || ret_ == -FI_EAGAIN)                   \
			ft_fail("%s: %ld, not an error", #call, ret_); \
	} while (0)
#define REFUSED_FLAGS(call)                                                       \
	do {                                                                      \
		FT_HERE();                                                        \
		long ret_ = (long)(call);                                         \
		if (ret_ != -FI_EBADFLAGS && ret_ != -FI_EINVAL)                  \
			ft_fail("%s: %ld, not EBADFLAGS or EINVAL", #call, ret_); \
	} while (0)

static uint64_t word = 1;
static struct iovec one = {&word, 8};

/* After each batch of nonsense: the endpoint still works, and nothing else has completed. */
static void still_works(struct ft_ep *ep)
{
	struct ft_op rx, tx;
	uint64_t in = 0;

	ft_trecv(ep, FT_ANY, 7, 0, &in, 8, &rx);
	ft_tsend(ep, ft.rank, 7, &word, 8, &tx);
	ft_wait(&rx);
	ft_wait(&tx);
	CHECK_EQ(in, word);
	ft_recv(ep, FT_ANY, &in, 8, &rx);
	ft_send(ep, ft.rank, &word, 8, &tx);
	ft_wait(&rx);
	ft_wait(&tx);
}

static void bad_flags(void)
{
	struct ft_ep ep;
	struct ft_op op = {0};

	ft_open(&ep, &(struct ft_conf){0});
	struct fi_msg_tagged t = {
		.msg_iov = &one, .iov_count = 1, .addr = ep.peer[0], .context = &op};
	struct fi_msg m = {.msg_iov = &one, .iov_count = 1, .addr = ep.peer[0], .context = &op};

	REFUSED_FLAGS(fi_tsendmsg(ep.ep, &t, 1ull << 62));
	REFUSED_FLAGS(fi_sendmsg(ep.ep, &m, 1ull << 62));
	REFUSED_FLAGS(fi_trecvmsg(ep.ep, &t, 1ull << 62));
	REFUSED_FLAGS(fi_recvmsg(ep.ep, &m, 1ull << 62));
	REFUSED_FLAGS(fi_trecvmsg(ep.ep, &t, FI_DISCARD)); /* only with peek or claim */
	REFUSED_FLAGS(fi_tsendmsg(ep.ep, &t, FI_PEEK));
	REFUSED_FLAGS(fi_tsendmsg(ep.ep, &t, FI_MULTI_RECV));
	REFUSED_FLAGS(fi_trecvmsg(ep.ep, &t, FI_MULTI_RECV));
	if (ft.quiver) /* some take it; the manual gives it to tagged receives only */
		REFUSED_FLAGS(fi_recvmsg(ep.ep, &m, FI_PEEK));
	CHECK_EQ(op.done, 0);
	still_works(&ep);
	ft_close(&ep);
}

static void bad_sizes(void)
{
	struct iovec many[64];
	struct ft_ep ep;
	struct ft_op op = {0};
	char *buf;

	ft_open(&ep, &(struct ft_conf){0});
	size_t inject = ep.info->tx_attr->inject_size, limit = ep.info->tx_attr->iov_limit;
	size_t rlimit = ep.info->rx_attr->iov_limit, max = ep.info->ep_attr->max_msg_size;
	fi_addr_t to = ep.peer[0];

	for (int i = 0; i < 64; i++)
		many[i] = one;
	buf = ft_buf(inject + 1);
	REFUSED(fi_tinject(ep.ep, buf, inject + 1, to, 1));
	REFUSED(fi_inject(ep.ep, buf, inject + 1, to));
	REFUSED(fi_tinjectdata(ep.ep, buf, inject + 1, 1, to, 1));
	REFUSED(fi_injectdata(ep.ep, buf, inject + 1, 1, to));
	struct ft_msg big = {.tagged = true, .addr = to, .buf = buf, .len = inject + 1};

	REFUSED(ft_send_as(&ep, FT_SENDMSG_INJECT, &big, &op));
	CHECK(limit < 64 && rlimit < 64);
	REFUSED(fi_tsendv(ep.ep, many, NULL, limit + 1, to, 1, &op));
	REFUSED(fi_sendv(ep.ep, many, NULL, limit + 1, to, &op));
	REFUSED(fi_trecvv(ep.ep, many, NULL, rlimit + 1, to, 1, 0, &op));
	REFUSED(fi_recvv(ep.ep, many, NULL, rlimit + 1, to, &op));
	if (max < SIZE_MAX) { /* never touched: the length alone is too much */
		REFUSED(fi_tsend(ep.ep, buf, max + 1, NULL, to, 1, &op));
		REFUSED(fi_send(ep.ep, buf, max + 1, NULL, to, &op));
	}
	CHECK_EQ(op.done, 0);
	still_works(&ep);
	free(buf);
	ft_close(&ep);
}

static void bad_address(void)
{
	struct ft_ep ep;
	struct ft_op op = {0};

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	REFUSED(fi_tsend(ep.ep, &word, 8, NULL, 1234, 1, &op));
	REFUSED(fi_send(ep.ep, &word, 8, NULL, FI_ADDR_UNSPEC, &op));
	REFUSED(fi_inject(ep.ep, &word, 8, 1234));
	REFUSED(fi_trecv(ep.ep, &word, 8, NULL, 1234, 1, 0, &op));
	CHECK_EQ(op.done, 0);
	still_works(&ep);
	ft_close(&ep);
}

/* A claim of nothing. */
static void bad_claim(void)
{
	struct ft_ep ep;
	struct ft_op op = {0};

	ft_open(&ep, &(struct ft_conf){0});
	struct fi_msg_tagged t = {
		.msg_iov = &one, .iov_count = 1, .addr = ep.peer[0], .context = &op};

	REFUSED(fi_trecvmsg(ep.ep, &t, FI_CLAIM));
	REFUSED(fi_trecvmsg(ep.ep, &t, FI_CLAIM | FI_DISCARD));
	t.context = NULL;
	REFUSED(fi_trecvmsg(ep.ep, &t, FI_CLAIM));
	CHECK_EQ(op.done, 0);
	still_works(&ep);
	ft_close(&ep);
}

/* Counters for nothing that is counted, or of another domain, are not bound: they close. */
static void bad_counters(struct ft_ep *ep, struct fid_ep *e, struct ft_ep *other)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
	struct fid_cntr *cntr, *theirs;

	if (!ft.quiver)
		return;
	OK(fi_cntr_open(ep->domain, &attr, &cntr, NULL));
	OK(fi_cntr_open(other->domain, &attr, &theirs, NULL));
	CHECK_EQ(-fi_ep_bind(e, &cntr->fid, 0), FI_EBADFLAGS);
	CHECK_EQ(-fi_ep_bind(e, &cntr->fid, FI_SEND | FI_SELECTIVE_COMPLETION), FI_EBADFLAGS);
	CHECK_EQ(-fi_ep_bind(e, &theirs->fid, FI_SEND), FI_EINVAL);
	OK(fi_close(&theirs->fid));
	OK(fi_close(&cntr->fid));
}

/* Objects bound where they do not belong; endpoints enabled without what they need. */
static void bad_binding(void)
{
	struct ft_ep ep, other;
	struct fid_ep *e;

	ft_open(&ep, &(struct ft_conf){0});
	ft_needs_room(&ep);
	ft_open_domain(&other, &(struct ft_conf){0});
	OK(fi_endpoint(ep.domain, ep.info, &e, NULL));
	REFUSED(fi_ep_bind(e, &ep.fabric->fid, 0));
	REFUSED(fi_ep_bind(e, &ep.domain->fid, 0));
	REFUSED(fi_ep_bind(e, &ep.ep->fid, 0));
	REFUSED(fi_ep_bind(e, &other.rx_cq->fid, FI_TRANSMIT | FI_RECV)); /* another domain's */
	REFUSED(fi_ep_bind(e, &other.av->fid, 0));
	REFUSED_FLAGS(fi_ep_bind(e, &ep.rx_cq->fid, 1ull << 62));
	bad_counters(&ep, e, &other);
	REFUSED(fi_enable(e)); /* nothing bound */
	REFUSED(fi_tsend(e, &word, 8, NULL, 0, 1, NULL));
	OK(fi_ep_bind(e, &ep.av->fid, 0));
	CHECK_EQ(-fi_enable(e), FI_ENOCQ);
	OK(fi_ep_bind(e, &ep.rx_cq->fid, FI_TRANSMIT));
	CHECK_EQ(-fi_enable(e), FI_ENOCQ); /* half of it */
	OK(fi_close(&e->fid));
	OK(fi_endpoint(ep.domain, ep.info, &e, NULL));
	OK(fi_ep_bind(e, &ep.rx_cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_EQ(-fi_enable(e), FI_ENOAV);
	OK(fi_ep_bind(e, &ep.av->fid, 0));
	OK(fi_enable(e));
	REFUSED(fi_ep_bind(e, &ep.rx_cq->fid, FI_TRANSMIT | FI_RECV)); /* too late */
	OK(fi_close(&e->fid));
	still_works(&ep);
	OK(fi_close(&other.rx_cq->fid));
	OK(fi_close(&other.av->fid));
	OK(fi_close(&other.domain->fid));
	OK(fi_close(&other.fabric->fid));
	fi_freeinfo(other.info);
	ft_close(&ep);
}

static void bad_options(void)
{
	struct ft_ep ep;
	size_t value = 5, len = sizeof(value);
	struct fi_cq_attr attr = {.format = (enum fi_cq_format)77};
	struct fid_cq *cq;
	char bytes[3];

	ft_open(&ep, &(struct ft_conf){0});
	REFUSED(fi_setopt(&ep.ep->fid, FI_OPT_ENDPOINT, 9999, &value, len));
	REFUSED(fi_setopt(&ep.ep->fid, 77, FI_OPT_MIN_MULTI_RECV, &value, len));
	REFUSED(fi_getopt(&ep.ep->fid, FI_OPT_ENDPOINT, 9999, &value, &len));
	REFUSED(fi_setopt(&ep.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, bytes, 3));
	REFUSED(fi_cq_open(ep.domain, &attr, &cq, NULL));
	len = 1; /* says how long the address is */
	REFUSED(fi_getname(&ep.ep->fid, bytes, &len));
	CHECK_EQ(len, ft.sh->rank[0].namelen[0]);
	still_works(&ep);
	ft_close(&ep);
}

static void set_p2p(struct ft_ep *ep, int want, int status)
{
	CHECK_EQ(-fi_setopt(&ep->ep->fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &want, sizeof(want)),
		 status);
}

/* What endpoints of this kind have of options, read and written. */
static void options(void)
{
	struct ft_ep ep;
	size_t value = 77, len = 3;
	int p2p = 99;

	if (!ft.quiver)
		ft_skip("other providers have other options");
	ft_open(&ep, &(struct ft_conf){0});
	struct fid *fid = &ep.ep->fid;

	CHECK_EQ(-fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len),
		 FI_ETOOSMALL);
	CHECK(len == sizeof(value) && value == 77);
	OK(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, len));
	value = 0;
	OK(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len));
	CHECK_EQ(value, 77);
	OK(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, &len));
	CHECK_EQ(value, 0);
	REFUSED(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, len));
	REFUSED(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_BUFFERED_LIMIT, &value, &len));
	len = sizeof(p2p);
	OK(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, &len));
	CHECK_EQ(p2p, FI_HMEM_P2P_DISABLED);
	set_p2p(&ep, FI_HMEM_P2P_ENABLED, 0);
	set_p2p(&ep, FI_HMEM_P2P_PREFERRED, 0);
	set_p2p(&ep, FI_HMEM_P2P_DISABLED, 0);
	set_p2p(&ep, FI_HMEM_P2P_REQUIRED, FI_EOPNOTSUPP);
	set_p2p(&ep, 1234, FI_EINVAL);
	REFUSED(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, 1));
	still_works(&ep);
	ft_close(&ep);
}

/* Who asks for what there is not is told what there is. */
static void scalable(void)
{
	struct fid_ep *sep = NULL;
	struct ft_ep ep;
	FILE *said;

	if (!ft.quiver)
		ft_skip("others have them");
	unsetenv("FI_LOG_LEVEL");
	ft_open(&ep, &(struct ft_conf){0});
	CHECK_EQ(ep.info->domain_attr->max_ep_tx_ctx, 1);
	CHECK_EQ(ep.info->domain_attr->max_ep_rx_ctx, 1);
	said = ft_catch_stderr();
	for (int i = 0; i < 2; i++)
		CHECK_EQ(-fi_scalable_ep(ep.domain, ep.info, &sep, NULL), FI_ENOSYS);
	CHECK_EQ(ft_lines_with(said, "", ""), 1);
	CHECK_EQ(ft_lines_with(said, "quiver: scalable endpoints", "open several"), 1);
	still_works(&ep);
	ft_close(&ep);
}

/* So are triggered operations; who has named nothing but quiver sees why the program ends. */
static void triggered(void)
{
	const int told = !strcmp(ft.prov, "quiver");
	struct fi_info *hints, *info = NULL;
	FILE *said;

	if (!ft.quiver)
		ft_skip("others have them");
	unsetenv("FI_LOG_LEVEL");
	hints = ft_hints(&(struct ft_conf){.caps = FI_TRIGGER});
	said = ft_catch_stderr();
	for (int i = 0; i < 2; i++)
		CHECK_EQ(-ft_getinfo(hints, &info), FI_ENODATA);
	CHECK_EQ(ft_lines_with(said, "", ""), told);
	CHECK_EQ(ft_lines_with(said, "FI_TRIGGER", "not offered"), told);
	fi_freeinfo(hints);
}

const struct ft_case ft_cases_bad[] = {
	{"bad_flags", 1, 20, bad_flags},     {"bad_sizes", 1, 20, bad_sizes},
	{"bad_address", 1, 20, bad_address}, {"bad_claim", 1, 20, bad_claim},
	{"bad_binding", 1, 20, bad_binding}, {"bad_options", 1, 20, bad_options},
	{"options", 1, 20, options},         {"triggered", 1, 20, triggered},
	{"scalable", 1, 20, scalable},       {0},
};
