/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h - an open card, and what the files of the backend do for each other. */
#ifndef QV_XRT_I_H
#define QV_XRT_I_H

#include "kernels/backend/backend.h"
#include "hls/qv_hls.h"
#include "xrt.h"
#include "api.h"

#define QV_XRT_MAX_KEYS 16384u
#define QV_XRT_SLOTS    QV_BACKEND_SLOTS
/* Bytes of an array that a slot takes at a time; a multiple of a beat. */
#define QV_XRT_CHUNK ((size_t)4 << 20)

/* Memory that the card has a copy of, which grows as needed. */
struct qv_xrt_bo {
	void *bo, *map;
	size_t bytes;
};

/* A run of a kernel with its three arrays. They are the backend's own: whatever becomes of a run
 * that is given up, nobody else's memory is hurt. */
struct qv_xrt_slot {
	void *kernel, *run;
	uint32_t group[3]; /* bank of each array */
	struct qv_xrt_bo bo[3];
	bool running;
	uint32_t nonce;
};

struct qv_offload_dev {
	struct qv_backend_head head;
	struct qv_xrt_api xrt;
	void *device;
	void *match, *combine; /* kernels */
	struct qv_xrt_slot batch, slot[QV_XRT_SLOTS];
	uint32_t depth;           /* entries of the match unit */
	bool float_ok, double_ok; /* sums and products with denormals, as in IEEE 754 */
	uint32_t *next;           /* of entries that the unit does not hold: the next one left */
	size_t next_room;
};

/* From load.c. */

/* Make sure that XRT can be called without ending the process, open it and find the functions.
 * QV_OK, or QV_ENOENT with the reason. It stays open: it has threads. */
int qv_xrt_load(struct qv_xrt_api *xrt, const char *library, char *why, size_t room);

/* From xclbin.c. */

/* Whether a file is a bitstream with our kernels and their arguments. QV_OK, or QV_ENOENT with the
 * reason. */
int qv_xrt_check_xclbin(const char *file, char *why, size_t room);

/* From run.c. */

int qv_xrt_slot_open(struct qv_offload_dev *dev, struct qv_xrt_slot *slot, void *kernel);
void qv_xrt_slot_close(struct qv_offload_dev *dev, struct qv_xrt_slot *slot);
/* Make array i at least so large. */
int qv_xrt_room(struct qv_offload_dev *dev, struct qv_xrt_slot *slot, int i, size_t bytes);
int qv_xrt_sync(struct qv_offload_dev *dev, struct qv_xrt_slot *slot, int i, int direction,
		size_t bytes);
/* Start a run with the slot's arrays and three numbers; wait until it is over, QV_EPEER: not in
 * time. */
int qv_xrt_start(struct qv_offload_dev *dev, struct qv_xrt_slot *slot, const uint32_t number[3]);
int qv_xrt_wait(struct qv_offload_dev *dev, struct qv_xrt_slot *slot);

/* What the card does. */

int qv_xrt_match_batch(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		       const struct qv_offload_key *queries, uint32_t m,
		       uint32_t *result); /* match.c */
int qv_xrt_combines(const struct qv_offload_dev *dev, enum qv_op op,
		    enum qv_type type); /* combine.c */
int qv_xrt_combine_prepare(struct qv_backend_job *job);
int qv_xrt_combine_begin(struct qv_backend_job *job, unsigned slot);
int qv_xrt_combine_end(struct qv_backend_job *job, unsigned slot, const char **results);
/* Ask the kernels for their version, and have them solve what is known. */
int qv_xrt_selftest(struct qv_offload_dev *dev); /* selftest.c */

#endif /* QV_XRT_I_H */
