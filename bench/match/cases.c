/* SPDX-License-Identifier: BSD-2-Clause */
/* cases.c - names of cases: the list, and any other size that --filter spells out. */
#include "match.h"

#include <stdlib.h>
#include <string.h>

static const char *const positions[] = {"head", "tail", "rand", "miss", NULL};
static const char *const queues[] = {"prq", "umq", NULL};
static const char *const random_only[] = {"rand", NULL};
static const char *const paths[] = {"post-miss", "arrive-hit", "arrive-miss", "post-hit", NULL};
static const char *const wilds[] = {"anysrc", "anytag", "both", "mix", NULL};
static const char *const apps[] = {"stencil", "gather", "gather_any", "manysrc", "manytag",
				   "near32",  "dup",    "dupblk",     NULL};

/* Sizes of the full and of the quick run, ended by END. */
#define END UINT32_MAX
static const uint32_t depths[] = {0, 1, 2, 4, 8, 16, 32, 64, 256, 1000, 4096, 10000, 100000, END};
static const uint32_t quick_depths[] = {0, 1, 4, 32, 1000, END};
static const uint32_t fills[] = {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, END};
static const uint32_t quick_fills[] = {16, 1024, END};
static const uint32_t wild_depths[] = {8, 64, 1000, 10000, END};
static const uint32_t quick_wild_depths[] = {64, END};
static const uint32_t fours[] = {1000, 10000, 100000, END};
static const uint32_t quick_fours[] = {1000, END};
static const uint32_t app_sizes[] = {64, 1024, 16384, END};
static const uint32_t quick_app_sizes[] = {1024, END};
static const uint32_t memories[] = {0, 100, 10000, 100000, END};

static const struct group {
	const char *name;
	enum qv_bm_group group;
	const char *const *words;
	bool percent;
	const uint32_t *sizes, *quick;
	uint32_t most;
} groups[] = {
	{"prq", QV_BM_PRQ, positions, false, depths, quick_depths, 1000000},
	{"umq", QV_BM_UMQ, positions, false, depths, quick_depths, 1000000},
	{"burst", QV_BM_BURST, queues, false, fills, quick_fills, 1000000},
	{"shuffle", QV_BM_SHUFFLE, queues, false, fills, quick_fills, 1000000},
	{"moraru", QV_BM_MORARU, random_only, false, fills, quick_fills, 1000000},
	{"four", QV_BM_FOUR, paths, false, fours, quick_fours, 1000000},
	{"wprq", QV_BM_WPRQ, wilds, true, wild_depths, quick_wild_depths, 1000000},
	{"wumq", QV_BM_WUMQ, wilds, true, wild_depths, quick_wild_depths, 1000000},
	{"app", QV_BM_APP, apps, false, app_sizes, quick_app_sizes, 1000000},
	{"mem", QV_BM_MEM, queues, false, memories, memories, 1000000},
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static const uint32_t percents[] = {1, 10, 50, 100};

/* The index of the word that text[0..n) is, or -1. */
static int word(const char *const *words, const char *text, size_t n)
{
	for (int i = 0; words[i]; i++)
		if (strlen(words[i]) == n && !strncmp(words[i], text, n))
			return i;
	return -1;
}

/* Digits only, at most six of them and up to `most`; *end: what follows. -1: none. */
static long number(const char *text, uint32_t most, const char **end)
{
	size_t n = strspn(text, "0123456789");
	long value = n && n <= 7 ? strtol(text, NULL, 10) : -1;

	*end = text + n;
	return value <= (long)most ? value : -1;
}

/* Whether a position, pattern or percentage makes sense at this size. */
static bool meaningful(const struct qv_bm_case *c)
{
	switch (c->group) {
	case QV_BM_PRQ:
	case QV_BM_UMQ: /* at depth 1 head, tail and rand are one */
		return c->kind == QV_BM_MISS || c->n > 1 || (c->kind == QV_BM_HEAD && c->n == 1);
	case QV_BM_WPRQ:
	case QV_BM_WUMQ: return c->n > 0 && c->percent > 0 && c->percent <= 100;
	case QV_BM_MEM: return !c->drained || c->n > 0;
	default: return c->n > 0;
	}
}

/* The case of a name in full. -1: it is none. */
static int parse(const char *name, struct qv_bm_case *c)
{
	size_t n = strcspn(name, "/");
	const char *text = name + n + 1, *end;
	long value;

	memset(c, 0, sizeof(*c));
	for (const struct group *g = groups; name[n] && g < groups + GROUPS; g++) {
		size_t letters = strcspn(text, g->percent ? "0123456789/" : "/");

		if (strlen(g->name) != n || strncmp(g->name, name, n))
			continue;
		c->group = g->group;
		c->kind = word(g->words, text, letters);
		text += letters;
		if (g->percent) {
			value = number(text, 100, &text);
			c->percent = value < 0 ? 0 : (uint32_t)value;
		}
		value = *text == '/' ? number(text + 1, g->most, &end) : -1;
		if (value < 0 || c->kind < 0)
			return -1;
		c->n = (uint32_t)value;
		if (g->group == QV_BM_MEM)
			c->drained = strcmp(end, "-drained") == 0 ? QV_BM_DRAINED
				     : strcmp(end, "-idle") == 0  ? QV_BM_IDLE
								  : QV_BM_FULL;
		snprintf(c->name, sizeof(c->name), "%s", name);
		return (*end && !c->drained) || !meaningful(c) ? -1 : 0;
	}
	return -1;
}

struct list {
	const struct qv_bench_opts *opts;
	struct qv_bm_case *at;
	size_t n, room;
};

static void put(struct list *list, const struct qv_bm_case *c)
{
	if (list->n == list->room) {
		list->room = list->room ? 2 * list->room : 512;
		list->at = realloc(list->at, list->room * sizeof(*c));
		if (!list->at)
			abort();
	}
	list->at[list->n++] = *c;
}

/* If it is a case, and wanted. */
static void offer(struct list *list, const char *name)
{
	struct qv_bm_case c;

	if (qv_bench_case_wanted(list->opts, name) && parse(name, &c) == 0)
		put(list, &c);
}

static void offer_sizes(struct list *list, const struct group *g, const char *stem)
{
	const uint32_t *sizes = list->opts->quick && !list->opts->filter ? g->quick : g->sizes;
	char name[QV_BENCH_NAME];

	for (; *sizes != END; sizes++) {
		snprintf(name, sizeof(name), "%s/%u", stem, *sizes);
		offer(list, name);
	}
	if (g->group == QV_BM_MEM) {
		snprintf(name, sizeof(name), "%s/100000-drained", stem);
		offer(list, name);
		snprintf(name, sizeof(name), "%s/100000-idle", stem);
		offer(list, name);
	}
}

/* Sizes that belong to one pattern: neighbours in 2-D and 3-D, duplicates. */
static bool offer_app(struct list *list, int app)
{
	static const char *const own[][3] = {
		[QV_BM_STENCIL] = {"app/stencil/6", "app/stencil/26"},
		[QV_BM_DUP] = {"app/dup/1000"},
		[QV_BM_DUPBLK] = {"app/dupblk/1256"},
	};

	if (!own[app][0])
		return false;
	for (int i = 0; own[app][i]; i++)
		offer(list, own[app][i]);
	return true;
}

static void offer_group(struct list *list, const struct group *g)
{
	char stem[QV_BENCH_NAME];
	bool few = list->opts->quick && !list->opts->filter;

	for (int w = 0; g->words[w]; w++) {
		if (g->group == QV_BM_APP && offer_app(list, w))
			continue;
		snprintf(stem, sizeof(stem), "%s/%s", g->name, g->words[w]);
		if (!g->percent) {
			offer_sizes(list, g, stem);
			continue;
		}
		for (size_t p = 0; p < sizeof(percents) / sizeof(percents[0]); p++) {
			if (few && percents[p] != 10)
				continue;
			snprintf(stem, sizeof(stem), "%s/%s%u", g->name, g->words[w], percents[p]);
			offer_sizes(list, g, stem);
		}
	}
}

/* One element of --filter: sizes that no list has may be spelled out. Whether it wants a case. */
static bool offer_spelled(struct list *list, const char *glob)
{
	const struct qv_bench_opts opts = {.filter = glob};
	struct qv_bm_case c;

	for (size_t i = 0; i < list->n; i++)
		if (qv_bench_case_wanted(&opts, list->at[i].name))
			return true;
	if (parse(glob, &c))
		return false;
	put(list, &c);
	return true;
}

/* Whether every element of --filter wants a case. */
static bool offer_filter(struct list *list, const char *filter)
{
	char glob[256];

	while (*filter) {
		size_t n = strcspn(filter, ",");

		snprintf(glob, sizeof(glob), "%.*s", (int)n, filter);
		if (!offer_spelled(list, glob)) {
			fprintf(stderr, "quiver: no case matches --filter '%s'\n", glob);
			return false;
		}
		filter += n;
		filter += *filter == ',';
	}
	return true;
}

size_t qv_bm_case_list(const struct qv_bench_opts *opts, struct qv_bm_case **cases)
{
	struct list list = {.opts = opts};

	for (size_t g = 0; g < GROUPS; g++)
		offer_group(&list, &groups[g]);
	*cases = list.at;
	if (!opts->filter)
		return list.n;
	if (*opts->filter && offer_filter(&list, opts->filter)) {
		*cases = list.at;
		return list.n;
	}
	if (!*opts->filter)
		fprintf(stderr, "quiver: --filter is empty\n");
	free(list.at);
	*cases = NULL;
	return 0;
}
