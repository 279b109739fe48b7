/* SPDX-License-Identifier: BSD-2-Clause */
/* process.c - the list of this process. */
#include "live.h"

static struct qv_fi_live live = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.table =
		{
			.magic = QV_LIVE_MAGIC,
			.self = &live.table,
			.version = QUIVER_VERSION,
			.size = sizeof(struct qv_live),
		},
};

/* In a file of its own: tests/simfab has many processes in one, and gives each a list. */
struct qv_fi_live *qv_fi_live(void)
{
	return &live;
}
