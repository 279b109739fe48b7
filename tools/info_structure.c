/* SPDX-License-Identifier: BSD-2-Clause */
/* info_structure.c - which structure FI_QUIVER_MATCH leads to, and if to none, why. */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/match.h>

#include "engine/base/tag_bits.h"

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

/* The engine knows which it can make; options may follow the name. A profile whose name has a rank
 * in it is there for ranks only: another one stands in for it. */
static const char *make_as_rank(struct qv_match_settings settings)
{
	const char *name = NULL;
	char path[32];
	FILE *profile;

	if (!settings.profile || !strchr(settings.profile, '%'))
		return make(&settings);
	profile = tmpfile();
	if (profile && fputs("0 1 1\n1 1 1\n", profile) >= 0 && !fflush(profile)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(profile));
		settings.profile = path;
		name = make(&settings);
	}
	if (profile)
		(void)fclose(profile);
	return name;
}

const char *qv_info_structure(const char **why)
{
	const char *text = qv_info_setting("FI_QUIVER_COLLECTIVE", NULL), *name;
	struct qv_match_settings settings;
	struct qv_tag_bits bits = {0, 0};

	qv_match_settings_default(&settings);
	settings.structure = qv_info_setting("FI_QUIVER_MATCH", "auto");
	settings.profile = qv_info_setting("FI_QUIVER_PROFILE", NULL);
	if (text && !qv_tag_bits_parse(text, &bits)) {
		*why = "FI_QUIVER_COLLECTIVE is wrong";
		return NULL;
	}
	settings.collective_mask = bits.mask;
	name = make_as_rank(settings);
	settings.collective_mask = 1; /* an MPI would tell some */
	*why = make_as_rank(settings) ? "FI_QUIVER_MATCH needs an MPI, or FI_QUIVER_COLLECTIVE"
				      : "FI_QUIVER_MATCH is wrong";
	return name;
}
