/* SPDX-License-Identifier: BSD-2-Clause */
/* partners.c - counts per source: reading them, and what makes a source a partner. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partners.h"

#define LINE_MAX_LEN 256

static int compare_source(const void *a, const void *b)
{
	const struct qv_source_count *x = a, *y = b;

	return (x->src > y->src) - (x->src < y->src);
}

static int compare_count(const void *a, const void *b)
{
	const struct qv_source_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return compare_source(a, b);
}

void qv_counts_by_source(struct qv_source_count *v, uint32_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), compare_source);
}

void qv_counts_by_count(struct qv_source_count *v, uint32_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), compare_count);
}

/* The value at rank i of the whole population, zeros first. */
static double value_at(const struct qv_source_count *v, uint32_t zeros, uint32_t i)
{
	return i < zeros ? 0 : (double)v[i - zeros].count;
}

double qv_counts_edge(const struct qv_source_count *v, uint32_t n, uint32_t population,
		      const struct qv_options *options)
{
	uint32_t all = options->present || population < n ? n : population;
	double sum = 0;

	if (!all)
		return 0;
	switch (options->metric) {
	case QV_METRIC_MEDIAN:
		return (value_at(v, all - n, (all - 1) / 2) + value_at(v, all - n, all / 2)) / 2;
	case QV_METRIC_FENCE: /* the upper quartile */
		return value_at(v, all - n, (uint32_t)((uint64_t)3 * (all - 1) / 4));
	default:
		for (uint32_t i = 0; i < n; i++)
			sum += (double)v[i].count;
		return sum / all;
	}
}

/* A decimal number that ends at white space; *text moves past it. */
static int read_number(const char **text, uint64_t max, uint64_t *value)
{
	char *end;

	*text += strspn(*text, " \t");
	if (**text < '0' || **text > '9')
		return QV_EINVAL;
	errno = 0;
	*value = strtoull(*text, &end, 10);
	if (errno || *value > max || (*end && !strchr(" \t\r\n", *end)))
		return QV_EINVAL;
	*text = end;
	return QV_OK;
}

static int add(struct qv_profile *p, struct qv_mem *mem, uint64_t src, const uint64_t count[2])
{
	if (p->n == p->room) {
		uint32_t room = p->room ? 2 * p->room : 128;
		struct qv_source_count *v = qv_mem_get(mem, room * sizeof(*v) * 2);

		if (!v)
			return QV_ENOMEM;
		for (int side = 0; side < 2 && p->n; side++)
			memcpy(v + side * room, p->v[side], p->n * sizeof(*v));
		qv_profile_free(p, mem);
		p->v[QV_POSTED] = v;
		p->v[QV_UNEXPECTED] = v + room;
		p->room = room;
	}
	for (int side = 0; side < 2; side++)
		p->v[side][p->n] = (struct qv_source_count){(uint32_t)src, count[side]};
	p->n++;
	return QV_OK;
}

static int read_line(struct qv_profile *p, struct qv_mem *mem, const char *line)
{
	uint64_t src, count[2];

	line += strspn(line, " \t\r\n");
	if (!*line || *line == '#')
		return QV_OK;
	/* Counts are added up: none may bring that to an overflow. */
	if (read_number(&line, QV_SRC_ANY - 1, &src) ||
	    read_number(&line, UINT32_MAX, &count[QV_POSTED]))
		return QV_EINVAL;
	/* One count is of both queues. */
	count[QV_UNEXPECTED] = count[QV_POSTED];
	if (line[strspn(line, " \t\r\n")] && read_number(&line, UINT32_MAX, &count[QV_UNEXPECTED]))
		return QV_EINVAL;
	if (line[strspn(line, " \t\r\n")])
		return QV_EINVAL;
	return add(p, mem, src, count);
}

static int read_lines(struct qv_profile *p, struct qv_mem *mem, FILE *file)
{
	char line[LINE_MAX_LEN];
	int err = QV_OK;

	while (!err && fgets(line, sizeof(line), file)) {
		p->bad_line++;
		/* Longer than a line can be, or a NUL inside of it. */
		if (!strchr(line, '\n') && !feof(file))
			return QV_EINVAL;
		err = read_line(p, mem, line);
	}
	if (err)
		return err;
	p->bad_line = 0;
	return ferror(file) ? QV_EINVAL : QV_OK;
}

int qv_profile_read(struct qv_profile *p, struct qv_mem *mem, const char *path)
{
	FILE *file;
	int err;

	*p = (struct qv_profile){.bad_source = QV_SRC_ANY};
	if (!path)
		return QV_EINVAL;
	file = fopen(path, "re");
	if (!file)
		return QV_EINVAL;
	err = read_lines(p, mem, file);
	(void)fclose(file);
	if (!err && !p->n)
		err = QV_EINVAL;
	for (int side = 0; side < 2; side++)
		qv_counts_by_source(p->v[side], p->n);
	for (uint32_t i = 1; !err && i < p->n; i++)
		if (p->v[QV_POSTED][i].src == p->v[QV_POSTED][i - 1].src) {
			p->bad_source = p->v[QV_POSTED][i].src;
			err = QV_EINVAL;
		}
	if (err)
		qv_profile_free(p, mem);
	return err;
}

void qv_profile_free(struct qv_profile *p, struct qv_mem *mem)
{
	qv_mem_put(mem, p->v[QV_POSTED], p->room * sizeof(**p->v) * 2);
	p->v[QV_POSTED] = p->v[QV_UNEXPECTED] = NULL;
}
