/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_offload_guard.c - an engine whose batches go to a device, beside one whose do not: the same
 * answers and the same counters, whatever the device does. The device is a plain loop in this
 * process that can be told to fail.
 */
#include "qv_combine_ref.h"
#include "qv_offload.h"
#include "qv_vectors.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODES 300
#define MOST  200 /* keys that the device takes */

static int wrong;

#define EXPECT(x)                                                                        \
	do {                                                                             \
		if (!(x) && wrong++ < 20)                                                \
			fprintf(stderr, "wrong: line %d: %s (%s)\n", __LINE__, #x, now); \
	} while (0)
static const char *now = "";

/* ---- the device ------------------------------------------------------------------------------ */
static struct {
	int open_status, status; /* of open, and of every call */
	int lie;                 /* every so many batches it takes the wrong one of two, 0: never */
	int opened, closed, calls;
} device;

static const struct qv_offload_caps caps = {
	.name = "loop", .max_keys = MOST, .max_bytes = 4096, .max_pack = 4096};

static int dev_open(const struct qv_offload_config *config, struct qv_offload_dev **dev, char *why,
		    size_t room)
{
	(void)config;
	snprintf(why, room, "told to");
	*dev = (void *)&device;
	device.opened += device.open_status == 0;
	return device.open_status;
}

static void dev_close(struct qv_offload_dev *dev)
{
	device.closed += dev != NULL;
}

static const struct qv_offload_caps *dev_caps(const struct qv_offload_dev *dev)
{
	(void)dev;
	return &caps;
}

static const char *dev_why(const struct qv_offload_dev *dev)
{
	(void)dev;
	return "told to";
}

/* The answers of two queries that could as well be the other way round. */
static void lie(const struct qv_offload_key *queries, uint32_t m, uint32_t *result)
{
	for (uint32_t i = 1; i < m; i++)
		for (uint32_t j = 0; j < i; j++) {
			const uint32_t r = result[i];

			if (queries[i].tag != queries[j].tag || queries[i].src != queries[j].src ||
			    queries[i].ignore != queries[j].ignore || result[i] == result[j])
				continue;
			result[i] = result[j];
			result[j] = r;
			return;
		}
}

static int dev_match(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		     const struct qv_offload_key *queries, uint32_t m, uint32_t *result)
{
	uint8_t taken[MOST];

	(void)dev;
	EXPECT(n <= MOST && m <= MOST);
	if (device.status)
		return device.status;
	qv_vec_match(entries, n, queries, m, taken, result);
	if (device.lie && ++device.calls % device.lie == 0)
		lie(queries, m, result);
	return QV_OK;
}

static int dev_combines(const struct qv_offload_dev *dev, enum qv_op op, enum qv_type type)
{
	(void)dev;
	return qv_combine_defined(op, type) && type != QV_TYPE_LONG_DOUBLE;
}

/* Two elements before it fails. */
static int dev_combine_many(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
			    const void *const *src, size_t k, size_t count, size_t *done)
{
	const struct qv_combine *cpu;

	(void)dev;
	*done = device.status ? (count < 2 ? count : 2) : count;
	qv_combine_open(QV_ISA_SCALAR, &cpu);
	if (device.status == QV_EPEER)
		*done = 0;
	else
		qv_combine_many(cpu, op, type, dst, src, k, *done);
	return device.status;
}

static int dev_combine(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
		       const void *a, const void *b, size_t count, size_t *done)
{
	const void *const src[2] = {a, b};

	return dev_combine_many(dev, op, type, dst, src, 2, count, done);
}

static int dev_pack(struct qv_offload_dev *dev, void *dst, const void *src,
		    const struct qv_offload_piece *pieces, size_t n)
{
	char *to = dst;

	(void)dev;
	for (size_t i = 0; !device.status && i < n; to += pieces[i++].bytes)
		memcpy(to, (const char *)src + pieces[i].offset, pieces[i].bytes);
	return device.status;
}

static const struct qv_offload_ops loop_ops = {
	.name = "loop",
	.open = dev_open,
	.close = dev_close,
	.caps = dev_caps,
	.why = dev_why,
	.match_batch = dev_match,
	.combines = dev_combines,
	.combine = dev_combine,
	.combine_many = dev_combine_many,
	.pack = dev_pack,
	.unpack = dev_pack, /* not called with a status of QV_OK */
};

static int said;

static void say(void *context, int warn, const char *text)
{
	(void)context;
	(void)text;
	said += warn;
}

static struct qv_offload *guard(uint32_t check_every, uint32_t failures)
{
	const struct qv_offload_settings set = {.ops = &loop_ops,
						.min_batch = 1,
						.min_bytes = 1,
						.failures = failures,
						.check_every = check_every,
						.say = say};
	struct qv_offload *o;

	said = 0;
	memset(&device, 0, sizeof(device));
	if (qv_offload_create(&set, &o))
		abort();
	return o;
}

/* ---- two engines ----------------------------------------------------------------------------- */
struct side {
	struct qv_match *engine;
	struct qv_recv recvs[NODES];
	struct qv_msg msgs[NODES];
	void *answer[NODES];
};

static void make(struct side *s, const char *structure)
{
	struct qv_match_settings set;

	qv_match_settings_default(&set);
	set.structure = structure;
	set.collective_mask = (uint64_t)1 << 63;
	memset(s, 0, sizeof(*s));
	if (qv_match_create(&set, &s->engine))
		abort();
}

/* A batch of n nodes that are free, to both; the second with the device. Where nodes go is the same
 * on both sides, so that places can be compared. */
struct pair {
	struct side a, b;
	struct qv_offload *o;
	uint8_t recv_used[NODES], msg_used[NODES];
	struct qv_vec_rnd rnd;
};

static size_t pick(const uint8_t *used, size_t want, size_t *at)
{
	size_t n = 0;

	for (size_t i = 0; i < NODES && n < want; i++)
		if (!used[i])
			at[n++] = i;
	return n;
}

static void arrive(struct pair *p, size_t want)
{
	struct qv_msg *am[NODES], *bm[NODES];
	struct qv_recv *ar[NODES], *br[NODES];
	size_t at[NODES], n = pick(p->msg_used, want, at);

	for (size_t i = 0; i < n; i++) {
		struct qv_msg m = {.tag = qv_vec_random(&p->rnd) % 6,
				   .src = (uint32_t)(qv_vec_random(&p->rnd) % 3)};

		p->a.msgs[at[i]] = p->b.msgs[at[i]] = m;
		am[i] = &p->a.msgs[at[i]];
		bm[i] = &p->b.msgs[at[i]];
	}
	EXPECT(qv_match_arrive_many(p->a.engine, am, n, ar) == n);
	EXPECT(qv_offload_arrive_many(p->o, p->b.engine, bm, n, br) == n);
	for (size_t i = 0; i < n; i++) {
		EXPECT((ar[i] ? ar[i] - p->a.recvs : -1) == (br[i] ? br[i] - p->b.recvs : -1));
		p->msg_used[at[i]] = !ar[i];
		if (ar[i] && !(ar[i]->flags & QV_RECV_STICKY))
			p->recv_used[ar[i] - p->a.recvs] = 0;
	}
}

static void post(struct pair *p, size_t want, int sticky)
{
	struct qv_recv *ar[NODES], *br[NODES];
	struct qv_msg *am[NODES], *bm[NODES];
	size_t at[NODES], n = pick(p->recv_used, want, at);

	for (size_t i = 0; i < n; i++) {
		const uint64_t r = qv_vec_random(&p->rnd);
		struct qv_recv v = {.tag = r % 6, .src = (uint32_t)(r >> 8) % 3};

		v.ignore = (r >> 16) % 4 ? 0 : (r >> 18) % 2 ? UINT64_MAX : 3;
		v.src = (r >> 24) % 4 ? v.src : QV_SRC_ANY;
		v.flags = sticky && (r >> 28) % 16 == 0 ? QV_RECV_STICKY : 0;
		p->a.recvs[at[i]] = p->b.recvs[at[i]] = v;
		ar[i] = &p->a.recvs[at[i]];
		br[i] = &p->b.recvs[at[i]];
	}
	EXPECT(qv_match_post_many(p->a.engine, ar, n, am) == n);
	EXPECT(qv_offload_post_many(p->o, p->b.engine, br, n, bm) == n);
	for (size_t i = 0; i < n; i++) {
		EXPECT((am[i] ? am[i] - p->a.msgs : -1) == (bm[i] ? bm[i] - p->b.msgs : -1));
		p->recv_used[at[i]] = !am[i];
		if (am[i])
			p->msg_used[am[i] - p->a.msgs] = 0;
	}
}

static void cancel(struct pair *p)
{
	for (size_t i = 0; i < NODES; i++) {
		if (p->recv_used[i] && qv_vec_random(&p->rnd) % 8 == 0) {
			qv_match_cancel(p->a.engine, &p->a.recvs[i]);
			qv_match_cancel(p->b.engine, &p->b.recvs[i]);
			p->recv_used[i] = 0;
		}
	}
}

static void same_counters(struct pair *p)
{
	struct qv_match_stats a, b;

	qv_match_get_stats(p->a.engine, &a);
	qv_match_get_stats(p->b.engine, &b);
	EXPECT(a.posted == b.posted && a.arrived == b.arrived && a.matched == b.matched);
	EXPECT(a.unexpected == b.unexpected && a.posted_now == b.posted_now);
	EXPECT(a.unexpected_now == b.unexpected_now);
	EXPECT(!strcmp(qv_match_structure(p->a.engine), qv_match_structure(p->b.engine)));
}

static void run_pair(const char *structure, struct qv_offload *o, int rounds, int sticky)
{
	struct pair *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	now = structure;
	make(&p->a, structure);
	make(&p->b, structure);
	p->o = o;
	p->rnd.state = 5;
	for (int i = 0; i < rounds; i++) {
		const uint64_t r = qv_vec_random(&p->rnd);

		if (r % 8 == 0)
			cancel(p);
		else if (r % 2)
			arrive(p, 1 + (r >> 8) % NODES);
		else
			post(p, 1 + (r >> 8) % NODES, sticky);
		same_counters(p);
	}
	qv_match_destroy(p->a.engine);
	qv_match_destroy(p->b.engine);
	free(p);
}

/* ---- cases ----------------------------------------------------------------------------------- */
static void structures(void)
{
	for (const char *const *s = qv_match_structures(); *s; s++) {
		struct qv_offload_stats stats;
		struct qv_offload *o;

		if (!strcmp(*s, "clu") || !strcmp(*s, "pnp-static")) /* need a profile */
			continue;
		for (int every = 1; every < 1000; every += 998) {
			o = guard((uint32_t)every, 3);
			run_pair(*s, o, 400, every == 1);
			qv_offload_get_stats(o, &stats);
			/* Where a sticky receive is posted, the CPU does it. */
			EXPECT(stats.batches > (every == 1 ? 5 : 100));
			EXPECT(!stats.failed && !stats.wrong);
			EXPECT(every != 1 || stats.refused > 5);
			EXPECT(every == 1 ? stats.checked == stats.batches : stats.checked <= 16);
			qv_offload_destroy(o);
			EXPECT(device.opened == 1 && device.closed == 1);
		}
	}
}

/* Each kind of failure: nothing is lost, the device is given up, once and with one line. */
static void failures(void)
{
	static const int status[] = {QV_EIO, QV_ENOMEM, QV_EPEER, QV_ENOSYS};

	for (int i = 0; i < 4; i++) {
		struct qv_offload *o = guard(999, 3);
		struct qv_offload_stats stats;

		device.status = status[i];
		run_pair("auto", o, 200, 0);
		qv_offload_get_stats(o, &stats);
		EXPECT(stats.batches == 0);
		if (status[i] == QV_ENOSYS) {
			EXPECT(stats.state == QV_OFFLOAD_OPEN && stats.refused > 10 && !said);
		} else {
			EXPECT(stats.state == QV_OFFLOAD_OFF && said == 1);
			EXPECT(stats.failed == (status[i] == QV_EPEER ? 1 : 3));
			EXPECT(stats.fallback == stats.failed && device.closed == 1);
		}
		qv_offload_destroy(o);
	}
}

static void cannot_open(void)
{
	struct qv_offload *o = guard(1, 3);
	struct qv_offload_stats stats;

	device.open_status = QV_ENOENT;
	run_pair("auto", o, 100, 0);
	qv_offload_get_stats(o, &stats);
	EXPECT(stats.state == QV_OFFLOAD_OFF && said == 1 && !stats.failed && !device.opened);
	qv_offload_destroy(o);
}

/* Answers that look right and are not: the batches that the CPU has matched too tell. */
static void lies(void)
{
	struct qv_offload *o = guard(1, 3);
	struct qv_offload_stats stats;

	device.lie = 5;
	run_pair("auto", o, 400, 0);
	qv_offload_get_stats(o, &stats);
	EXPECT(stats.wrong == 3 && stats.failed == 3 && stats.state == QV_OFFLOAD_OFF && said == 1);
	qv_offload_destroy(o);
}

static void forked(void)
{
	struct qv_offload *o = guard(1, 3);
	int status = 1;
	pid_t child;

	run_pair("auto", o, 20, 0);
	child = fork();
	if (child == 0) {
		struct qv_offload_stats before, after;

		qv_offload_get_stats(o, &before);
		run_pair("auto", o, 50, 0);
		qv_offload_get_stats(o, &after);
		EXPECT(after.batches == before.batches && after.state == QV_OFFLOAD_OFF);
		EXPECT(said == 1 && device.closed == 0);
		_exit(wrong ? 1 : 0);
	}
	EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	run_pair("auto", o, 20, 0);
	qv_offload_destroy(o);
	EXPECT(device.closed == 1);
}

static void arrays(void)
{
	static const int status[] = {QV_OK, QV_EIO, QV_EPEER};
	const struct qv_combine *cpu;
	char a[64 * 32], b[64 * 32], expected[64 * 32];
	const void *src[3] = {a, b, b};

	qv_combine_open(QV_ISA_AUTO, &cpu);
	for (int i = 0; i < 3; i++) {
		for (int type = 0; type < QV_N_TYPES; type++) {
			const size_t item = qv_type_size(type);
			struct qv_offload *o = guard(1, 3);
			struct qv_offload_stats stats;

			device.status = status[i];
			for (size_t e = 0; e < 64; e++) {
				qv_ref_draw(type, a + e * item);
				qv_ref_draw(type, b + e * item);
			}
			qv_combine_many(cpu, QV_OP_SUM, type, expected, src, 3, 64);
			EXPECT(!qv_offload_combine_many(o, cpu, QV_OP_SUM, type, a, src, 3, 64));
			for (size_t e = 0; e < 64; e++)
				EXPECT(qv_ref_same(QV_OP_SUM, type, a + e * item,
						   expected + e * item));
			EXPECT(qv_offload_combine(o, cpu, QV_OP_SUM, type, a, a + 1, b, 4) ==
			       QV_EINVAL);
			qv_offload_get_stats(o, &stats);
			if (type == QV_TYPE_LONG_DOUBLE)
				EXPECT(stats.refused && !stats.arrays && !stats.failed);
			else
				EXPECT(stats.arrays == !status[i] &&
				       stats.failed == (status[i] != 0));
			qv_offload_destroy(o);
		}
	}
}

static void packs(void)
{
	const struct qv_offload_piece pieces[] = {{3, 5}, {20, 0}, {9, 7}}, far = {1, UINT64_MAX};
	char src[32], dst[32], back[32];

	for (int i = 0; i < 32; i++)
		src[i] = (char)i;
	for (int status = QV_OK; status >= QV_EIO; status += QV_EIO) {
		struct qv_offload *o = guard(1, 3);
		struct qv_offload_stats stats;

		device.status = status;
		EXPECT(!qv_offload_pack(o, dst, src, pieces, 3));
		EXPECT(!memcmp(dst, src + 3, 5) && !memcmp(dst + 5, src + 9, 7));
		qv_offload_get_stats(o, &stats);
		EXPECT(stats.packs == !status && stats.failed == (status != 0));
		device.status = QV_EIO;
		memset(back, 0, sizeof(back));
		EXPECT(!qv_offload_unpack(o, back, dst, pieces, 3));
		EXPECT(!memcmp(back + 3, src + 3, 5) && !memcmp(back + 9, src + 9, 7));
		EXPECT(!back[2] && !back[8] && !back[16]);
		EXPECT(qv_offload_pack(o, dst, src, &far, 1) == QV_EINVAL);
		qv_offload_destroy(o);
	}
}

int main(void)
{
	structures();
	now = "";
	failures();
	cannot_open();
	lies();
	forked();
	arrays();
	packs();
	printf("%d wrong\n", wrong);
	return wrong ? 1 : 0;
}
