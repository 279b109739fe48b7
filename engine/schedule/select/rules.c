/* SPDX-License-Identifier: BSD-2-Clause */
/* rules.c - "reduce=segmented:faithful,allgather=kshift:4:paced=2": what the user asks for. */
#include <stdio.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/schedule/schedule.h"
#include "select.h"

#define MOST_RANKS 2147483647u /* more than a group may have */
#define MOST_PACE  65536
#define PACED      "paced=1 to paced=65536"

/* A part of the text. */
struct word {
	const char *at;
	size_t n;
};

struct message {
	char *why;
	size_t room;
};

static int is(struct word w, const char *name)
{
	return strlen(name) == w.n && !memcmp(w.at, name, w.n);
}

static void append(const struct message *m, const char *separator, const char *name)
{
	const size_t n = m->room ? strlen(m->why) : 0;

	if (m->room)
		snprintf(m->why + n, m->room - n, "%s%s", separator, name);
}

static int refuse(const struct message *m, const char *what, struct word w, const char *instead)
{
	if (m->room)
		snprintf(m->why, m->room, "%s '%.*s'; %s", what, (int)w.n, w.at, instead);
	return QV_EINVAL;
}

static int find_coll(struct word w, const struct message *m, enum qv_coll *coll)
{
	for (int i = 0; i < QV_N_COLLS; i++)
		if (is(w, qv_coll_name((enum qv_coll)i))) {
			*coll = (enum qv_coll)i;
			return QV_OK;
		}
	refuse(m, "unknown operation", w, "known:");
	for (int i = 0; i < QV_N_COLLS; i++)
		append(m, " ", qv_coll_name((enum qv_coll)i));
	return QV_EINVAL;
}

static int find_algorithm(struct word w, enum qv_coll coll, const struct message *m,
			  struct qv_rule *rule)
{
	rule->named = !is(w, "auto");
	for (int i = 0; i < QV_N_ALGORITHMS; i++)
		if (is(w, qv_algorithm_name((enum qv_algorithm)i)) &&
		    qv_schedule_exists(coll, (enum qv_algorithm)i, 0)) {
			rule->algorithm = (enum qv_algorithm)i;
			return QV_OK;
		}
	if (!rule->named)
		return QV_OK;
	refuse(m, "unknown algorithm", w, qv_coll_name(coll));
	append(m, " has", " auto");
	for (int i = 0; i < QV_N_ALGORITHMS; i++)
		if (qv_schedule_exists(coll, (enum qv_algorithm)i, 0))
			append(m, " ", qv_algorithm_name((enum qv_algorithm)i));
	return QV_EINVAL;
}

/* The largest number that may stand behind an algorithm; 0: none may. */
static uint32_t most_k(const struct qv_rule *rule)
{
	if (!rule->named)
		return 0;
	switch (rule->algorithm) {
	case QV_ALG_KPREFIX:
	case QV_ALG_KSHIFT: return 65536; /* neighbours */
	case QV_ALG_HYBRID: return 32;    /* dimensions */
	case QV_ALG_UNIT: return QV_UNIT_MOST_WAYS;
	default: return 0;
	}
}

/* "4:4:8" */
static int read_factors(struct word w, const struct message *m, struct qv_rule *rule)
{
	uint32_t product = 1;
	size_t n = 0, length;

	for (size_t at = 0; at <= w.n; at += length + 1) {
		const struct word rest = {w.at + at, w.n - at};
		const uint32_t factor = qv_digits(rest.at, rest.n, MOST_RANKS / product, &length);

		if (factor < 2 || (length < rest.n && rest.at[length] != ':'))
			return refuse(m, "unknown mode", w,
				      "known: faithful extended, and factors of the number of "
				      "ranks, as in 4:4:8");
		rule->radix[n++] = factor;
		product *= factor;
	}
	rule->radix_n = n;
	rule->product = product;
	return QV_OK;
}

static int can_pace(enum qv_coll coll, const struct qv_rule *rule)
{
	return rule->named && qv_can_pace(coll, rule->algorithm);
}

static int read_mode(struct word w, enum qv_coll coll, const struct message *m,
		     struct qv_rule *rule)
{
	const uint32_t most = most_k(rule), least = rule->algorithm == QV_ALG_UNIT ? 2 : 1;
	char numbers[32];
	uint32_t k;
	size_t length;

	rule->faithful = is(w, "faithful");
	if (rule->faithful || is(w, "extended"))
		return QV_OK;
	if (rule->named && rule->algorithm == QV_ALG_RADIX)
		return read_factors(w, m, rule);
	k = qv_digits(w.at, w.n, most, &length);
	if (length == w.n && k >= least) {
		rule->k = k;
		return QV_OK;
	}
	refuse(m, "unknown mode", w, "known: faithful extended");
	snprintf(numbers, sizeof(numbers), "%u to %u", least, most);
	if (most)
		append(m, ", and numbers from ", numbers);
	if (can_pace(coll, rule))
		append(m, "; behind them ", PACED);
	return QV_EINVAL;
}

/* A mode, "paced=2", or both. */
static int read_modes(struct word w, enum qv_coll coll, const struct message *m,
		      struct qv_rule *rule)
{
	static const char name[] = "paced=";
	const size_t name_n = sizeof(name) - 1;
	struct word pace = w;
	size_t length;

	for (size_t i = 0; i < w.n; i++)
		if (w.at[i] == ':')
			pace = (struct word){w.at + i + 1, w.n - i - 1};
	if (!can_pace(coll, rule) || pace.n < name_n || memcmp(pace.at, name, name_n))
		return read_mode(w, coll, m, rule);
	rule->pace = qv_digits(pace.at + name_n, pace.n - name_n, MOST_PACE, &length);
	if (!rule->pace || name_n + length < pace.n)
		return refuse(m, "unknown mode", pace, "known: " PACED);
	w.n -= pace.n;
	return w.n ? read_mode((struct word){w.at, w.n - 1}, coll, m, rule) : QV_OK;
}

/* "operation=algorithm[:mode][:paced=number]" */
static int parse_one(struct word w, struct qv_rule *rules, unsigned int *seen,
		     const struct message *m)
{
	const char *equals = memchr(w.at, '=', w.n);
	struct word name = {w.at, 0}, rest, mode = {NULL, 0};
	enum qv_coll coll = QV_COLL_REDUCE;
	const char *colon;
	int rc;

	if (!equals)
		return refuse(m, "no '=' in", w,
			      "write operation=algorithm[:faithful|extended|number|factors]"
			      "[:paced=number]");
	name.n = (size_t)(equals - w.at);
	rc = find_coll(name, m, &coll);
	if (rc)
		return rc;
	if (*seen >> coll & 1)
		return refuse(m, "operation named twice:", name, "once is enough");
	*seen |= 1u << coll;
	rules[coll].given = 1;
	rest = (struct word){equals + 1, w.n - name.n - 1};
	colon = memchr(rest.at, ':', rest.n);
	if (colon) {
		mode = (struct word){colon + 1, rest.n - (size_t)(colon - rest.at) - 1};
		rest.n = (size_t)(colon - rest.at);
	}
	rc = find_algorithm(rest, coll, m, &rules[coll]);
	return colon && !rc ? read_modes(mode, coll, m, &rules[coll]) : rc;
}

int qv_rules_parse(const char *text, struct qv_rule *rules, char *why, size_t room)
{
	const struct message m = {why, room};
	unsigned int seen = 0;
	int rc = QV_OK;

	memset(rules, 0, QV_N_COLLS * sizeof(*rules));
	if (text && !*text)
		text = NULL;
	while (text && !rc) {
		const size_t n = strcspn(text, ",");

		rc = parse_one((struct word){text, n}, rules, &seen, &m);
		text = text[n] ? text + n + 1 : NULL;
	}
	return rc;
}
