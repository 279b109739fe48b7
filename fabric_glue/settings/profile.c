/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.c - profiles: how many receives that name a source, and how many messages from it, were
 * queued here. FI_QUIVER_PROFILE names one to read, FI_QUIVER_STATS=profile:FILE one to write. A
 * source is the fi_addr_t of its address: an MPI's ranks in order, mostly.
 */
#include "fabric_glue/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/match/detail.h"
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
		*sources = profile.v[QV_POSTED][profile.n - 1].src + 1;
		if (*sources > QV_PROTO_NAMED)
			*sources = QV_PROTO_NAMED;
		qv_profile_free(&profile, &mem);
		return true;
	}
	if (rc == QV_ENOMEM)
		snprintf(why, size, "%s is too long for this memory", path);
	else if (profile.bad_line)
		snprintf(why, size,
			 "%s line %u is not \"SOURCE POSTED UNEXPECTED\", three numbers, or "
			 "\"SOURCE COUNT\", two",
			 path, profile.bad_line);
	else if (profile.bad_source != QV_SRC_ANY)
		snprintf(why, size, "%s names source %u twice", path, profile.bad_source);
	else
		snprintf(why, size, "%s is no file with lines \"SOURCE POSTED UNEXPECTED\"", path);
	return false;
}

/* Writing. */

struct source {
	bool known;
	uint64_t count[2]; /* by queue */
};

/* What was queued at the endpoints of this process so far, by source. */
static struct {
	pthread_mutex_t lock;
	pid_t pid; /* whose it is */
	struct source *at;
	size_t n;
} sum = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A child that was forked begins anew. */
static void forget_others(void)
{
	if (sum.pid == getpid())
		return;
	free(sum.at);
	sum.at = NULL;
	sum.n = 0;
	sum.pid = getpid();
}

static bool make_room(uint64_t source)
{
	size_t n = sum.n ? sum.n : 64;
	struct source *more;

	if (source < sum.n)
		return true;
	if (source >= QV_PROTO_NAMED)
		return false;
	while (n <= source)
		n *= 2;
	more = realloc(sum.at, n * sizeof *more);
	if (!more)
		return false;
	memset(more + sum.n, 0, (n - sum.n) * sizeof *more);
	sum.at = more;
	sum.n = n;
	return true;
}

/* Readers take counts of 32 bits. What counts is their proportion. */
static unsigned shift_of_counts(void)
{
	uint64_t max = 0;
	unsigned shift = 0;

	for (size_t i = 0; i < sum.n; i++)
		for (int side = 0; side < 2; side++)
			max = sum.at[i].count[side] > max ? sum.at[i].count[side] : max;
	while (max >> shift > UINT32_MAX)
		shift++;
	return shift;
}

/* 0 or errno. */
static int write_lines(FILE *file)
{
	unsigned shift = shift_of_counts();
	size_t lines = 0;

	fprintf(file,
		"# quiver %s: source, receives that name it and messages from it that were "
		"queued%s\n",
		QUIVER_VERSION, shift ? ", scaled" : "");
	for (size_t i = 0; i < sum.n; i++)
		if (sum.at[i].known) {
			const uint64_t *count = sum.at[i].count;

			fprintf(file, "%zu %llu %llu\n", i,
				(unsigned long long)(count[QV_POSTED] >> shift),
				(unsigned long long)(count[QV_UNEXPECTED] >> shift));
			lines++;
		}
	/* A profile has a source at least; of a process that nobody spoke to, this one. */
	if (!lines)
		fputs("0 0 0\n", file);
	return ferror(file) ? ENOMEM : 0;
}

/* 0 or errno. */
static int write_file(const char *path)
{
	char *text = NULL;
	size_t len = 0;
	FILE *lines = open_memstream(&text, &len);
	int error = lines ? write_lines(lines) : ENOMEM;

	if (lines && fclose(lines))
		error = ENOMEM;
	if (!error)
		error = qv_fi_file_replace(path, text, len);
	free(text);
	return error;
}

static void write_sum(const char *pattern)
{
	char path[4096];
	const char *why = "";
	int error;

	if (!qv_file_name(pattern, path, sizeof path, &why)) {
		qv_fi_warn("no profile is written: %s", why);
		return;
	}
	error = write_file(path);
	if (error)
		qv_fi_warn("the profile %s cannot be written: %s", path,
			   qv_fi_file_error(path, error));
}

/* Add what the endpoint's engines have counted of a peer. */
static void add_peer(struct source *to, const struct qv_fi_ep *ep, const struct qv_peer *peer)
{
	uint32_t src = qv_proto_peer_source(peer);

	to->known = true;
	for (unsigned which = 0; which < 2; which++) {
		const struct qv_detail *d =
			ep->detail[which] ? qv_match_detail_read(ep->detail[which]) : NULL;

		if (!d || src >= d->nsources)
			continue;
		to->count[QV_POSTED] += d->sources[src].posted;
		to->count[QV_UNEXPECTED] += d->sources[src].unexpected;
	}
}

bool qv_fi_profile_add(const struct qv_fi_ep *ep, const char *pattern, bool last)
{
	struct qv_peer *peer = NULL;

	if (!qv_fi_lock_at_end(&sum.lock, last))
		return false;
	forget_others();
	while ((peer = qv_proto_next_peer(ep->proto, peer))) {
		/* Programs may empty the address vector before they close the endpoint. */
		uint64_t source = qv_proto_peer_first_user(peer);

		/* Who has no number has no line: the next run would not know whom it means. */
		if (source == FI_ADDR_NOTAVAIL || !make_room(source))
			continue;
		add_peer(&sum.at[source], ep, peer);
	}
	write_sum(pattern);
	pthread_mutex_unlock(&sum.lock);
	return true;
}
