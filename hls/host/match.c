/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.c - match_batch: the oldest entries to the card with all queries, the answer looked
 * at; queries that find nothing there go on in the other entries, here.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES, QUERIES, OUT };

static void put_keys(struct qv_hls_key *to, const struct qv_offload_key *keys, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (struct qv_hls_key){
			.tag = keys[i].tag,
			.care = ~keys[i].ignore,
			.src = keys[i].src,
			.src_care = keys[i].src == QV_SRC_ANY ? 0 : UINT32_MAX,
		};
}

/* Room for a word per entry. */
static int make_room(struct qv_offload_dev *dev, uint32_t n)
{
	uint32_t *next;

	if (n <= dev->next_room)
		return QV_OK;
	next = realloc(dev->next, n * sizeof(*next));
	if (!next)
		return qv_backend_wrong(dev, QV_ENOMEM, "no memory for %u entries", n);
	dev->next = next;
	dev->next_room = n;
	return QV_OK;
}

/* The answer. */

/* What it must add up to beside the pairs: that the card has seen these keys and no others. */
static uint32_t prints(const struct qv_offload_dev *dev, uint32_t n, uint32_t m)
{
	const struct qv_hls_key *entries = dev->batch.bo[ENTRIES].map;
	const struct qv_hls_key *queries = dev->batch.bo[QUERIES].map;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += qv_hls_print(&entries[i], i);
	for (uint32_t i = 0; i < m; i++)
		sum += qv_hls_print(&queries[i], dev->depth + i);
	return sum;
}

/* What can be seen without matching again. n: entries that the card has. */
static int look(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		const struct qv_offload_key *queries, uint32_t m, const uint32_t *out)
{
	if (out[m + QV_HLS_MATCH_VERSION] != QV_HLS_VERSION)
		return qv_backend_wrong(dev, QV_EIO, "a wrong answer: it has another version (%#x)",
					out[m + QV_HLS_MATCH_VERSION]);
	return qv_backend_look(dev, entries, n, queries, m, out,
			       dev->batch.nonce + prints(dev, n, m), (uint8_t *)dev->next);
}

/* Queries that have found nothing look at entries first .. n, in order. What is taken there is
 * left out of a list, so that nobody looks at it again. */
static void go_on(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t first,
		  uint32_t n, const struct qv_offload_key *queries, uint32_t m, uint32_t *result)
{
	uint32_t head = first;

	for (uint32_t i = first; i < n; i++)
		dev->next[i] = i + 1;
	for (uint32_t q = 0; q < m && head < n; q++) {
		uint32_t *link = &head;

		if (result[q] != QV_OFFLOAD_NONE)
			continue;
		while (*link < n && !qv_backend_accepts(&entries[*link], &queries[q]))
			link = &dev->next[*link];
		if (*link < n) {
			result[q] = *link;
			*link = dev->next[*link];
		}
	}
}

/* A batch. */

static int prepare(struct qv_offload_dev *dev, uint32_t held, uint32_t n, uint32_t m)
{
	struct qv_xrt_slot *s = &dev->batch;
	int err = make_room(dev, n);

	if (!err)
		err = qv_xrt_room(dev, s, ENTRIES, held * sizeof(struct qv_hls_key));
	if (!err)
		err = qv_xrt_room(dev, s, QUERIES, m * sizeof(struct qv_hls_key));
	if (!err)
		err = qv_xrt_room(dev, s, OUT, (m + QV_HLS_MATCH_WORDS) * sizeof(uint32_t));
	return err;
}

static int run(struct qv_offload_dev *dev, uint32_t held, uint32_t m)
{
	struct qv_xrt_slot *s = &dev->batch;
	const uint32_t number[3] = {held, m, s->nonce = qv_backend_nonce(dev)};
	int err = qv_xrt_sync(dev, s, ENTRIES, QV_XRT_TO_DEVICE, held * sizeof(struct qv_hls_key));

	if (!err)
		err = qv_xrt_sync(dev, s, QUERIES, QV_XRT_TO_DEVICE, m * sizeof(struct qv_hls_key));
	if (!err)
		err = qv_xrt_start(dev, s, number);
	if (!err)
		err = qv_xrt_wait(dev, s);
	if (!err)
		err = qv_xrt_sync(dev, s, OUT, QV_XRT_FROM_DEVICE,
				  (m + QV_HLS_MATCH_WORDS) * sizeof(uint32_t));
	return err;
}

int qv_xrt_match_batch(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		       const struct qv_offload_key *queries, uint32_t m, uint32_t *result)
{
	const uint32_t held = n < dev->depth ? n : dev->depth;
	const uint32_t *out;
	int err;

	err = qv_backend_batch(dev, n, m);
	if (!err)
		err = prepare(dev, held, n, m);
	if (err)
		return err;
	put_keys(dev->batch.bo[ENTRIES].map, entries, held);
	put_keys(dev->batch.bo[QUERIES].map, queries, m);
	err = run(dev, held, m);
	out = dev->batch.bo[OUT].map;
	if (!err)
		err = look(dev, entries, held, queries, m, out);
	if (err)
		return err;
	memcpy(result, out, m * sizeof(*result));
	go_on(dev, entries, held, n, queries, m, result);
	return QV_OK;
}
