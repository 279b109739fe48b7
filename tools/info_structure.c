/* SPDX-License-Identifier: BSD-2-Clause */
/* info_structure.c - which structure FI_QUIVER_MATCH leads to, and if to none, why. */
#include "info.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/match.h>

#include "engine/base/tag_bits.h"

const char *qv_info_setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

/* The engine knows which it can make; options may follow the name. A profile whose name has a rank
 * in it is there for ranks only. */
static const char *make(const struct qv_match_settings *settings)
{
	const char *name = NULL;
	struct qv_match *trial;

	if (qv_match_create(settings, &trial) == QV_OK) {
		name = qv_match_structure(trial);
		qv_match_destroy(trial);
	} else if (settings->profile && strchr(settings->profile, '%')) {
		static const char *const readers[] = {"clu", "pnp-static"};

		for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
			if (strlen(readers[i]) == strcspn(settings->structure, ":") &&
			    !strncmp(readers[i], settings->structure, strlen(readers[i])))
				name = readers[i];
	}
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
	name = make(&settings);
	settings.collective_mask = 1; /* an MPI would tell some */
	*why = make(&settings) ? "FI_QUIVER_MATCH needs an MPI, or FI_QUIVER_COLLECTIVE"
			       : "FI_QUIVER_MATCH is wrong";
	return name;
}
