/* SPDX-License-Identifier: BSD-2-Clause */
/* impl.c - what the name of an implementation means. */
#include "fabric.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OTHER "other+"

static char *other; /* folder of that one */

int qv_fb_set_other(const char *folder)
{
	char *path;
	bool there;

	if (asprintf(&path, "%s/libquiver-fi.so", folder) < 0)
		return -1;
	there = !access(path, R_OK);
	free(path);
	if (!there)
		return -1;
	free(other);
	other = strdup(folder);
	return other ? 0 : -1;
}

/* The core under quiver, behind "quiver+" or "other+"; NULL: it is another implementation. */
static const char *core_in(const char *impl)
{
	static const char *const kinds[] = {"quiver+", OTHER};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(impl, kinds[i], strlen(kinds[i])))
			return impl + strlen(kinds[i]);
	return NULL;
}

static bool is_other(const char *impl)
{
	return !strncmp(impl, OTHER, strlen(OTHER));
}

const char *qv_fb_core(const char *impl, char *core, size_t size)
{
	static const char *const modes[] = {"/peer", "/layered"};
	const char *behind = core_in(impl);
	size_t len;

	if (!behind)
		return NULL;
	snprintf(core, size, "%s", behind);
	len = strlen(core);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		size_t n = strlen(modes[i]);

		if (len > n && !strcmp(core + len - n, modes[i])) {
			core[len - n] = 0;
			return modes[i] + 1;
		}
	}
	return "";
}

bool qv_fb_is_same_of_other(const char *impl, const char *contender)
{
	return is_other(contender) && !is_other(impl) && core_in(impl) &&
	       !strcmp(core_in(impl), core_in(contender));
}

int qv_fb_environment(const struct qv_fb_setup *setup, char *name, size_t size)
{
	char core[QV_BENCH_NAME];
	const char *mode = qv_fb_core(setup->impl, core, sizeof(core));

	if (!mode) {
		snprintf(name, size, "%s", setup->impl);
		setenv("FI_PROVIDER", setup->impl, 1);
		return 0;
	}
	if (is_other(setup->impl)) {
		if (!other)
			return -1;
		setenv("FI_PROVIDER_PATH", other, 1);
	} else {
		qv_bench_provider_path();
	}
	if (*mode)
		setenv("FI_QUIVER_MODE", mode, 1);
	if (strchr(core, ';')) {
		/* The layered form leaves the core's own parts visible to each other. */
		snprintf(name, size, "%s;ofi_quiver", core);
	} else {
		snprintf(name, size, "quiver");
		setenv("FI_QUIVER_CORE", core, 1);
	}
	setenv("FI_PROVIDER", name, 1);
	return 0;
}
