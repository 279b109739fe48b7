/* SPDX-License-Identifier: BSD-2-Clause */
/* profile.c - what the counters of a job tell, in words. */
#include "classifier.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/trace/advice/names.h"

/* ns of a message: below it a list is as good. A process that gets 100000 messages a second spends 1 % of
 * its time on it. */
#define MATTERS 100
/* Entries: of longer queues the trees have seen few, and do not say that they cost nothing. */
#define DEEP 100

static double seconds(const struct qv_profile_most *most)
{
	return most->is.list_ns * (double)most->arrived / 1e9;
}

void qv_profile_add(struct qv_profile_most *most, const struct qv_classifier *c,
		    const struct qv_profile *p, int rank, const char *host)
{
	const size_t processes = most->processes + 1;
	struct qv_profile_most mine = {
		.rank = rank,
		.arrived = p->arrived,
		.depth = p->posted_max > p->unexpected_max ? p->posted_max : p->unexpected_max,
		.is = qv_classify(c, p)};
	const uint64_t deepest = mine.depth > most->deepest ? mine.depth : most->deepest;

	snprintf(mine.host, sizeof(mine.host), "%s", host);
	if (!most->processes || seconds(&mine) > seconds(most))
		*most = mine;
	most->processes = processes;
	most->deepest = deepest;
}

void qv_profile_say(const struct qv_profile_most *most, char *text, size_t size)
{
	static const char more[] = "A trace can tell more: FI_QUIVER_TRACE=FILE, then "
				   "`quiver trace advise FILE`.";
	char setting[96] = "", rank[QV_NAME_ROOM], host[QV_NAME_ROOM];

	if (!most->processes) {
		snprintf(text, size,
			 "Nothing can be told from the counters of these structures: "
			 "run once with FI_QUIVER_MATCH=auto.");
		return;
	}
	if (strcmp(most->is.structure, "auto") != 0)
		snprintf(setting, sizeof(setting), "FI_QUIVER_MATCH=%s may be cheaper still. ",
			 most->is.structure);
	if (most->is.list_ns < MATTERS && most->deepest > DEEP)
		snprintf(text, size,
			 "By the counters alone: quiver may help. Queues grew to %" PRIu64
			 " at most; how far a plain list would walk in them, counters do not tell. "
			 "%s%s",
			 most->deepest, setting, more);
	else if (most->is.list_ns < MATTERS)
		snprintf(text, size,
			 "By the counters alone: matching is not what this job waits for, with "
			 "quiver or without. Queues grew to %" PRIu64 " at most, and a plain list "
			 "would be about as fast. %s%s",
			 most->deepest, setting, more);
	else
		snprintf(text, size,
			 "By the counters alone: quiver helps. Queues grew to %" PRIu64
			 " (%s on %s), where a plain list would take about %.0f ns more for "
			 "each message, %.2g s in all. %s%s",
			 most->depth, qv_name_rank(most->rank, rank),
			 qv_name_plain(most->host, host), most->is.list_ns, seconds(most), setting,
			 more);
}
