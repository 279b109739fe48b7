/* SPDX-License-Identifier: BSD-2-Clause */
/* rule.c - "neighbor_alltoallv=crystal:4,neighbor_allgather=friends:3": rules of operations whose
 * blocks are of variable length, or are neighbours'. */
#include <quiver/neighbor.h>

#include "engine/base/bytes.h"
#include "mpi_glue/glue.h"

#include <stdio.h>
#include <string.h>

static const char *const names[QV_MPI_N_NAMES] = {
	[QV_MPI_ALLGATHERV] = "allgatherv",
	[QV_MPI_ALLTOALLV] = "alltoallv",
	[QV_MPI_GATHERV] = "gatherv",
	[QV_MPI_SCATTERV] = "scatterv",
	[QV_MPI_NEIGHBOR_ALLGATHER] = "neighbor_allgather",
	[QV_MPI_NEIGHBOR_ALLGATHERV] = "neighbor_allgatherv",
	[QV_MPI_NEIGHBOR_ALLTOALL] = "neighbor_alltoall",
	[QV_MPI_NEIGHBOR_ALLTOALLV] = "neighbor_alltoallv",
};

/* What the user may write, and the most that may stand behind its colon; 0: nothing may. */
static const struct word {
	const char *text;
	uint32_t least, most, usual;
	struct qv_mpi_rule rule;
} words[] = {
	{"mpi", 0, 0, 0, {.by = QV_MPI_BY_MPI}},
	{"auto", 0, 0, 0, {.by = QV_MPI_BY_AUTO}},
	{"crystal", 2, 1024, 2, {.by = QV_MPI_BY_WAY, .way = QV_WAY_CRYSTAL}},
	{"mesh2", 0, 0, 0, {.by = QV_MPI_BY_WAY, .way = QV_WAY_MESH2}},
	{"mesh3", 0, 0, 0, {.by = QV_MPI_BY_WAY, .way = QV_WAY_MESH3}},
	{"hypercube", 0, 0, 0, {.by = QV_MPI_BY_WAY, .way = QV_WAY_HYPERCUBE}},
	{"direct", 0, 0, 0, {.by = QV_MPI_BY_FRIENDS, .k = 1}},
	{"friends", 2, QV_MOST_FRIENDS, 2, {.by = QV_MPI_BY_FRIENDS}},
	{"nodes", 2, QV_MOST_FRIENDS, 2, {.by = QV_MPI_BY_FRIENDS, .nodes = true}},
};

#define WORDS (sizeof(words) / sizeof(words[0]))

enum qv_mpi_name qv_mpi_rule_find(const char *text, size_t length)
{
	int i = QV_MPI_ALLGATHERV;

	while (i < QV_MPI_N_NAMES &&
	       (strlen(names[i]) != length || memcmp(names[i], text, length) != 0))
		i++;
	return (enum qv_mpi_name)i;
}

const char *qv_mpi_rule_name(enum qv_mpi_name name)
{
	return names[name];
}

static bool has_word(enum qv_mpi_name name, const struct word *w)
{
	switch (w->rule.by) {
	case QV_MPI_BY_FRIENDS: return name >= QV_MPI_NEIGHBOR_ALLGATHER;
	case QV_MPI_BY_WAY:
		return name == QV_MPI_ALLTOALLV || name == QV_MPI_NEIGHBOR_ALLTOALL ||
		       name == QV_MPI_NEIGHBOR_ALLTOALLV;
	default: return true;
	}
}

bool qv_mpi_rule_has(enum qv_mpi_name name, int algorithm)
{
	if (qv_mpi_is_rooted_v(name)) /* they have the same */
		return qv_schedule_exists(QV_COLL_GATHER, (enum qv_algorithm)algorithm, 0);
	if (name == QV_MPI_ALLTOALLV)
		return algorithm == QV_ALG_DIRECT || algorithm == QV_ALG_PREFIX;
	return name == QV_MPI_ALLGATHERV &&
	       qv_schedule_exists(QV_COLL_ALLGATHER, (enum qv_algorithm)algorithm, 0);
}

static int unknown(enum qv_mpi_name name, const char *text, size_t length, char *why, size_t room)
{
	size_t at = (size_t)snprintf(why, room, "unknown algorithm '%.*s'; %s has", (int)length,
				     text, names[name]);

	for (size_t i = 0; i < WORDS && at < room; i++)
		if (has_word(name, &words[i]))
			at += (size_t)snprintf(why + at, room - at, " %s%s", words[i].text,
					       words[i].most ? "[:number]" : "");
	for (int i = 0; i < QV_N_ALGORITHMS && at < room; i++)
		if (qv_mpi_rule_has(name, i))
			at += (size_t)snprintf(why + at, room - at, " %s",
					       qv_algorithm_name((enum qv_algorithm)i));
	return QV_EINVAL;
}

static bool is(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !memcmp(name, text, length);
}

/* ":3" of a word, or ":3:cumulative". */
static int parse_number(const struct word *w, const char *text, size_t length,
			struct qv_mpi_rule *rule, char *why, size_t room)
{
	size_t digits;
	const uint32_t number = qv_digits(text + 1, length - 1, w->most, &digits);
	size_t i = 1 + digits;

	if (rule->by == QV_MPI_BY_FRIENDS && is(":cumulative", text + i, length - i)) {
		rule->cumulative = true;
		i = length;
	}
	if (i < length || number < w->least) {
		snprintf(why, room, "'%s%.*s'; write %s[:number%s], from %u to %u", w->text,
			 (int)length, text, w->text,
			 rule->by == QV_MPI_BY_FRIENDS ? "[:cumulative]" : "", w->least, w->most);
		return QV_EINVAL;
	}
	rule->k = number;
	return QV_OK;
}

int qv_mpi_rule_parse(enum qv_mpi_name name, const char *text, size_t length,
		      struct qv_mpi_rule *rule, char *why, size_t room)
{
	const char *colon = memchr(text, ':', length);
	const size_t word = colon ? (size_t)(colon - text) : length;

	for (size_t i = 0; i < WORDS; i++) {
		if (!has_word(name, &words[i]) || !is(words[i].text, text, word) ||
		    (colon && !words[i].most))
			continue;
		*rule = words[i].rule;
		if (words[i].most)
			rule->k = words[i].usual;
		return colon ? parse_number(&words[i], colon, length - word, rule, why, room)
			     : QV_OK;
	}
	for (int i = 0; i < QV_N_ALGORITHMS; i++)
		if (qv_mpi_rule_has(name, i) &&
		    is(qv_algorithm_name((enum qv_algorithm)i), text, length)) {
			*rule = (struct qv_mpi_rule){.by = QV_MPI_BY_SCHEDULE,
						     .algorithm = (enum qv_algorithm)i};
			return QV_OK;
		}
	return unknown(name, text, length, why, room);
}
