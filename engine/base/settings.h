/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.h - public settings structures, which begin with their size: read as this build has
 * them, whichever version of the structure the caller was compiled with. */
#ifndef QV_BASE_SETTINGS_H
#define QV_BASE_SETTINGS_H

#include <stddef.h>
#include <string.h>

#include <quiver/types.h>

/* No structure of settings is longer. A size beyond it was never set. */
#define QV_SETTINGS_MOST 4096

/* Bytes of a structure up to the end of a field. */
#define QV_SETTINGS_UPTO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/*
 * Copy a caller's settings.
 *   to     in: the defaults of all fields; out: with the fields that the caller has; size is bytes
 *   bytes  of the structure in this build
 *   first  bytes that size 0 stands for: the structure up to the last field of version 0.1
 *   from   the caller's; its first field is a size_t, its size
 * QV_EINVAL: the size is out of range, or a byte beyond this build's structure is not 0. Then *to
 * is unchanged.
 */
static inline int qv_settings_read(void *to, size_t bytes, size_t first, const void *from)
{
	const unsigned char *at = (const unsigned char *)from;
	size_t size;

	memcpy(&size, from, sizeof(size));
	if (!size)
		size = first;
	if (size < sizeof(size) || size > QV_SETTINGS_MOST)
		return QV_EINVAL;
	for (size_t i = bytes; i < size; i++)
		if (at[i])
			return QV_EINVAL;
	memcpy(to, from, size < bytes ? size : bytes);
	memcpy(to, &bytes, sizeof(bytes));
	return QV_OK;
}

#endif /* QV_BASE_SETTINGS_H */
