/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_chunks.c - chunks of an array in turn through two slots. */
#include "qv_chunks.h"

#include <quiver/offload.h>

int qv_chunks_run(const struct qv_chunks_calls *calls, void *job, size_t count, size_t step)
{
	unsigned turn = 0;
	int err = QV_OK, late;

	for (size_t at = 0; at < count && !err; at += step, turn ^= 1) {
		err = calls->finish(job, turn);
		if (!err)
			err = calls->begin(job, turn, at, count - at < step ? count - at : step);
	}
	/* The older one first. After an error nothing more is taken over, only waited for. */
	for (int i = 0; i < QV_CHUNKS_SLOTS; i++, turn ^= 1) {
		if (!err) {
			err = calls->finish(job, turn);
			continue;
		}
		late = calls->drop(job, turn);
		err = late == QV_EPEER ? late : err;
	}
	return err;
}
