/* SPDX-License-Identifier: BSD-2-Clause */
/* file_name.c - see file_name.h. */
#include "file_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What launchers tell their processes: rank, and how many there are. */
static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					 "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
/* The last is all that Open MPI 4 tells of a program that nobody launched, which has PMIX_RANK. */
static const char *const size_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
					 "SLURM_NTASKS", "OMPI_MCA_orte_ess_num_procs"};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *first_set(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (getenv(names[i]) && *getenv(names[i]))
			return getenv(names[i]);
	return NULL;
}

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

bool qv_file_name(const char *pattern, char *path, size_t size, const char **why)
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

char *qv_file_absolute(const char *pattern)
{
	char folder[4096], *out, *to;

	if (!*pattern || *pattern == '/' || !getcwd(folder, sizeof folder))
		return strdup(pattern);
	to = out = malloc(2 * strlen(folder) + 1 + strlen(pattern) + 1);
	if (!out)
		return NULL;
	for (const char *at = folder; *at; at++) {
		*to++ = *at;
		if (*at == '%')
			*to++ = '%';
	}
	*to++ = '/';
	strcpy(to, pattern);
	return out;
}

int qv_file_rank(void)
{
	const char *rank = first_set(rank_names, COUNT(rank_names));

	return rank ? atoi(rank) : -1;
}

/* Would other processes of the job write to the same file? Launchers that tell a rank alone have others, and all
 * ranks get the same answer. */
static bool is_shared(const char *pattern)
{
	const char *rank = first_set(rank_names, COUNT(rank_names));
	const char *all = first_set(size_names, COUNT(size_names));

	for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%'))
		if (at[1] == 'r' || at[1] == 'p')
			return false;
	if (all)
		return atoi(all) > 1 || (rank && atoi(rank) > 0);
	/* Slurm gives rank 0 to the script of a job, too, and not always a size. */
	return rank && (rank != getenv("SLURM_PROCID") || atoi(rank) > 0);
}

/* What is there needs no leave of its folder. Of what is not, path is the folder afterwards. */
static bool may_write(char *path, char *why, size_t size)
{
	char *slash;

	if (access(path, F_OK) == 0) {
		if (access(path, W_OK) == 0)
			return true;
		snprintf(why, size, "%s cannot be written: %s", path, strerror(errno));
	} else if (errno == ENAMETOOLONG) {
		snprintf(why, size, "the name is too long");
	} else {
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

bool qv_file_writable(const char *pattern, const char *behind, char *why, size_t size)
{
	char path[4096], first[4096 + 16];
	const char *text = "";
	bool there;

	if (!*pattern) {
		snprintf(why, size, "names no file");
		return false;
	}
	if (!qv_file_name(pattern, path, sizeof path, &text)) {
		snprintf(why, size, "%s", text);
		return false;
	}
	if (is_shared(pattern)) {
		snprintf(why, size,
			 "one file for all processes of the job: put %%r (rank) or %%p (process "
			 "id) into its name");
		return false;
	}
	snprintf(first, sizeof first, "%s%s", path, behind);
	there = access(path, F_OK) == 0;
	return may_write(path, why, size) && (there || may_write(first, why, size));
}
