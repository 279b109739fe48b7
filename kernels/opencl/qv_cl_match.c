/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_cl_match.c - match_batch: keys to the device, one of three ways, the answer looked at. */
#include "qv_cl.h"

#include <stdlib.h>
#include <string.h>

/* One launch by one work-group pays up to so many comparisons. */
#define SMALL_WORK 65536u
#define SMALL_KEYS 1024u
/* Below, chains of drops are short whatever the keys. */
#define BITS_MIN 256u
/* The bit matrix may take so much memory. */
#define BITS_BYTES ((size_t)512 << 20)

#define KEY_BYTES (3 * sizeof(uint64_t))

/* A work-group on a CPU is one thread, so that a large one only makes its barriers dearer. The
 * sizes are constants: PoCL compiles a kernel anew for each. */
#define CPU_GROUP 16
#define BITS_ROW  8

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

int qv_cl_match_open(struct qv_offload_dev *dev)
{
	size_t group[2] = {0, 0};
	int err = qv_cl_build(dev, qv_cl_text_match, "-cl-std=CL1.2", &dev->match);

	if (!err)
		err = qv_cl_kernel_of(dev, dev->match, "match_small", &dev->small,
				      &dev->small_group);
	if (!err)
		err = qv_cl_kernel_of(dev, dev->match, "match_begin", &dev->begin, NULL);
	if (!err)
		err = qv_cl_kernel_of(dev, dev->match, "match_propose", &dev->propose, &group[0]);
	if (!err)
		err = qv_cl_kernel_of(dev, dev->match, "match_settle", &dev->settle, &group[1]);
	if (!err)
		err = qv_cl_kernel_of(dev, dev->match, "match_bits", &dev->fill_bits, NULL);
	if (!err)
		err = qv_cl_kernel_of(dev, dev->match, "match_resolve", &dev->resolve,
				      &dev->resolve_group);
	dev->group = least(least(group[0], group[1]), 64);
	if (dev->caps.is_cpu) {
		dev->small_group = least(dev->small_group, CPU_GROUP);
		dev->resolve_group = least(dev->resolve_group, CPU_GROUP);
	}
	return err;
}

void qv_cl_match_close(struct qv_offload_dev *dev)
{
	const qv_cl_kernel kernels[] = {dev->small,  dev->begin,     dev->propose,
					dev->settle, dev->fill_bits, dev->resolve};

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (kernels[i])
			dev->cl.ReleaseKernel(kernels[i]);
	if (dev->match)
		dev->cl.ReleaseProgram(dev->match);
}

/* ---- which way ------------------------------------------------------------------------------- */
static uint32_t hash(const struct qv_offload_key *k)
{
	uint64_t x = (k->tag ^ k->ignore * 3) * 0x9e3779b97f4a7c15u ^ k->src * 0xc2b2ae3d27d4eb4fu;

	return (uint32_t)(x >> 32 ^ x >> 9);
}

static bool same(const struct qv_offload_key *a, const struct qv_offload_key *b)
{
	return a->tag == b->tag && a->ignore == b->ignore && a->src == b->src;
}

/* Whether at least half of the queries are like an earlier one. table: room for `slots` indexes, a
 * power of two above m. */
static bool crowded(const struct qv_offload_key *queries, uint32_t m, uint32_t *table,
		    uint32_t slots)
{
	uint32_t alike = 0;

	memset(table, 0xff, slots * sizeof(*table));
	for (uint32_t i = 0; i < m; i++) {
		uint32_t at = hash(&queries[i]) & (slots - 1);

		while (table[at] != QV_OFFLOAD_NONE && !same(&queries[table[at]], &queries[i]))
			at = (at + 1) & (slots - 1);
		if (table[at] == QV_OFFLOAD_NONE)
			table[at] = i;
		else
			alike++;
	}
	return alike >= m / 2;
}

static size_t bits_bytes(uint32_t n, uint32_t m)
{
	return (size_t)((n + 31) / 32) * m * 4;
}

static bool fits_small(const struct qv_offload_dev *dev, uint32_t n)
{
	return n * sizeof(uint32_t) + 64 <= dev->local_bytes && n <= SMALL_KEYS;
}

static bool fits_bits(const struct qv_offload_dev *dev, uint32_t n, uint32_t m)
{
	const size_t bytes = bits_bytes(n, m);

	return bytes <= BITS_BYTES && bytes <= dev->alloc_bytes &&
	       (n + 31) / 32 * sizeof(uint32_t) + 64 <= dev->local_bytes;
}

static enum qv_opencl_way choose(const struct qv_offload_dev *dev,
				 const struct qv_offload_key *queries, uint32_t n, uint32_t m)
{
	uint32_t *table, slots = 512;
	bool many = false;

	if (dev->force == QV_OPENCL_BITS && fits_bits(dev, n, m))
		return QV_OPENCL_BITS;
	if (dev->force == QV_OPENCL_SMALL && fits_small(dev, n))
		return QV_OPENCL_SMALL;
	if (dev->force != QV_OPENCL_AUTO)
		return QV_OPENCL_LARGE;
	if (fits_small(dev, n) && (uint64_t)n * m <= SMALL_WORK)
		return QV_OPENCL_SMALL;
	if (m < BITS_MIN || n < BITS_MIN || !fits_bits(dev, n, m))
		return QV_OPENCL_LARGE;
	while (slots < 2 * m)
		slots *= 2;
	table = malloc(slots * sizeof(*table));
	if (table)
		many = crowded(queries, m, table, slots);
	free(table);
	return many ? QV_OPENCL_BITS : QV_OPENCL_LARGE;
}

/* ---- the ways -------------------------------------------------------------------------------- */
static int go_small(struct qv_offload_dev *dev, struct qv_cl_slot *s, uint32_t n, uint32_t m)
{
	const struct qv_cl_arg args[] = {
		QV_CL_ARG(s->in.mem), QV_CL_ARG(s->out.mem), QV_CL_ARG(n),
		QV_CL_ARG(m),         QV_CL_ARG(dev->nonce), QV_CL_LOCAL(n * sizeof(uint32_t)),
	};
	const size_t global[2] = {dev->small_group, 1};
	const int err = qv_cl_args(dev, dev->small, args, 6);

	dev->ways.small++;
	return err ? err : qv_cl_launch(dev, s, dev->small, global, dev->small_group);
}

static int go_large(struct qv_offload_dev *dev, struct qv_cl_slot *s, uint32_t n, uint32_t m)
{
	const struct qv_cl_arg begin[] = {QV_CL_ARG(s->out.mem), QV_CL_ARG(s->work.mem),
					  QV_CL_ARG(n), QV_CL_ARG(m), QV_CL_ARG(dev->nonce)};
	const struct qv_cl_arg propose[] = {QV_CL_ARG(s->in.mem), QV_CL_ARG(s->work.mem),
					    QV_CL_ARG(n), QV_CL_ARG(m)};
	const struct qv_cl_arg settle[] = {QV_CL_ARG(s->work.mem), QV_CL_ARG(s->out.mem),
					   QV_CL_ARG(n), QV_CL_ARG(m)};
	const size_t most[2] = {n > m ? n : m, 1}, queries[2] = {m, 1}, entries[2] = {n, 1};
	int err = qv_cl_args(dev, dev->begin, begin, 5);

	dev->ways.large++;
	if (!err)
		err = qv_cl_launch(dev, s, dev->begin, most, dev->group);
	if (!err)
		err = qv_cl_args(dev, dev->propose, propose, 4);
	if (!err)
		err = qv_cl_launch(dev, s, dev->propose, queries, dev->group);
	if (!err)
		err = qv_cl_args(dev, dev->settle, settle, 4);
	return err ? err : qv_cl_launch(dev, s, dev->settle, entries, dev->group);
}

static int go_bits(struct qv_offload_dev *dev, struct qv_cl_slot *s, uint32_t n, uint32_t m)
{
	const uint32_t words = (n + 31) / 32;
	const struct qv_cl_arg fill[] = {QV_CL_ARG(s->in.mem), QV_CL_ARG(s->bits.mem), QV_CL_ARG(n),
					 QV_CL_ARG(m)};
	const struct qv_cl_arg resolve[] = {
		QV_CL_ARG(s->bits.mem), QV_CL_ARG(s->out.mem),
		QV_CL_ARG(n),           QV_CL_ARG(m),
		QV_CL_ARG(dev->nonce),  QV_CL_LOCAL(words * sizeof(uint32_t)),
	};
	const size_t all[2] = {words, m};
	const size_t one[2] = {dev->resolve_group, 1};
	int err = qv_cl_args(dev, dev->fill_bits, fill, 4);

	dev->ways.bits++;
	if (!err)
		err = qv_cl_launch(dev, s, dev->fill_bits, all, least(dev->group, BITS_ROW));
	if (!err)
		err = qv_cl_args(dev, dev->resolve, resolve, 6);
	return err ? err : qv_cl_launch(dev, s, dev->resolve, one, dev->resolve_group);
}

/* ---- keys, answers --------------------------------------------------------------------------- */
/* As match.cl wants them: tag, compared bits, source with its compared bits above. */
static void put_keys(uint64_t *to, const struct qv_offload_key *keys, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		to[3 * i] = keys[i].tag;
		to[3 * i + 1] = ~keys[i].ignore;
		to[3 * i + 2] =
			keys[i].src == QV_SRC_ANY ? 0 : (uint64_t)UINT32_MAX << 32 | keys[i].src;
	}
}

/* As in match.cl. */
static uint32_t seal_of(uint32_t query, uint32_t entry)
{
	uint32_t x = query * 0x9e3779b1u ^ (entry + 0x7f4a7c15u) * 0x85ebca77u;

	x = (x ^ x >> 15) * 0x2c1b3c6du;
	return x ^ x >> 13;
}

static bool accepts(const struct qv_offload_key *e, const struct qv_offload_key *q)
{
	return ((e->tag ^ q->tag) & ~(e->ignore | q->ignore)) == 0 &&
	       (e->src == q->src || e->src == QV_SRC_ANY || q->src == QV_SRC_ANY);
}

/* What can be seen without matching again: each pair accepts, no entry is taken twice, the seal
 * fits. taken: room for a bit per entry, zeroed. */
static int look(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		const struct qv_offload_key *queries, uint32_t m, const uint32_t *out,
		uint8_t *taken)
{
	uint32_t seal = dev->nonce;

	for (uint32_t q = 0; q < m; q++) {
		const uint32_t e = out[q];

		if (e == QV_OFFLOAD_NONE)
			continue;
		if (e >= n || taken[e / 8] >> e % 8 & 1 || !accepts(&entries[e], &queries[q]))
			return qv_cl_wrong(dev, QV_EIO, "a wrong answer: query %u takes entry %u",
					   q, e);
		taken[e / 8] |= (uint8_t)(1u << e % 8);
		seal += seal_of(q, e);
	}
	if (seal != out[m])
		return qv_cl_wrong(dev, QV_EIO, "a wrong answer: its seal does not fit");
	return QV_OK;
}

static int prepare(struct qv_offload_dev *dev, struct qv_cl_slot *s, enum qv_opencl_way way,
		   uint32_t n, uint32_t m)
{
	int err = qv_cl_room(dev, &s->in, (n + m) * KEY_BYTES);

	if (!err)
		err = qv_cl_room(dev, &s->out, (m + 1) * sizeof(uint32_t));
	if (!err && way == QV_OPENCL_LARGE)
		err = qv_cl_room(dev, &s->work, n * sizeof(uint32_t));
	if (!err && way == QV_OPENCL_BITS)
		err = qv_cl_room(dev, &s->bits, bits_bytes(n, m));
	return err ? err
		   : qv_cl_host_room(dev, s,
				     (n + m) * KEY_BYTES + (m + 1) * sizeof(uint32_t) +
					     (n + 7) / 8);
}

int qv_cl_match_batch(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		      const struct qv_offload_key *queries, uint32_t m, uint32_t *result)
{
	struct qv_cl_slot *s = &dev->slot[0];
	enum qv_opencl_way way;
	uint64_t *keys;
	uint32_t *out;
	uint8_t *taken;
	int err, waited;

	dev->kernel_ns = 0;
	if (!n || !m || n > QV_CL_MAX_KEYS || m > QV_CL_MAX_KEYS)
		return qv_cl_wrong(dev, QV_EINVAL, "%u entries and %u queries", n, m);
	if (dev->lost)
		return QV_EPEER;
	way = choose(dev, queries, n, m);
	err = prepare(dev, s, way, n, m);
	if (err)
		return err;
	keys = s->host;
	out = (uint32_t *)(keys + (size_t)3 * (n + m));
	taken = (uint8_t *)(out + m + 1);
	put_keys(keys, entries, n);
	put_keys(keys + (size_t)3 * n, queries, m);
	memset(taken, 0, (n + 7) / 8);
	dev->nonce = dev->nonce * 1664525u + 1013904223u;
	out[m] = ~dev->nonce; /* fits no answer */
	err = qv_cl_write(dev, s, s->in.mem, 0, keys, (n + m) * KEY_BYTES);
	if (!err)
		err = way == QV_OPENCL_SMALL  ? go_small(dev, s, n, m)
		      : way == QV_OPENCL_BITS ? go_bits(dev, s, n, m)
					      : go_large(dev, s, n, m);
	if (!err)
		err = qv_cl_read(dev, s, s->out.mem, out, (m + 1) * sizeof(uint32_t));
	waited = qv_cl_wait(dev, s);
	if (!err)
		err = waited;
	if (!err)
		err = look(dev, entries, n, queries, m, out, taken);
	if (!err)
		memcpy(result, out, m * sizeof(*result));
	return err;
}
