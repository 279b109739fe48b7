/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine.c - combine on the card. Of more than two arrays the result comes back each time
 * and is the left one of the next run.
 */
#include "hls/qv_hls_kind.h"
#include "internal.h"

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

int qv_xrt_combine_prepare(struct qv_backend_job *job)
{
	job->step = QV_XRT_CHUNK / job->item;
	return QV_OK;
}

/* Runs. */

static uint32_t what_of(const struct qv_backend_job *job)
{
	return qv_hls_what(job->op, (uint32_t)qv_hls_kind(job->op, job->type));
}

static uint32_t beats_of(const struct qv_backend_job *job, unsigned turn)
{
	return (uint32_t)((job->slot[turn].count * job->item + BEAT - 1) / BEAT);
}

/* The last beat says whose answer this is. */
static bool is_ours(const struct qv_backend_job *job, const struct qv_xrt_slot *slot,
		    uint32_t beats)
{
	const struct qv_hls_beat *end = (const struct qv_hls_beat *)slot->bo[OUT].map + beats;

	return end->lane[0] == ((uint64_t)QV_HLS_VERSION << 32 | slot->nonce) &&
	       end->lane[1] == ((uint64_t)what_of(job) << 32 | beats) && !end->lane[2];
}

/* Begin a run with what lies in the left array and with an operand. */
static int next_run(struct qv_backend_job *job, unsigned turn, size_t operand)
{
	struct qv_offload_dev *dev = job->dev;
	struct qv_xrt_slot *slot = &dev->slot[turn];
	const size_t bytes = job->slot[turn].count * job->item;
	const uint32_t beats = beats_of(job, turn);
	const uint32_t number[3] = {beats, what_of(job), slot->nonce = qv_backend_nonce(dev)};
	int err;

	memcpy(slot->bo[RIGHT].map, job->src[operand] + job->slot[turn].first * job->item, bytes);
	for (int i = LEFT; i <= RIGHT; i++)
		memset((char *)slot->bo[i].map + bytes, 0, beats * BEAT - bytes);
	err = qv_xrt_sync(dev, slot, LEFT, QV_XRT_TO_DEVICE, beats * BEAT);
	if (!err)
		err = qv_xrt_sync(dev, slot, RIGHT, QV_XRT_TO_DEVICE, beats * BEAT);
	return err ? err : qv_xrt_start(dev, slot, number);
}

/* Wait for a run, and get its result. */
static int end_run(struct qv_backend_job *job, unsigned turn)
{
	struct qv_xrt_slot *slot = &job->dev->slot[turn];
	const uint32_t beats = beats_of(job, turn);
	int err = qv_xrt_wait(job->dev, slot);

	if (!err)
		err = qv_xrt_sync(job->dev, slot, OUT, QV_XRT_FROM_DEVICE, (beats + 1) * BEAT);
	if (!err && !is_ours(job, slot, beats))
		err = qv_backend_wrong(job->dev, QV_EIO,
				       "a wrong answer: it is to another question");
	return err;
}

/* Chunks. */

int qv_xrt_combine_begin(struct qv_backend_job *job, unsigned turn)
{
	struct qv_xrt_slot *slot = &job->dev->slot[turn];
	const size_t bytes = job->slot[turn].count * job->item, room = (bytes / BEAT + 2) * BEAT;
	int err = QV_OK;

	for (int i = 0; i < 3 && !err; i++)
		err = qv_xrt_room(job->dev, slot, i, room);
	if (err)
		return err;
	memcpy(slot->bo[LEFT].map, job->src[0] + job->slot[turn].first * job->item, bytes);
	return next_run(job, turn, 1);
}

int qv_xrt_combine_end(struct qv_backend_job *job, unsigned turn, const char **results)
{
	const struct qv_xrt_slot *slot = &job->dev->slot[turn];
	int err = end_run(job, turn);

	for (size_t operand = 2; operand < job->k && !err; operand++) {
		memcpy(slot->bo[LEFT].map, slot->bo[OUT].map, job->slot[turn].count * job->item);
		err = next_run(job, turn, operand);
		if (!err)
			err = end_run(job, turn);
	}
	*results = slot->bo[OUT].map;
	return err;
}
