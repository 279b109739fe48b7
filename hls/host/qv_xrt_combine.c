/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_xrt_combine.c - combine on the card, a chunk at a time through two slots: while one chunk is
 * computed, the next is on its way there or the last on its way back. Of more than two arrays the
 * result comes back each time and is the left one of the next run.
 *
 * A result is looked at before the caller's array is written: some elements of each chunk are
 * computed on the CPU as well.
 */
#include "hls/qv_hls_kind.h"
#include "kernels/samples/qv_samples.h"
#include "qv_xrt_i.h"

#include <string.h>

#define BEAT sizeof(struct qv_hls_beat)

enum { LEFT, RIGHT, OUT };

int qv_xrt_combines(const struct qv_offload_dev *dev, enum qv_op op, enum qv_type type)
{
	const int kind = qv_hls_kind(op, type);

	if (kind < 0)
		return 0;
	if (!((unsigned)kind & QV_HLS_REAL) || (op != QV_OP_SUM && op != QV_OP_PROD))
		return 1;
	return (unsigned)kind == (QV_HLS_REAL | 2) ? dev->float_ok : dev->double_ok;
}

/* A call. */

struct job {
	struct qv_offload_dev *dev;
	struct qv_samples_arrays arrays;
	uint32_t what;
	size_t item;
	char *dst;
	size_t done;
};

/* The last beat says whose answer this is. */
static bool is_ours(const struct job *job, const struct qv_xrt_slot *slot, uint32_t beats)
{
	const struct qv_hls_beat *end = (const struct qv_hls_beat *)slot->bo[OUT].map + beats;

	return end->lane[0] == ((uint64_t)QV_HLS_VERSION << 32 | slot->nonce) &&
	       end->lane[1] == ((uint64_t)job->what << 32 | beats) && !end->lane[2];
}

static uint32_t beats_of(const struct job *job, const struct qv_xrt_slot *slot)
{
	return (uint32_t)((slot->count * job->item + BEAT - 1) / BEAT);
}

/* Begin a run with what lies in the left array and with the next operand. */
static int next_run(struct job *job, struct qv_xrt_slot *slot)
{
	struct qv_offload_dev *dev = job->dev;
	const size_t bytes = slot->count * job->item;
	const uint32_t beats = beats_of(job, slot);
	const uint32_t number[3] = {beats, job->what, slot->nonce = qv_xrt_nonce(dev)};
	int err;

	memcpy(slot->bo[RIGHT].map, job->arrays.src[slot->operand++] + slot->first * job->item,
	       bytes);
	for (int i = LEFT; i <= RIGHT; i++)
		memset((char *)slot->bo[i].map + bytes, 0, beats * BEAT - bytes);
	err = qv_xrt_sync(dev, slot, LEFT, QV_XRT_TO_DEVICE, beats * BEAT);
	if (!err)
		err = qv_xrt_sync(dev, slot, RIGHT, QV_XRT_TO_DEVICE, beats * BEAT);
	return err ? err : qv_xrt_start(dev, slot, number);
}

/* Wait for a run, and get its result. */
static int end_run(struct job *job, struct qv_xrt_slot *slot)
{
	const uint32_t beats = beats_of(job, slot);
	int err = qv_xrt_wait(job->dev, slot);

	if (!err)
		err = qv_xrt_sync(job->dev, slot, OUT, QV_XRT_FROM_DEVICE, (beats + 1) * BEAT);
	if (!err && !is_ours(job, slot, beats))
		err = qv_xrt_wrong(job->dev, QV_EIO, "a wrong answer: it is to another question");
	return err;
}

/* Chunks. */

/* A chunk has come back, or fails. */
static int finish(void *p, unsigned turn)
{
	struct job *job = p;
	struct qv_xrt_slot *slot = &job->dev->slot[turn];
	int err;

	if (!slot->count)
		return QV_OK;
	err = end_run(job, slot);
	while (!err && slot->operand < job->arrays.k) {
		memcpy(slot->bo[LEFT].map, slot->bo[OUT].map, slot->count * job->item);
		err = next_run(job, slot);
		if (!err)
			err = end_run(job, slot);
	}
	if (!err && !qv_samples_right(&job->arrays, slot->first, slot->count, slot->bo[OUT].map))
		err = qv_xrt_wrong(job->dev, QV_EIO, "a wrong answer: %s of %s",
				   qv_op_name(job->arrays.op), qv_type_name(job->arrays.type));
	if (!err) {
		memcpy(job->dst + slot->first * job->item, slot->bo[OUT].map,
		       slot->count * job->item);
		job->done = slot->first + slot->count;
	}
	slot->count = 0;
	return err;
}

static int begin(void *p, unsigned turn, size_t first, size_t count)
{
	struct job *job = p;
	struct qv_xrt_slot *slot = &job->dev->slot[turn];
	const size_t bytes = count * job->item, room = (bytes / BEAT + 2) * BEAT;
	int err = QV_OK;

	for (int i = 0; i < 3 && !err; i++)
		err = qv_xrt_room(job->dev, slot, i, room);
	if (err)
		return err;
	slot->first = first;
	slot->count = count;
	slot->operand = 1;
	memcpy(slot->bo[LEFT].map, job->arrays.src[0] + first * job->item, bytes);
	return next_run(job, slot);
}

static int drop(void *p, unsigned turn)
{
	struct job *job = p;
	struct qv_xrt_slot *slot = &job->dev->slot[turn];

	slot->count = 0;
	return job->dev->lost ? QV_OK : qv_xrt_wait(job->dev, slot);
}

static const struct qv_chunks_calls calls = {begin, finish, drop};

int qv_xrt_combine_many(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
			const void *const *src, size_t k, size_t count, size_t *done)
{
	struct job job = {.dev = dev,
			  .arrays = {dev->cpu, op, type, (const char *const *)src, k},
			  .item = qv_type_size(type),
			  .dst = dst};
	int err;

	*done = 0;
	if (dev->lost)
		return QV_EPEER;
	if (!qv_xrt_combines(dev, op, type))
		return qv_xrt_wrong(dev, QV_ENOSYS, "not done on this card");
	if (k < 2 || !count || count > dev->caps.max_bytes / job.item)
		return qv_xrt_wrong(dev, QV_EINVAL, "%zu arrays of %zu elements", k, count);
	job.what = qv_hls_what(op, (uint32_t)qv_hls_kind(op, type));
	err = qv_chunks_run(&calls, &job, count, QV_XRT_CHUNK / job.item);
	*done = job.done;
	return err;
}

int qv_xrt_combine(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
		   const void *a, const void *b, size_t count, size_t *done)
{
	const void *const src[2] = {a, b};

	return qv_xrt_combine_many(dev, op, type, dst, src, 2, count, done);
}
