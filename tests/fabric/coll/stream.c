/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - streams of tiny items between members of a group, by fi_open_ops. */
#include "tests/fabric/harness/ft.h"
#include "coll.h"

#include <signal.h>

#include <quiver/fi_stream.h>

enum { MOST = 8, ITEMS = 400, LONGEST = 40, FEW = LONGEST / 8, TO_MANY = 1000, SENT_ON };

static struct qv_fi_stream_ops *ops;

static void open_ep(struct ft_ep *ep, struct fid_mc **mc)
{
	void *found = NULL;

	if (!ft.quiver)
		ft_skip("an extension of quiver");
	ft_open(ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	CHECK_EQ(-fi_open_ops(&ep->ep->fid, "quiver_stream/0", 0, &found, NULL), FI_ENOSYS);
	OK(fi_open_ops(&ep->ep->fid, QV_FI_OPS_STREAM, 0, &found, NULL));
	ops = found;
	CHECK_EQ(ops->size, sizeof(struct qv_fi_stream_ops));
	*mc = ft_join(ep, (1u << ft.n) - 1);
}

/* Items. */

struct item {
	uint32_t number; /* from 0 on, of its sender for its receiver; to many: of receivers */
	uint32_t
		answer; /* which is to be sent back, in so many steps; or TO_MANY, SENT_ON: by ring or tree */
	union {
		unsigned char more[LONGEST];
		struct {
			uint32_t rank, number;
		} each[FEW]; /* to many */
	};
};

struct end {
	struct qv_fi_stream *stream;
	uint32_t sent[MOST], come[MOST], answered;
	uint32_t passed[MOST], received[MOST]; /* by ring and tree */
	unsigned int multicasts;
};

static size_t length(uint32_t number)
{
	return 8 + number * 7 % (LONGEST + 1);
}

/* -FI_EAGAIN, or sent. */
static int send_to(struct end *e, uint32_t to, uint32_t answer)
{
	struct item item = {.number = e->sent[to]++, .answer = answer};
	int rc;

	memset(item.more, (int)(item.number + 3), sizeof(item.more));
	rc = (item.number % 50 == 7 ? ops->insert_urgent : ops->insert)(e->stream, to, &item,
									length(item.number));
	if (rc == -FI_EAGAIN)
		e->sent[to]--;
	else
		OK(rc);
	return rc;
}

/* To some at once; whom, and which item it is for each, is said in it. -FI_EAGAIN, or sent. */
static int send_to_many(struct end *e, uint32_t first, uint32_t step)
{
	const enum qv_section by = (enum qv_section)(e->multicasts++ % QV_N_SECTIONS);
	struct item item = {.answer = by ? SENT_ON : TO_MANY};
	uint32_t *const sent = by ? e->passed : e->sent;
	uint32_t to[FEW] = {0}, n = 0;
	int rc;

	for (uint32_t r = first; r < (uint32_t)ft.n && n < FEW; r += step) {
		item.each[n].rank = r;
		item.each[n].number = sent[r]++;
		to[n++] = r;
	}
	item.number = n;
	rc = ops->multicast(e->stream, by, to, n, &item, 8 + 8 * n);
	for (uint32_t i = 0; i < n && rc; i++)
		sent[to[i]]--;
	if (rc != -FI_EAGAIN)
		OK(rc);
	return rc;
}

/* An item that has come to many: its number for this rank. */
static uint32_t find(const struct item *item, size_t bytes)
{
	CHECK(item->number <= FEW);
	CHECK_EQ(bytes, 8 + 8 * item->number);
	for (uint32_t i = 0; i < item->number; i++)
		if (item->each[i].rank == (uint32_t)ft.rank)
			return item->each[i].number;
	ft_fail("rank %d is none of its receivers", ft.rank);
}

static void judge_one(const struct item *item, size_t bytes)
{
	CHECK_EQ(bytes, length(item->number));
	for (size_t i = 0; i < bytes - 8; i++)
		CHECK_EQ(item->more[i], (unsigned char)(item->number + 3));
}

static void judge(void *user, uint32_t from, const void *data, size_t bytes)
{
	struct end *e = user;
	uint32_t *come = e->come;
	struct item item;

	CHECK(from < (uint32_t)ft.n);
	CHECK(bytes >= 8 && bytes <= sizeof(item));
	memcpy(&item, data, bytes);
	if (item.answer == SENT_ON)
		come = e->received;
	if (item.answer >= TO_MANY)
		item = (struct item){.number = find(&item, bytes)};
	else
		judge_one(&item, bytes);
	CHECK_EQ(item.number, come[from]++);
	CHECK_EQ(-ops->progress(e->stream), FI_EINVAL);
	CHECK_EQ(-ops->fence(e->stream), FI_EINVAL);
	CHECK_EQ(-ops->close(e->stream), FI_EINVAL);
	if (item.answer) {
		OK(send_to(e, from, item.answer - 1)); /* never has to wait */
		OK(send_to_many(e, from, 2));
		e->answered++;
	}
}

static void open_end(struct end *e, struct ft_ep *ep, struct fid_mc *mc, enum qv_way way)
{
	const struct qv_stream_spec spec = {.way = way, .items = 20, .limit = 512, .window = 4};

	memset(e, 0, sizeof(*e));
	OK(ops->open(&ep->ep->fid,
		     &(struct qv_fi_stream_call){
			     .group = fi_mc_addr(mc), .spec = &spec, .item = judge, .user = e},
		     &e->stream));
}

/* Others may still insert into the other one. */
static void fence(struct end *e, struct end *other)
{
	int rc;

	while ((rc = ops->fence(e->stream)) == -FI_EAGAIN) {
		if (other)
			ops->progress(other->stream);
		sched_yield();
	}
	OK(rc);
}

static void close_end(struct end *e)
{
	int rc;

	while ((rc = ops->close(e->stream)) == -FI_EAGAIN)
		sched_yield();
	OK(rc);
}

/* What all ranks have sent here: some to each, each third answered twice. */
static void check(const struct end *e)
{
	struct qv_stream_stats stats;
	uint64_t sent = 0, come = 0;

	ops->stats(e->stream, &stats);
	for (int r = 0; r < ft.n; r++) {
		sent += e->sent[r] + e->passed[r];
		come += e->come[r] + e->received[r];
		CHECK(e->come[r] >= ITEMS);
	}
	CHECK_EQ(stats.inserted, sent);
	CHECK_EQ(stats.delivered, come);
	CHECK(e->answered);
}

/* Members tell each other how many they have sent. */
static void compare(struct ft_ep *ep, fi_addr_t group, uint32_t *sent, const uint32_t *come)
{
	uint32_t told[MOST];
	struct ft_op op;

	POST(fi_alltoall(ep->ep, sent, 1, NULL, told, NULL, group, FI_UINT32, 0, ft_fresh(&op)));
	ft_wait(&op);
	for (int r = 0; r < ft.n; r++)
		CHECK_EQ(come[r], told[r]);
}

static void progress_both(const struct end *ends)
{
	ops->progress(ends[0].stream);
	ops->progress(ends[1].stream);
}

/* The i-th item to each, and one to some at once. */
static void send_all(struct end *ends, uint32_t i)
{
	const uint32_t n = (uint32_t)ft.n;

	for (int k = 0; k < 2; k++) {
		for (uint32_t r = 0; r < n; r++)
			while (send_to(&ends[k], r, i % 3 ? 0 : 2))
				progress_both(ends);
		while (send_to_many(&ends[k], i % n, 1 + i % 2))
			progress_both(ends);
	}
}

/* All ways, two streams at once, and collectives meanwhile. */
static void items(void)
{
	static const enum qv_way ways[] = {QV_WAY_DIRECT, QV_WAY_MESH2, QV_WAY_MESH3,
					   QV_WAY_HYPERCUBE};
	struct end ends[2];
	struct fid_mc *mc;
	struct ft_ep ep;
	struct ft_op op;

	open_ep(&ep, &mc);
	for (int turn = 0; turn < 4; turn++) {
		for (int k = 0; k < 2; k++)
			open_end(&ends[k], &ep, mc, ways[(turn + k) % 4]);
		CHECK_EQ(-fi_close(&mc->fid), FI_EBUSY);
		POST(fi_barrier(ep.ep, fi_mc_addr(mc), ft_fresh(&op)));
		for (uint32_t i = 0; i < ITEMS; i++)
			send_all(ends, i);
		ft_wait(&op);
		for (int k = 0; k < 2; k++) {
			fence(&ends[k], &ends[!k]);
			check(&ends[k]);
		}
		for (int k = 0; k < 2; k++) {
			compare(&ep, fi_mc_addr(mc), ends[k].sent, ends[k].come);
			compare(&ep, fi_mc_addr(mc), ends[k].passed, ends[k].received);
			close_end(&ends[k]);
		}
	}
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* The numbers of operations come round; an open stream keeps its own. */
static void wrap(void)
{
	struct fid_mc *mc;
	struct ft_ep ep;
	struct ft_op op;
	struct end e;

	open_ep(&ep, &mc);
	open_end(&e, &ep, mc, QV_WAY_DIRECT);
	for (int i = 0; i < 65536 + 20; i++) {
		POST(fi_barrier(ep.ep, fi_mc_addr(mc), ft_fresh(&op)));
		ft_wait(&op);
	}
	OK(send_to(&e, (uint32_t)(1 - ft.rank), 0));
	fence(&e, NULL);
	CHECK_EQ(e.come[1 - ft.rank], 1);
	close_end(&e);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* What goes wrong. */

static void errors(void)
{
	struct qv_stream_spec spec = {.limit = 128};
	struct qv_fi_stream_call call = {.spec = &spec, .item = judge};
	struct qv_fi_stream *stream = NULL;
	static const char much[128];
	struct fid_mc *mc;
	struct ft_ep ep;
	struct end e;

	open_ep(&ep, &mc);
	CHECK_EQ(-ops->open(&ep.ep->fid, &call, &stream), FI_EINVAL); /* no group */
	call.group = fi_mc_addr(mc);
	CHECK_EQ(-ops->open(&ep.av->fid, &call, &stream), FI_EINVAL);
	spec.way = QV_WAY_CRYSTAL;
	CHECK_EQ(-ops->open(&ep.ep->fid, &call, &stream), FI_EINVAL);
	spec.way = QV_WAY_DIRECT;
	call.item = NULL;
	CHECK_EQ(-ops->open(&ep.ep->fid, &call, &stream), FI_EINVAL);
	CHECK(!stream);
	OK(ops->close(NULL));
	open_end(&e, &ep, mc, QV_WAY_DIRECT);
	CHECK_EQ(-ops->insert(e.stream, (uint32_t)ft.n, much, 1), FI_EINVAL);
	CHECK_EQ(-ops->insert(e.stream, 0, NULL, 1), FI_EINVAL);
	CHECK_EQ(-ops->insert_urgent(e.stream, 0, much, 512), FI_EMSGSIZE);
	CHECK_EQ(-ops->multicast(e.stream, QV_SECTION_WAY, (uint32_t[]){1, 0}, 2, much, 1),
		 FI_EINVAL);
	CHECK_EQ(-ops->multicast(e.stream, QV_N_SECTIONS, (uint32_t[]){0}, 1, much, 1), FI_EINVAL);
	CHECK_EQ(-ops->multicast(e.stream, QV_SECTION_WAY, (uint32_t[]){0, (uint32_t)ft.n}, 2, much,
				 1),
		 FI_EINVAL);
	CHECK_EQ(-ops->multicast(e.stream, QV_SECTION_WAY, (uint32_t[]){0, 1}, 2, much, 512),
		 FI_EMSGSIZE);
	ft_barrier();
	CHECK_EQ(-ops->fence(e.stream), FI_EAGAIN);
	CHECK_EQ(-ops->insert(e.stream, 0, much, 1), FI_EAGAIN); /* a fence is on */
	CHECK_EQ(-ops->multicast(e.stream, QV_SECTION_WAY, (uint32_t[]){0, 1}, 2, much, 1),
		 FI_EAGAIN);
	fence(&e, NULL);
	close_end(&e);
	/* One that outlives its endpoint. */
	open_end(&e, &ep, mc, QV_WAY_DIRECT);
	ft_barrier();
	ft_close(&ep);
	CHECK_EQ(-ops->insert(e.stream, 0, much, 1), FI_ECANCELED);
	CHECK_EQ(-ops->multicast(e.stream, QV_SECTION_WAY, (uint32_t[]){0, 1}, 2, much, 1),
		 FI_ECANCELED);
	CHECK_EQ(-ops->progress(e.stream), FI_ECANCELED);
	close_end(&e);
	OK(fi_close(&mc->fid));
}

/* A member dies: the others are told, though they have nothing for it. */
static void killed(void)
{
	const int victim = ft.n - 1;
	struct fid_mc *mc;
	struct ft_ep ep;
	struct end e;
	int rc;

	open_ep(&ep, &mc);
	open_end(&e, &ep, mc, QV_WAY_DIRECT);
	ft_barrier();
	if (ft.rank == victim) {
		ft.sh->rank[victim].may_die = true;
		ft.sh->members = (uint32_t)victim;
		raise(SIGKILL);
	}
	do /* they send it nothing */
		rc = ops->progress(e.stream);
	while (!rc || rc == -FI_EAGAIN);
	CHECK(rc == -FI_ECONNABORTED || rc == -FI_EIO);
	CHECK_EQ(ops->insert(e.stream, 0, &rc, sizeof(rc)), rc);
	close_end(&e);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

const struct ft_case ft_cases_stream[] = {
	{"stream_items", 4, 40, items},
	{"stream_five", 5, 40, items},
	{"stream_alone", 1, 20, items},
	{"stream_wrap", 2, 60, wrap},
	{"stream_errors", 2, 20, errors},
	{"stream_kill", 4, 30, killed},
	{NULL, 0, 0, NULL},
};
