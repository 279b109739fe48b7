/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - FI_QUIVER_MATCH: can this structure work here, and if not, what does it lack? */
#include "fabric_glue/provider.h"

#include <stdio.h>
#include <string.h>

/* The engine knows; it is asked to make one. mask: of the tags of collective operations. */
static bool works(const char *structure, const char *profile, uint64_t mask)
{
	struct qv_match_settings settings;
	struct qv_match *trial;

	qv_match_settings_default(&settings);
	settings.structure = structure;
	settings.profile = profile;
	settings.collective_mask = mask;
	if (qv_match_create(&settings, &trial))
		return false;
	qv_match_destroy(trial);
	return true;
}

/* The name may be followed by options, as in lla:block=16. */
static bool is_named(const char *text, const char *name)
{
	return strlen(name) == strcspn(text, ":") && !strncmp(text, name, strlen(name));
}

static bool is_known(const char *text)
{
	for (const char *const *name = qv_match_structures(); *name; name++)
		if (is_named(text, *name))
			return true;
	return false;
}

static void list_known(char *to, size_t size)
{
	int n = snprintf(to, size, "is not known; known:");

	for (const char *const *name = qv_match_structures(); *name && n > 0 && (size_t)n < size;
	     name++)
		n += snprintf(to + n, size - (size_t)n, " %s", *name);
}

bool qv_fi_match_usable(const char *text, const char *profile, uint64_t collective, char *why,
			size_t size)
{
	if (works(text, profile, collective))
		return true;
	if (!is_known(text))
		list_known(why, size);
	else if (works(text, profile, 1))
		snprintf(why, size,
			 "needs FI_QUIVER_COLLECTIVE, the bits of a tag that tell which messages "
			 "are of collective operations: this process has no MPI that is known");
	else if (!profile && (is_named(text, "clu") || is_named(text, "pnp-static")))
		snprintf(why, size,
			 "needs FI_QUIVER_PROFILE=FILE, what each source sends, as an earlier run "
			 "with FI_QUIVER_STATS=profile:FILE writes it");
	else
		snprintf(why, size, "cannot be used: its options, after the colon, are wrong");
	return false;
}

bool qv_fi_match_reads_profile(const char *structure, const char *profile)
{
	return profile && !works(structure, NULL, 0) && works(structure, profile, 0);
}
