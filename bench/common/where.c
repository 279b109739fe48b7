/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * where.c - what belongs to this program and lies in files of its own: the provider, the programs and
 * modules of the benches.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the directory of this program: as a build has them, then as an installation has them, which
 * may have been moved as a whole. */
static const char *const beside[] = {
	".", "../lib", "../lib/libfabric", QV_LIB_FROM_BIN "/libfabric", QV_LIB_FROM_BIN "/quiver",
};
/* Where the program was installed without them. */
static const char *const installed[] = {QV_LIBDIR "/libfabric", QV_LIBDIR "/quiver"};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool is_there(const char *dir, const char *below, const char *file, char *path, size_t size)
{
	char at[4096], *whole;
	bool there;

	if (snprintf(at, sizeof at, "%s%s/%s", dir, below, file) >= (int)sizeof at)
		return false;
	whole = realpath(at, NULL);
	there = whole && (size_t)snprintf(path, size, "%s", whole) < size;
	free(whole);
	return there;
}

bool qv_bench_find(const char *file, char *path, size_t size)
{
	char own[2048];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

	if (n > 0) {
		own[n] = 0;
		strrchr(own, '/')[1] = 0;
		for (size_t i = 0; i < COUNT(beside); i++)
			if (is_there(own, beside[i], file, path, size))
				return true;
	}
	for (size_t i = 0; i < COUNT(installed); i++)
		if (is_there(installed[i], "", file, path, size))
			return true;
	return false;
}

void qv_bench_provider_path(void)
{
	char path[4096];

	if (!qv_bench_find("libquiver-fi.so", path, sizeof path))
		return;
	*strrchr(path, '/') = 0;
	setenv("FI_PROVIDER_PATH", path, 0);
}
