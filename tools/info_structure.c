/* SPDX-License-Identifier: BSD-2-Clause */
/* info_structure.c - which structure FI_QUIVER_MATCH leads to, and if to none, why. */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <quiver/match.h>

#include "engine/base/file_name.h"
#include "engine/base/tag_bits.h"
#include "engine/match/partners.h"

const char *qv_info_setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static const char *make(const struct qv_match_settings *settings)
{
	const char *name = NULL;
	struct qv_match *trial;

	if (qv_match_create(settings, &trial) == QV_OK) {
		name = qv_match_structure(trial);
		qv_match_destroy(trial);
	}
	return name;
}

/* A profile that stands in for another: a descriptor, -1 if there is none. */
static int stand_in(char *path, size_t size)
{
	static const char one[] = "0 1 1\n1 1 1\n";
	const int fd = memfd_create("profile", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, one, sizeof(one) - 1) == (ssize_t)sizeof(one) - 1)
		snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}

static bool is_profile(const char *path)
{
	struct qv_profile profile;
	struct qv_mem mem = {0};

	if (qv_profile_read(&profile, &mem, path) != QV_OK)
		return false;
	qv_profile_free(&profile, &mem);
	return true;
}

/* The profile that ranks would read. A name with a rank in it is there for ranks only: another profile
 * stands in for it, in *fd. False: the name or the file is wrong. */
static bool find_profile(const char *pattern, char *path, size_t size, int *fd)
{
	const char *why;
	bool right;

	if (qv_file_name(pattern, path, size, &why))
		return is_profile(path);
	if (qv_file_rank() >= 0)
		return false;
	setenv("PMI_RANK", "0", 1);
	right = qv_file_name(pattern, path, size, &why);
	unsetenv("PMI_RANK");
	if (right)
		*fd = stand_in(path, size);
	return right;
}

/* Why there is no structure; path: room for the name of a profile. */
static const char *explain(struct qv_match_settings *settings, char *path, size_t size, int *fd)
{
	settings->collective_mask = 1; /* an MPI would tell some */
	if (make(settings))
		return "FI_QUIVER_MATCH needs an MPI, or FI_QUIVER_COLLECTIVE";
	if (!settings->profile && (*fd = stand_in(path, size)) >= 0) {
		settings->profile = path;
		if (make(settings))
			return "FI_QUIVER_MATCH needs FI_QUIVER_PROFILE";
	}
	return "FI_QUIVER_MATCH is wrong";
}

const char *qv_info_structure(const char **why)
{
	const char *text = qv_info_setting("FI_QUIVER_COLLECTIVE", NULL), *name;
	struct qv_match_settings settings;
	struct qv_tag_bits bits = {0, 0};
	char path[4096];
	int fd = -1;

	qv_match_settings_default(&settings);
	settings.structure = qv_info_setting("FI_QUIVER_MATCH", "auto");
	settings.profile = qv_info_setting("FI_QUIVER_PROFILE", NULL);
	if (text && !qv_tag_bits_parse(text, &bits)) {
		*why = "FI_QUIVER_COLLECTIVE is wrong";
		return NULL;
	}
	if (settings.profile && !find_profile(settings.profile, path, sizeof(path), &fd)) {
		*why = "FI_QUIVER_PROFILE is wrong";
		return NULL;
	}
	if (settings.profile)
		settings.profile = path;
	settings.collective_mask = bits.mask;
	/* The engine knows which it can make; options may follow the name. */
	name = make(&settings);
	if (!name)
		*why = explain(&settings, path, sizeof(path), &fd);
	if (fd >= 0)
		close(fd);
	return name;
}
