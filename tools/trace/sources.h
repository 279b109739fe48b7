/* SPDX-License-Identifier: BSD-2-Clause */
/* sources.h - what a structure may know of a lane beforehand: how many sources it has, and what each
 * sends. */
#ifndef QV_LANE_SOURCES_H
#define QV_LANE_SOURCES_H

#include "load.h"

struct qv_lane_source {
	uint32_t src, messages;
};

struct qv_lane_sources {
	struct qv_lane_source *at;
	uint32_t n;
};

/* The sources of a lane's messages. False: no memory. */
bool qv_lane_sources(struct qv_lane_sources *sources, const struct qv_load_lane *lane);
/* As a profile, see qv_match_settings. False: the file cannot be written. */
bool qv_lane_sources_write(const struct qv_lane_sources *sources, const char *file);

#endif /* QV_LANE_SOURCES_H */
