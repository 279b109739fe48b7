/* SPDX-License-Identifier: BSD-2-Clause */
/* config.h - a device's configuration as this build has it, for every backend. */
#ifndef QV_CONFIG_H
#define QV_CONFIG_H

#include <quiver/offload.h>

#include <stdio.h>

#include "engine/base/settings.h"

/*
 * Read the configuration of a caller, whichever version of the structure it has.
 *   config     the caller's
 *   read       out
 *   why, room  out, on QV_EINVAL: the reason, as text; may be NULL, 0
 * QV_EINVAL: its size is wrong, or it sets fields that this build does not know.
 */
static inline int qv_config_read(const struct qv_offload_config *config,
				 struct qv_offload_config *read, char *why, size_t room)
{
	*read = (struct qv_offload_config){0};
	if (!qv_settings_read(read, sizeof(*read),
			      QV_SETTINGS_UPTO(struct qv_offload_config, profile), config))
		return QV_OK;
	snprintf(why, room, "the configuration has fields that this version does not know");
	return QV_EINVAL;
}

#endif /* QV_CONFIG_H */
