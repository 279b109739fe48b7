/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.c - profiles: how many messages each source has sent here. FI_QUIVER_PROFILE names
 * one to read, FI_QUIVER_STATS=profile:FILE one to write. A source is the fi_addr_t of its address:
 * an MPI's ranks in order, mostly.
 */
#include "fabric_glue/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/match/partners.h"

/* Reading. */

bool qv_fi_profile_check(const char *path, uint32_t *sources, char *why, size_t size)
{
	struct qv_profile profile;
	struct qv_mem mem = {0};
	int rc;

	if (access(path, R_OK)) {
		snprintf(why, size, "%s cannot be read: %s", path, strerror(errno));
		return false;
	}
	rc = qv_profile_read(&profile, &mem, path);
	if (rc == QV_OK) {
		*sources = profile.v[profile.n - 1].src + 1;
		if (*sources > QV_PROTO_NAMED)
			*sources = QV_PROTO_NAMED;
		qv_profile_free(&profile, &mem);
		return true;
	}
	if (rc == QV_ENOMEM)
		snprintf(why, size, "%s is too long for this memory", path);
	else if (profile.bad_line)
		snprintf(why, size, "%s line %u is not \"SOURCE COUNT\", two numbers", path,
			 profile.bad_line);
	else if (profile.bad_source != QV_SRC_ANY)
		snprintf(why, size, "%s names source %u twice", path, profile.bad_source);
	else
		snprintf(why, size, "%s is no file with lines \"SOURCE COUNT\"", path);
	return false;
}

/* Writing. */

/* What the endpoints of this process have received so far, by source. */
static struct {
	pthread_mutex_t lock;
	uint64_t *count;
	bool *known;
	size_t n;
} sum = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool make_room(uint64_t source)
{
	size_t n = sum.n ? sum.n : 64;
	uint64_t *count;
	bool *known;

	if (source < sum.n)
		return true;
	if (source >= QV_PROTO_NAMED)
		return false;
	while (n <= source)
		n *= 2;
	count = realloc(sum.count, n * sizeof *count);
	if (count)
		sum.count = count;
	known = realloc(sum.known, n * sizeof *known);
	if (known)
		sum.known = known;
	if (!count || !known)
		return false;
	memset(count + sum.n, 0, (n - sum.n) * sizeof *count);
	memset(known + sum.n, 0, (n - sum.n) * sizeof *known);
	sum.n = n;
	return true;
}

/* Readers take counts of 32 bits. What counts is their proportion. */
static unsigned shift_of_counts(void)
{
	uint64_t max = 0;
	unsigned shift = 0;

	for (size_t i = 0; i < sum.n; i++)
		max = sum.count[i] > max ? sum.count[i] : max;
	while (max >> shift > UINT32_MAX)
		shift++;
	return shift;
}

static int write_lines(FILE *file)
{
	unsigned shift = shift_of_counts();
	size_t lines = 0;

	fprintf(file, "# quiver %s: source and number of messages received from it%s\n",
		QUIVER_VERSION, shift ? ", scaled" : "");
	for (size_t i = 0; i < sum.n; i++)
		if (sum.known[i]) {
			fprintf(file, "%zu %llu\n", i, (unsigned long long)(sum.count[i] >> shift));
			lines++;
		}
	/* A profile has a source at least; of a process that nobody spoke to, this one. */
	if (!lines)
		fputs("0 0\n", file);
	return ferror(file);
}

static void write_sum(const char *pattern)
{
	char path[4096];
	const char *why = "";
	FILE *file;
	int bad;

	if (!qv_file_name(pattern, path, sizeof path, &why)) {
		qv_fi_warn("no profile is written: %s", why);
		return;
	}
	file = fopen(path, "we");
	if (!file) {
		qv_fi_warn("the profile %s cannot be written: %s", path, strerror(errno));
		return;
	}
	bad = write_lines(file);
	if (fclose(file) || bad)
		qv_fi_warn("the profile %s is not whole: %s", path, strerror(errno));
}

void qv_fi_profile_add(const struct qv_fi_ep *ep, const char *pattern)
{
	struct qv_peer *peer = NULL;

	pthread_mutex_lock(&sum.lock);
	while ((peer = qv_proto_next_peer(ep->proto, peer))) {
		/* Programs may empty the address vector before they close the endpoint. */
		uint64_t source = qv_proto_peer_first_user(peer);

		/* Who has no number has no line: the next run would not know whom it means. */
		if (source == FI_ADDR_NOTAVAIL || !make_room(source))
			continue;
		sum.known[source] = true;
		sum.count[source] += qv_proto_peer_received(peer);
	}
	write_sum(pattern);
	pthread_mutex_unlock(&sum.lock);
}
