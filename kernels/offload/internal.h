/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h - the object behind offload.h. */
#ifndef QV_OFFLOAD_I_H
#define QV_OFFLOAD_I_H

#include "offload.h"

#include <sys/types.h>

struct qv_offload {
	struct qv_offload_settings set;
	struct qv_offload_dev *dev;
	struct qv_offload_stats stats;
	pid_t pid; /* of the process that has opened the device */
	uint32_t failures;
	uint64_t tried; /* batches that the device was asked for */
	/* Room for a batch, which grows. */
	struct qv_offload_key *keys; /* entries, then queries */
	void **nodes;                /* of the entries */
	uint32_t *result;
	struct qv_foreseen *calls;
	size_t room_entries, room_queries;
	struct qv_foresight foresight;
	int active; /* an engine has it */
};

/* Sizes worth opening a device for, to measure whether it gains. */
#define QV_OFFLOAD_AUTO_BATCH 64
#define QV_OFFLOAD_AUTO_BYTES ((size_t)64 << 10)

/* So many batches at first are matched by the CPU, too. */
#define QV_OFFLOAD_CHECK_FIRST 16

/* Limits are to be measured, and have not been yet. */
static inline int qv_offload_unknown(const struct qv_offload *o)
{
	return o->set.calibrate && o->stats.state == QV_OFFLOAD_UNUSED;
}

/* The device, if it may be asked now: opened, and by this process. */
int qv_offload_ready(struct qv_offload *o);
/* After a call of the device that did not return QV_OK. */
void qv_offload_failed(struct qv_offload *o, int status, const char *why);
void qv_offload_say(struct qv_offload *o, int warn, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void qv_offload_give_up(struct qv_offload *o);
/* Find the limits, by measuring. */
void qv_offload_calibrate(struct qv_offload *o);

#endif /* QV_OFFLOAD_I_H */
