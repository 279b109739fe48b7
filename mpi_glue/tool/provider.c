/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * provider.c - quiver's provider in this process, which libfabric has loaded for itself: its names are
 * found by the name of its file only.
 */
#include "tool.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include <quiver/fi_ext.h>

#define ROOM 4096

/* dl_iterate_phdr's, which must not be left for other calls of the dynamic linker. */
static int match(struct dl_phdr_info *info, size_t size, void *path)
{
	const char *name = info->dlpi_name, *slash = name ? strrchr(name, '/') : NULL;
	const char *base = slash ? slash + 1 : name;

	(void)size;
	if (!base ||
	    (strcmp(base, "libquiver-fi.so") != 0 && strcmp(base, "libofi_quiver-fi.so") != 0))
		return 0;
	return snprintf(path, ROOM, "%s", name) < ROOM;
}

void qv_tool_provider_hold(struct qv_tool_provider *provider)
{
	char path[ROOM];

	*provider = (struct qv_tool_provider){NULL, NULL};
	if (!dl_iterate_phdr(match, path))
		return;
	provider->object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (provider->object)
		*(void **)&provider->stats = dlsym(provider->object, QV_FI_PROCESS_STATS);
}

void qv_tool_provider_let_go(struct qv_tool_provider *provider)
{
	if (provider->object)
		dlclose(provider->object);
}
