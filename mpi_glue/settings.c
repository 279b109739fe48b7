/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.c - QUIVER_MPI_COLL: the rules of select.h, and `mpi` for what stays the
 * MPI's, and `memory` for what goes through memory of a node. */
#include "glue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !memcmp(name, text, length);
}

/* The operation of so many characters; QV_MPI_N_COLLS if it is none of ours. */
static int find_operation(const char *text, size_t length)
{
	int i = 0;

	while (i < QV_MPI_N_COLLS && !is(qv_coll_name((enum qv_coll)i), text, length))
		i++;
	return i;
}

static int unknown(const char *text, size_t length, char *why, size_t room)
{
	size_t at =
		(size_t)snprintf(why, room, "unknown operation '%.*s'; known:", (int)length, text);

	for (int i = 0; i < QV_MPI_N_COLLS && at < room; i++)
		at += (size_t)snprintf(why + at, room - at, " %s", qv_coll_name((enum qv_coll)i));
	if (at < room)
		at += (size_t)snprintf(why + at, room - at, " reduce_local");
	for (int i = QV_MPI_ALLGATHERV; i < QV_MPI_N_NAMES && at < room; i++)
		at += (size_t)snprintf(why + at, room - at, " %s",
				       qv_mpi_rule_name((enum qv_mpi_name)i));
	return QV_EINVAL;
}

/* "neighbor_alltoall=friends:4", say; QV_ENOENT: another operation. */
static int take_rule(const char *text, size_t n, struct qv_mpi_rules *rules, char *why, size_t room)
{
	const char *equals = memchr(text, '=', n);
	const size_t name = equals ? (size_t)(equals - text) : n;
	const enum qv_mpi_name found = qv_mpi_rule_find(text, name);

	if (found == QV_MPI_N_NAMES)
		return QV_ENOENT;
	if (!equals) {
		snprintf(why, room, "no '=' in '%.*s'", (int)n, text);
		return QV_EINVAL;
	}
	if (rules->named[found]) {
		snprintf(why, room, "operation named twice: '%.*s'", (int)name, text);
		return QV_EINVAL;
	}
	rules->named[found] = true;
	return qv_mpi_rule_parse(found, equals + 1, n - name - 1, &rules->rule[found], why, room);
}

/* "reduce_local=kernel"; QV_ENOENT: another operation. */
static int take_local(const char *text, size_t n, struct qv_mpi_rules *rules, char *why,
		      size_t room)
{
	static const char name[] = "reduce_local=";
	const size_t length = sizeof(name) - 1;

	if (n < length - 1 || memcmp(text, name, length - 1) != 0 ||
	    (n >= length && text[length - 1] != '='))
		return QV_ENOENT;
	rules->reduce_local = n >= length && (is("kernel", text + length, n - length) ||
					      is("auto", text + length, n - length));
	if (rules->reduce_local || (n >= length && is("mpi", text + length, n - length)))
		return QV_OK;
	snprintf(why, room, "'%.*s'; write reduce_local=kernel, auto or mpi", (int)n, text);
	return QV_EINVAL;
}

/* Note which operations are named; rest gets what is for qv_select_open. */
static int split(const char *text, struct qv_mpi_rules *rules, char *rest, char *why, size_t room)
{
	size_t n;

	for (; *text; text += n + (text[n] == ',')) {
		const char *equals = strchr(text, '=');
		size_t name;
		int coll;

		n = strcspn(text, ",");
		coll = take_local(text, n, rules, why, room);
		if (coll == QV_ENOENT)
			coll = take_rule(text, n, rules, why, room);
		if (!coll)
			continue;
		if (coll != QV_ENOENT)
			return coll;
		name = equals && equals < text + n ? (size_t)(equals - text) : n;
		coll = find_operation(text, name);
		if (coll == QV_MPI_N_COLLS)
			return unknown(text, name, why, room);
		if (name < n && is("mpi", text + name + 1, n - name - 1))
			continue;
		rules->ours[coll] = true;
		rules->memory[coll] = qv_mpi_memory_has((enum qv_coll)coll) && name < n &&
				      is("memory", text + name + 1, n - name - 1);
		if (rules->memory[coll])
			continue;
		rules->automatic[coll] =
			name < n && n - name - 1 >= 4 && !memcmp(text + name + 1, "auto", 4);
		if (*rest)
			strcat(rest, ",");
		strncat(rest, text, n);
	}
	return QV_OK;
}

int qv_mpi_rules_open(const char *text, struct qv_mpi_rules **opened, char *why, size_t room)
{
	struct qv_mpi_rules *rules = calloc(1, sizeof(*rules));
	char *rest = calloc(1, strlen(text) + 2);
	int rc = QV_ENOMEM;

	if (rules && rest && (rules->text = strdup(text)))
		rc = split(text, rules, rest, why, room);
	if (!rc)
		rc = qv_select_open(rest, why, room, &rules->select);
	free(rest);
	if (rc) {
		if (rules)
			free(rules->text);
		free(rules);
		return rc;
	}
	for (int i = 0; i < QV_N_COLLS; i++) {
		const enum qv_coll coll = (enum qv_coll)i;

		rules->observed[i] = qv_select_wants_arrivals(rules->select, coll) ||
				     (rules->automatic[i] && qv_expect_serves(coll));
	}
	rules->users = 1;
	rules->number = ++qv_mpi.rules_made;
	if (qv_mpi.network.alpha > 0)
		qv_select_network(rules->select, &qv_mpi.network);
	if (qv_mpi.bursts.alpha > 0)
		qv_select_bursts(rules->select, &qv_mpi.bursts);
	*opened = rules;
	return QV_OK;
}

void qv_mpi_rules_put(struct qv_mpi_rules *rules)
{
	if (!rules || --rules->users)
		return;
	qv_select_close(rules->select);
	free(rules->text);
	free(rules);
}

/* From mpi_control.h. */

int qv_mpi_set(const char *settings)
{
	struct qv_mpi_rules *rules = NULL;
	char why[512];
	int rc;

	if (!qv_mpi.on)
		return QV_ENOSYS;
	pthread_mutex_lock(&qv_mpi.lock);
	rc = qv_mpi_rules_open(settings ? settings : qv_mpi.text, &rules, why, sizeof(why));
	if (!rc) {
		qv_mpi_rules_put(qv_mpi.rules);
		qv_mpi.rules = rules;
	}
	pthread_mutex_unlock(&qv_mpi.lock);
	return rc;
}

int qv_mpi_network(double alpha, double beta, double gamma)
{
	const struct qv_network network = {.alpha = alpha, .beta = beta, .gamma = gamma};
	int rc;

	if (!qv_mpi.on)
		return QV_ENOSYS;
	pthread_mutex_lock(&qv_mpi.lock);
	rc = qv_select_network(qv_mpi.rules->select, &network);
	if (!rc) {
		qv_mpi.network = network;
		qv_mpi.bursts.alpha = 0;
	}
	pthread_mutex_unlock(&qv_mpi.lock);
	return rc;
}
