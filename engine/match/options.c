/* SPDX-License-Identifier: BSD-2-Clause */
/* options.c - what may follow the colon in the name of a structure: parsing. */
#include <stddef.h>
#include <string.h>

#include <quiver/types.h>

#include "options.h"

#define AT(field) offsetof(struct qv_options, field)

/* A word that stands alone sets a field to `low`; one that ends in '=' is followed by a number. */
static const struct rule {
	const char *word;
	uint32_t group;
	size_t field;
	uint32_t low, high;
} rules[] = {
	{"ll", QV_OPT_LIST, AT(list), QV_LIST_LL, 0},
	{"lla", QV_OPT_LIST, AT(list), QV_LIST_LLA, 0},
	{"llv", QV_OPT_LIST, AT(list), QV_LIST_LLV, 0},
	{"block=", QV_OPT_BLOCK | QV_OPT_LIST, AT(block), 2, 4096},
	{"mean", QV_OPT_PARTNERS, AT(metric), QV_METRIC_MEAN, 0},
	{"median", QV_OPT_PARTNERS, AT(metric), QV_METRIC_MEDIAN, 0},
	{"fence", QV_OPT_PARTNERS, AT(metric), QV_METRIC_FENCE, 0},
	{"present", QV_OPT_PARTNERS, AT(present), 1, 0},
	{"t=", QV_OPT_LEVELS, AT(t), 1, 1 << 24},
	{"c=", QV_OPT_LEVELS, AT(c), 1, 64},
	{"kmeans=", QV_OPT_CLUSTERS, AT(kmeans), 1, 65536},
	{"strict", QV_OPT_CLUSTERS, AT(strict), 1, 0},
	{"k=", QV_OPT_QUEUES, AT(k), 1, 64},
};

static int parse_number(const char *text, size_t len, uint32_t *value)
{
	uint64_t v = 0;

	if (len < 1 || len > 9)
		return QV_EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return QV_EINVAL;
		v = v * 10 + (uint64_t)(text[i] - '0');
	}
	*value = (uint32_t)v;
	return QV_OK;
}

static int apply(const struct rule *r, const char *text, size_t len, struct qv_options *o)
{
	uint32_t *field = (uint32_t *)((char *)o + r->field);
	size_t word = strlen(r->word);
	uint32_t value = r->low;

	if (r->word[word - 1] == '=') {
		if (parse_number(text + word, len - word, &value) || value < r->low ||
		    value > r->high)
			return QV_EINVAL;
	}
	*field = value;
	return QV_OK;
}

static int parse_one(const char *text, size_t len, uint32_t groups, struct qv_options *o)
{
	const char *equals = memchr(text, '=', len);
	size_t word = equals ? (size_t)(equals - text) + 1 : len;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].group & groups && !strncmp(rules[i].word, text, word) &&
		    !rules[i].word[word])
			return apply(&rules[i], text, len, o);
	return QV_EINVAL;
}

int qv_options_parse(const char *text, uint32_t groups, struct qv_options *o)
{
	memset(o, 0, sizeof(*o));
	o->t = 100;
	o->c = 4;
	o->k = 8;
	while (text) {
		size_t len = strcspn(text, ",");

		if (!len || parse_one(text, len, groups, o))
			return QV_EINVAL;
		text = text[len] ? text + len + 1 : NULL;
	}
	return QV_OK;
}
