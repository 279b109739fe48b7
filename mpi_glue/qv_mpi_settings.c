/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_mpi_settings.c - QUIVER_MPI_COLL: operation=algorithm[,...]. */
#include "qv_mpi.h"

#include <stdio.h>
#include <string.h>

static const char *const operations[QV_MPI_N_COLLS] = {"reduce", "allreduce", "reduce_scatter"};

static bool is(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !memcmp(name, text, length);
}

static int complain(char *why, size_t room, const char *what, const char *text, size_t length)
{
	size_t at = (size_t)snprintf(why, room, "%s \"%.*s\" is not known; known are", what,
				     (int)length, text);

	if (!strcmp(what, "algorithm")) {
		for (int i = 0; i < QV_N_ALGORITHMS && at < room; i++)
			at += (size_t)snprintf(why + at, room - at, " %s",
					       qv_algorithm_name((enum qv_algorithm)i));
		if (at < room)
			snprintf(why + at, room - at, " mpi auto");
		return QV_EINVAL;
	}
	for (int i = 0; i < QV_MPI_N_COLLS && at < room; i++)
		at += (size_t)snprintf(why + at, room - at, " %s", operations[i]);
	return QV_EINVAL;
}

static int parse_algorithm(const char *text, size_t length, struct qv_mpi_setting *set)
{
	for (int i = 0; i < QV_N_ALGORITHMS; i++) {
		if (!is(qv_algorithm_name((enum qv_algorithm)i), text, length))
			continue;
		*set = (struct qv_mpi_setting){QV_MPI_CHOICE_FORCED, (enum qv_algorithm)i};
		return QV_OK;
	}
	*set = (struct qv_mpi_setting){QV_MPI_CHOICE_MPI, QV_ALG_BINOMIAL};
	return is("mpi", text, length) || is("auto", text, length) ? QV_OK : QV_EINVAL;
}

/* One operation=algorithm of so many characters. */
static int parse_one(const char *text, size_t length, struct qv_mpi_setting *set, char *why,
		     size_t room)
{
	const char *equals = memchr(text, '=', length);
	size_t name = equals ? (size_t)(equals - text) : length;

	for (int i = 0; i < QV_MPI_N_COLLS; i++) {
		if (!equals || !is(operations[i], text, name))
			continue;
		if (parse_algorithm(equals + 1, length - name - 1, &set[i]))
			return complain(why, room, "algorithm", equals + 1, length - name - 1);
		return QV_OK;
	}
	return complain(why, room, "operation", text, name);
}

int qv_mpi_parse(const char *text, struct qv_mpi_setting *set, char *why, size_t room)
{
	struct qv_mpi_setting read[QV_MPI_N_COLLS] = {{QV_MPI_CHOICE_MPI, QV_ALG_BINOMIAL}};

	while (*text) {
		size_t length = strcspn(text, ",");

		if (length && parse_one(text, length, read, why, room))
			return QV_EINVAL;
		text += length + (text[length] == ',');
	}
	memcpy(set, read, sizeof(read));
	return QV_OK;
}
