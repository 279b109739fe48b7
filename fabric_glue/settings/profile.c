/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.c - profiles: how many messages each source has sent here. FI_QUIVER_PROFILE names
 * one to read, FI_QUIVER_STATS=profile:FILE one to write; in both, % stands for what tells
 * processes apart. A source is the fi_addr_t of its address: an MPI's ranks in order, mostly.
 */
#include "fabric_glue/data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/match/partners.h"

/* What launchers tell their processes: rank, and how many there are. */
static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					 "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
static const char *const size_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
					 "SLURM_NTASKS"};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *first_set(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (getenv(names[i]) && *getenv(names[i]))
			return getenv(names[i]);
	return NULL;
}

/* Names. */

/* The text for a letter after %; NULL: *why has the reason. */
static const char *stands_for(char letter, char *room, size_t size, const char **why)
{
	switch (letter) {
	case '%': return "%";
	case 'p': snprintf(room, size, "%d", (int)getpid()); return room;
	case 'h':
		if (gethostname(room, size - 1) == 0)
			return room;
		*why = "%h: this host has no name";
		return NULL;
	case 'r':
		*why = "%r: no launcher has set a rank (OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, "
		       "MV2_COMM_WORLD_RANK or SLURM_PROCID)";
		return first_set(rank_names, COUNT(rank_names));
	default:
		*why = "% begins one of %r (rank), %p (process id), %h (host) and %% (a percent "
		       "sign)";
		return NULL;
	}
}

bool qv_fi_profile_name(const char *pattern, char *path, size_t size, const char **why)
{
	char room[256] = "";
	size_t n = 0;

	for (const char *at = pattern; *at; at++) {
		const char *part = room;

		if (*at != '%')
			snprintf(room, sizeof room, "%c", *at);
		else if (!(part = stands_for(*++at, room, sizeof room, why)))
			return false;
		if (n + strlen(part) >= size) {
			*why = "the name is too long";
			return false;
		}
		strcpy(path + n, part);
		n += strlen(part);
	}
	path[n] = 0;
	return true;
}

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

/* Would other processes of the job write to the same file? */
static bool is_shared(const char *pattern)
{
	const char *rank = first_set(rank_names, COUNT(rank_names));
	const char *all = first_set(size_names, COUNT(size_names));

	for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%'))
		if (at[1] == 'r' || at[1] == 'p')
			return false;
	return (rank && atoi(rank) > 0) || (all && atoi(all) > 1);
}

bool qv_fi_profile_writable(const char *pattern, char *why, size_t size)
{
	char path[4096], *slash;
	const char *text = "";

	if (!*pattern)
		snprintf(why, size, "names no file");
	else if (!qv_fi_profile_name(pattern, path, sizeof path, &text))
		snprintf(why, size, "%s", text);
	else if (is_shared(pattern))
		snprintf(why, size,
			 "one file for all processes of the job: put %%r (rank) or %%p (process "
			 "id) into its name");
	else if (access(path, F_OK) == 0 && access(path, W_OK))
		snprintf(why, size, "%s cannot be written: %s", path, strerror(errno));
	else {
		slash = strrchr(path, '/');
		if (slash)
			slash[slash == path] = 0;
		if (access(slash ? path : ".", W_OK | X_OK) == 0)
			return true;
		snprintf(why, size, "%s cannot be written to: %s", slash ? path : ".",
			 strerror(errno));
	}
	return false;
}

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

	if (!qv_fi_profile_name(pattern, path, sizeof path, &why)) {
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
