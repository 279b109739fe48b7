/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - match_batch: keys to the device, one of four ways, the answer looked at. */
#include "internal.h"

#include <string.h>

#define KEY_BYTES (3 * sizeof(uint64_t))

/* Keys, answers. */

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

/* A batch. */

/* Where its parts lie in the host's memory. */
struct places {
	uint64_t *keys; /* entries, queries, masks */
	uint32_t *out;  /* m answers, the seal, whether the index did not serve */
	uint8_t *taken;
};

static size_t keys_bytes(const struct qv_cl_batch *b)
{
	return ((size_t)b->n + b->m) * KEY_BYTES + b->kinds * 2 * sizeof(uint64_t);
}

static int prepare(struct qv_offload_dev *dev, struct qv_cl_slot *s, enum qv_opencl_way way,
		   const struct qv_cl_batch *b)
{
	int err = qv_cl_room(dev, &s->out, (b->m + 2) * sizeof(uint32_t));

	if (!err && (way == QV_OPENCL_LARGE || way == QV_OPENCL_INDEX))
		err = qv_cl_room(dev, &s->work, b->n * sizeof(uint32_t));
	if (!err && way == QV_OPENCL_BITS)
		err = qv_cl_room(dev, &s->bits, qv_cl_bits_bytes(b->n, b->m));
	if (!err && way == QV_OPENCL_INDEX)
		err = qv_cl_room(dev, &s->bits, qv_cl_table_bytes(b));
	return err;
}

/* The keys, to the device; where they and its answers are here. */
static int send(struct qv_offload_dev *dev, struct qv_cl_slot *s, const struct qv_cl_batch *b,
		struct places *at)
{
	const size_t answers = (b->m + 2) * sizeof(uint32_t);
	int err = qv_cl_host_room(dev, s, keys_bytes(b) + answers + (b->n + 7) / 8);

	if (!err)
		err = qv_cl_room(dev, &s->in, keys_bytes(b));
	if (err)
		return err;
	at->keys = s->host;
	at->out = (uint32_t *)((char *)s->host + keys_bytes(b));
	at->taken = (uint8_t *)(at->out + b->m + 2);
	put_keys(at->keys, b->entries, b->n);
	put_keys(at->keys + (size_t)3 * b->n, b->queries, b->m);
	memcpy(at->keys + (size_t)3 * (b->n + b->m), b->masks, b->kinds * 2 * sizeof(uint64_t));
	return qv_cl_write(dev, s, s->in.mem, 0, at->keys, keys_bytes(b));
}

/* One way, and its answers back. */
static int ask(struct qv_offload_dev *dev, struct qv_cl_slot *s, enum qv_opencl_way way,
	       const struct qv_cl_batch *b, uint32_t *out)
{
	const size_t words = b->m + (way == QV_OPENCL_INDEX ? 2 : 1);
	int err = prepare(dev, s, way, b);

	out[b->m] = ~qv_backend_nonce(dev); /* fits no answer */
	if (!err)
		err = qv_cl_go(dev, s, way, b);
	if (!err)
		err = qv_cl_read(dev, s, s->out.mem, out, words * sizeof(uint32_t));
	return qv_cl_finish(dev, s, err);
}

int qv_cl_match_batch(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		      const struct qv_offload_key *queries, uint32_t m, uint32_t *result)
{
	struct qv_cl_batch b = {.entries = entries, .queries = queries, .n = n, .m = m};
	struct qv_cl_slot *s = &dev->slot[0];
	enum qv_opencl_way way;
	struct places at;
	int err;

	err = qv_backend_batch(dev, n, m);
	if (err)
		return err;
	way = qv_cl_choose(dev, &b);
	err = send(dev, s, &b, &at);
	if (!err)
		err = ask(dev, s, way, &b, at.out);
	if (!err && way == QV_OPENCL_INDEX) {
		if (at.out[m + 1]) {
			dev->ways.again++;
			err = ask(dev, s, qv_cl_choose_again(dev, &b), &b, at.out);
		} else {
			dev->unindexed_next = 0;
		}
	}
	if (!err)
		err = qv_backend_look(dev, entries, n, queries, m, at.out, dev->head.nonce,
				      at.taken);
	if (!err)
		memcpy(result, at.out, m * sizeof(*result));
	return err;
}
