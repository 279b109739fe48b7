/* SPDX-License-Identifier: BSD-2-Clause */
/* device.c - batches on a device against their answers. */
#include "kernels/opencl/hash.h"
#include "device.h"

#include <stdlib.h>
#include <string.h>

const struct qv_offload_ops *qv_device_ops = &qv_opencl_ops;
#define ops qv_device_ops

/* OpenCL goes one of several ways. */
static void force(struct qv_offload_dev *dev, enum qv_opencl_way way)
{
	if (ops == &qv_opencl_ops)
		qv_opencl_force(dev, way);
}

struct qv_offload_dev *qv_device_open(const struct qv_offload_config *config)
{
	struct qv_offload_dev *dev;
	struct qv_offload_caps caps;
	char why[512] = "";

	if (ops->probe(config, &caps, why, sizeof(why)) == QV_ENOENT) {
		printf("skipped: %s\n", why);
		exit(77);
	}
	if (ops->open(config, &dev, why, sizeof(why))) {
		fprintf(stderr, "the device cannot be opened: %s\n", why);
		exit(1);
	}
	printf("device: %s (%s)\n", ops->caps(dev)->name, ops->caps(dev)->version);
	return dev;
}

int qv_device_match(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		    const struct qv_offload_key *queries, uint32_t m, const uint32_t *expected,
		    const char *what)
{
	uint32_t *result = malloc((m + 1) * sizeof(*result));
	uint32_t q = 0;
	int err;

	if (!result)
		abort();
	result[m] = 0x12345678;
	err = ops->match_batch(dev, entries, n, queries, m, result);
	if (err)
		fprintf(stderr, "wrong: %s, %u x %u: %s\n", what, n, m, ops->why(dev));
	while (!err && q < m && result[q] == expected[q])
		q++;
	if (!err && q < m)
		fprintf(stderr, "wrong: %s, %u x %u: query %u takes %d, not %d\n", what, n, m, q,
			(int)result[q], (int)expected[q]);
	if (result[m] != 0x12345678) {
		fprintf(stderr, "wrong: %s, %u x %u: written behind the result\n", what, n, m);
		err = -1;
	}
	free(result);
	return err || q < m;
}

int qv_device_corpus_match(struct qv_offload_dev *dev, const char *file)
{
	static const char *const names[] = {"corpus", "corpus, small", "corpus, large",
					    "corpus, bits", "corpus, index"};
	const int last = ops == &qv_opencl_ops ? QV_OPENCL_INDEX : QV_OPENCL_AUTO;
	struct qv_opencl_ways ways = {0, 0, 0, 0, 0};
	struct qv_vec_match v;
	struct qv_vectors all;
	int wrong = 0;

	if (qv_vec_open(&all, file))
		exit(1);
	while (qv_vec_next_match(&all, &v)) {
		for (int way = QV_OPENCL_AUTO; way <= last; way++) {
			force(dev, way);
			wrong += qv_device_match(dev, v.entries, v.n, v.queries, v.m, v.result,
						 names[way]);
		}
	}
	force(dev, QV_OPENCL_AUTO);
	if (last != QV_OPENCL_AUTO)
		qv_opencl_count(dev, &ways);
	printf("match: %u batches of the corpus, %llu small, %llu large, %llu bits, %llu index (%llu "
	       "gave up): %d wrong\n",
	       all.matches, (unsigned long long)ways.small, (unsigned long long)ways.large,
	       (unsigned long long)ways.bits, (unsigned long long)ways.index,
	       (unsigned long long)ways.again, wrong);
	qv_vec_close(&all);
	if (last != QV_OPENCL_AUTO && (!ways.small || !ways.large || !ways.bits || !ways.index)) {
		fprintf(stderr, "wrong: a way was never gone\n");
		wrong++;
	}
	return wrong;
}

int qv_device_random(struct qv_offload_dev *dev, long batches, uint32_t limit, uint64_t seed)
{
	struct qv_offload_key *entries = malloc(limit * sizeof(*entries));
	struct qv_offload_key *queries = malloc(limit * sizeof(*queries));
	uint32_t *expected = malloc(limit * sizeof(*expected));
	uint8_t *taken = malloc(limit);
	struct qv_vec_rnd rnd = {seed};
	int wrong = 0;

	if (!entries || !queries || !expected || !taken)
		abort();
	for (long i = 0; i < batches && wrong < 10; i++) {
		const uint64_t r = qv_vec_random(&rnd);
		const uint32_t n = 1 + (uint32_t)(r % limit);
		const uint32_t m = 1 + (uint32_t)((r >> 20) % limit);

		qv_vec_draw(&rnd, (r >> 40) % QV_VEC_KINDS, entries, n, queries, m);
		qv_vec_match(entries, n, queries, m, taken, expected);
		force(dev, (r >> 50) % QV_OPENCL_WAYS);
		wrong += qv_device_match(dev, entries, n, queries, m, expected, "random");
	}
	force(dev, QV_OPENCL_AUTO);
	printf("match: %ld random batches of up to %u keys a side, seed %llu: %d wrong\n", batches,
	       limit, (unsigned long long)seed, wrong);
	free(entries);
	free(queries);
	free(expected);
	free(taken);
	return wrong;
}

/* Flood. */

#define FLOOD 2000 /* keys; their table has 4096 chains */

/* How many batches of these keys were given up by the index. */
static uint64_t gave_up(struct qv_offload_dev *dev, const struct qv_offload_key *keys, int *wrong,
			uint64_t *indexed)
{
	struct qv_opencl_ways before, after;
	uint32_t expected[FLOOD];

	for (uint32_t i = 0; i < FLOOD; i++)
		expected[i] = i;
	qv_opencl_count(dev, &before);
	*wrong += qv_device_match(dev, keys, FLOOD, keys, FLOOD, expected, "flood");
	qv_opencl_count(dev, &after);
	*indexed = after.index - before.index;
	return after.again - before.again;
}

int qv_device_flood(struct qv_offload_dev *dev)
{
	static const uint64_t known[2] = {0x123456789abcdef1u, 0xfedcba9876543217u};
	static const uint64_t other[2] = {0x0f1e2d3c4b5a6977u, 0x8796a5b4c3d2e1f5u};
	static struct qv_offload_key keys[FLOOD];
	uint64_t indexed;
	int wrong = 0;

	for (uint64_t tag = 0, n = 0; n < FLOOD; tag++)
		if (qv_cl_hash(known, tag, 1) >> (64 - 12) == 0)
			keys[n++] = (struct qv_offload_key){.tag = tag, .src = 1};
	/* The secret of this device, which nobody knows. */
	wrong += gave_up(dev, keys, &wrong, &indexed) != 0 || indexed != 1;
	qv_opencl_secret(dev, other);
	wrong += gave_up(dev, keys, &wrong, &indexed) != 0 || indexed != 1;
	/* In one chain: right all the same. Then none is tried, for 1 batch, for 2. */
	qv_opencl_secret(dev, known);
	wrong += gave_up(dev, keys, &wrong, &indexed) != 1 || indexed != 1;
	for (int i = 1; i < 3; i++) {
		for (int batch = 0; batch < i; batch++)
			wrong += gave_up(dev, keys, &wrong, &indexed) != 0 || indexed != 0;
		wrong += gave_up(dev, keys, &wrong, &indexed) != 1 || indexed != 1;
	}
	printf("flood: %d keys in one chain, and spread by a secret: %d wrong\n", FLOOD, wrong);
	return wrong;
}
