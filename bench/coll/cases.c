/* SPDX-License-Identifier: BSD-2-Clause */
/* cases.c - <operation>/<ranks>/<bytes>/<pattern>. */
#include "coll.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const operations[QV_BL_OPERATIONS] = {
	"reduce",
	"allreduce",
	"reduce_scatter",
	"barrier",
	"broadcast",
	"allgather",
	"alltoall",
	"ireduce",
	"iallreduce",
	"pair",
	"allgatherv",
	"alltoallv",
	"neighbor_allgather",
	"neighbor_alltoall",
	"spmm",
	"stream",
};

const char *qv_bl_operation_name(enum qv_bl_operation operation)
{
	return operations[operation];
}

static int find_operation(const char *name, size_t n, enum qv_bl_operation *out)
{
	for (int i = 0; i < QV_BL_OPERATIONS; i++)
		if (strlen(operations[i]) == n && !memcmp(operations[i], name, n)) {
			*out = (enum qv_bl_operation)i;
			return 0;
		}
	return -1;
}

enum qv_bl_operation qv_bl_blocking(enum qv_bl_operation operation)
{
	switch (operation) {
	case QV_BL_IREDUCE: return QV_BL_REDUCE;
	case QV_BL_IALLREDUCE: return QV_BL_ALLREDUCE;
	default: return operation;
	}
}

static bool is_nonblocking(enum qv_bl_operation operation)
{
	return qv_bl_blocking(operation) != operation;
}

/* There is a nonblocking form, too. */
static bool has_both(enum qv_bl_operation operation)
{
	return qv_bl_blocking(operation) <= QV_BL_ALLREDUCE;
}

/* What is behind a word and a number from low to high, or NULL. */
static const char *number(const char *text, const char *word, double low, double high, double *out)
{
	const size_t n = strlen(word);
	char *end;

	if (strncmp(text, word, n) != 0 || !isdigit((unsigned char)text[n]))
		return NULL;
	*out = strtod(text + n, &end);
	return *out >= low && *out <= high ? end : NULL;
}

/* Who comes late: what is behind it, or NULL. */
static const char *parse_delays(const char *text, struct qv_bl_case *c)
{
	static const char *const words[] = {"late", "alt", "uniform", "gamma"};
	const char *end = NULL;
	double some;

	for (int i = 0; i < 4 && !end; i++) {
		c->pattern = "lang"[i];
		end = number(text, words[i], 0, 100, &c->late);
	}
	if (end)
		return c->pattern == 'g' ? number(end, "-shape", 0.001, 1000, &c->shape) : end;
	c->pattern = 'o';
	end = number(text, "", 1, c->ranks - 1, &some);
	if (end) {
		c->some = (int)some;
		return some > c->some ? NULL : number(end, "late", 0, 100, &c->late);
	}
	c->pattern = 'f';
	return strncmp(text, "file", 4) ? NULL : text + 4;
}

/* "balanced", "late1.0", "gamma1.0-shape0.5", "late1.0-work0.5", "all". */
static int parse_pattern(const char *text, struct qv_bl_case *c)
{
	const char *end;

	c->some = 0;
	c->late = c->shape = c->work = c->reach = 0;
	if (!qv_bx_pattern(text, c))
		return 0;
	if (c->operation > QV_BL_PAIR)
		return -1;
	if (c->operation == QV_BL_PAIR) {
		c->pattern = 'p';
		return strcmp(text, "all") ? -1 : 0;
	}
	if (!strcmp(text, "balanced")) {
		c->pattern = 'b';
		return 0;
	}
	end = parse_delays(text, c);
	if (end && *end && has_both(c->operation))
		end = number(end, "-work", 0, 100, &c->work);
	return end && !*end ? 0 : -1;
}

int qv_bl_case_parse(const char *name, int ranks, struct qv_bl_case *out)
{
	const char *slash = strchr(name, '/');
	char *end;

	/* Behind it "-messages" may stand. */
	if (!slash || strlen(name) + sizeof("-messages") > sizeof(out->name) ||
	    find_operation(name, (size_t)(slash - name), &out->operation))
		return -1;
	strcpy(out->name, name);
	out->ranks = isdigit((unsigned char)slash[1]) ? (int)strtol(slash + 1, &end, 10) : 0;
	if (out->ranks != ranks || *end != '/' || !isdigit((unsigned char)end[1]))
		return -1;
	out->bytes = strtol(end + 1, &end, 10);
	if (*end != '/' || out->bytes < 0 || out->bytes > 1L << 30 || out->bytes % 8)
		return -1;
	if (!out->bytes != (out->operation == QV_BL_BARRIER))
		return -1;
	return parse_pattern(end + 1, out);
}

static const char *const patterns[] = {"balanced", "late1.0", "alt1.0"};
static const char *const overlaps[] = {"late1.0", "late1.0-work0.5", "late1.0-work1.0"};

size_t qv_bl_case_add(const struct qv_bench_opts *opts, int ranks, struct qv_bl_case *out, size_t n,
		      enum qv_bl_operation operation, long bytes, const char *pattern)
{
	char name[QV_BENCH_NAME];

	snprintf(name, sizeof(name), "%s/%d/%ld/%s", operations[operation], ranks, bytes, pattern);
	if (n == QV_BL_CASES || !qv_bench_case_wanted(opts, name) ||
	    qv_bl_case_parse(name, ranks, &out[n]))
		return n;
	return n + 1;
}

/* What --quick runs unless a filter says more: short, in between, long. */
static int is_quick(enum qv_bl_operation operation, long bytes, const char *pattern)
{
	if (operation != QV_BL_REDUCE && operation != QV_BL_ALLREDUCE)
		return 0;
	return (bytes == 8 || bytes == 131072 || bytes == 1048576) && strcmp(pattern, "alt1.0");
}

size_t qv_bl_case_named(const struct qv_bench_opts *opts, int ranks, struct qv_bl_case *out,
			size_t n)
{
	const char *at = opts->filter ? opts->filter : "";
	char name[QV_BENCH_NAME];

	for (; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		size_t length = strcspn(at, ","), i = 0;

		if (length >= sizeof(name) || n == QV_BL_CASES)
			continue;
		memcpy(name, at, length);
		name[length] = '\0';
		while (i < n && strcmp(out[i].name, name) != 0)
			i++;
		if (i == n && !qv_bl_case_parse(name, ranks, &out[n]))
			n++;
	}
	return n;
}

size_t qv_bl_case_list(const struct qv_bench_opts *opts, int ranks, struct qv_bl_case *out)
{
	static const long sizes[] = {8, 1024, 16384, 131072, 524288, 1048576, 4194304, 16777216};
	size_t n = 0;

	for (int o = 0; o <= QV_BL_PAIR; o++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			for (size_t p = 0; p < 3; p++) {
				const enum qv_bl_operation operation = (enum qv_bl_operation)o;
				const char *pattern =
					is_nonblocking(operation) ? overlaps[p] : patterns[p];
				long bytes = sizes[s];

				if (operation == QV_BL_BARRIER)
					bytes = 0;
				if (operation == QV_BL_PAIR)
					pattern = "all";
				if (opts->quick && !opts->filter &&
				    !is_quick(operation, bytes, pattern))
					continue;
				if ((bytes || s == 0) && (operation != QV_BL_PAIR || p == 0))
					n = qv_bl_case_add(opts, ranks, out, n, operation, bytes,
							   pattern);
			}
	return qv_bl_case_named(opts, ranks, out, n);
}
