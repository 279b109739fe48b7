/* SPDX-License-Identifier: BSD-2-Clause */
/* rails_param.c - FI_QUIVER_RAILS: two names with a comma between. */
#include "fabric_glue/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool qv_fi_rails_parse(const char *text, char *rails[2], char *why, size_t size)
{
	const size_t first = strcspn(text, ",");
	const char *second = text + first + (text[first] == ',');

	if (!first || !*second || strchr(second, ',') ||
	    (strlen(second) == first && !strncasecmp(text, second, first))) {
		snprintf(why, size, "is not two names with a comma between, as in eth0,eth1");
		return false;
	}
	rails[0] = strndup(text, first);
	rails[1] = strdup(second);
	if (rails[0] && rails[1])
		return true;
	free(rails[0]);
	free(rails[1]);
	rails[0] = rails[1] = NULL;
	snprintf(why, size, ": no memory");
	return false;
}
