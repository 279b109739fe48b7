/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - the faults by name. */
#include "sf.h"

#include <string.h>

const char *const sf_fault_names[SF_FAULTS] = {
	[SF_DELAY] = "delay",   [SF_EAGAIN] = "eagain",   [SF_NOMEM] = "nomem",
	[SF_BUSY] = "busy",     [SF_NOPOLL] = "nopoll",   [SF_CHURN] = "churn",
	[SF_REOPEN] = "reopen", [SF_SAME] = "same",       [SF_CLOCK] = "clock",
	[SF_CUT] = "cut",       [SF_INJLOSS] = "injloss", [SF_REPEAT] = "repeat",
	[SF_KILL] = "kill",     [SF_POWER] = "power",     [SF_SLOTS] = "slots",
	[SF_MEET] = "meet",
};

static bool add(const char *name, size_t len, uint32_t *faults)
{
	if (len == 3 && !memcmp(name, "all", 3)) {
		*faults |= (1u << SF_FAULTS) - 1;
		return true;
	}
	for (unsigned f = 0; f < SF_FAULTS; f++)
		if (strlen(sf_fault_names[f]) == len && !memcmp(sf_fault_names[f], name, len)) {
			*faults |= 1u << f;
			return true;
		}
	return (len == 4 && !memcmp(name, "none", 4)) || !len;
}

/* "cut,kill", "all", "none" */
bool sf_faults_parse(const char *text, uint32_t *faults)
{
	*faults = 0;
	for (;;) {
		size_t len = strcspn(text, ",");

		if (!add(text, len, faults))
			return false;
		if (!text[len])
			return true;
		text += len + 1;
	}
}
