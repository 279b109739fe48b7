/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clu.c - structure "clu": sources that send about as much share a list.
 *
 * Heuristic  Sources by count, ascending, fill a cluster until it has more than mean + standard
 *            deviation of all counts: work is spread evenly, and only a source far above the others
 *            is alone. A cluster may exceed that by its last source; `strict` closes it before.
 * K-means    Lloyd's iteration in one dimension: clusters are ranges of the counts in order, and a
 *            border lies half way between the means on its sides. Begins with means at even steps
 *            through the distinct counts; a cluster that loses its last source is dropped.
 */
#include "mapped.h"

#define ROUNDS     100
#define MAX_KMEANS 1024

/* mean + standard deviation (sqrt would need libm: compare squares instead). */
struct limit {
	double mean, variance;
};

static struct limit find_limit(const struct qv_source_count *v, uint32_t n, uint32_t population)
{
	struct limit l = {0, 0};
	double d;

	for (uint32_t i = 0; i < n; i++)
		l.mean += (double)v[i].count;
	l.mean /= population;
	for (uint32_t i = 0; i < n; i++) {
		d = (double)v[i].count - l.mean;
		l.variance += d * d;
	}
	l.variance += (population - n) * l.mean * l.mean;
	l.variance /= population;
	return l;
}

static int is_above(const struct limit *l, double x)
{
	return x > l->mean && (x - l->mean) * (x - l->mean) > l->variance;
}

/* Sources that are not in the profile, or added nothing, come first: they are in cluster 0. */
static void by_heuristic(struct qv_mapping *map, const struct qv_source_count *v, uint32_t n,
			 uint32_t population, int strict)
{
	struct limit limit = find_limit(v, n, population);
	uint32_t k = 0, last = 0;
	double total = 0;

	for (uint32_t i = 0; i < n; i++) {
		double count = (double)v[i].count;

		if (strict && total > 0 && is_above(&limit, total + count)) {
			k++;
			total = 0;
		}
		map->cell[i] = (struct qv_phash_cell){v[i].src, k};
		last = k;
		total += count;
		if (!strict && is_above(&limit, total)) {
			k++;
			total = 0;
		}
	}
	map->other = 0;
	map->n_lists = last + 1;
}

/* K-means over v, by count ascending, and `zeros` sources that sent nothing before them. */
struct kmeans {
	const struct qv_source_count *v;
	uint32_t n, zeros, k;
	double mean[MAX_KMEANS];
	uint32_t end[MAX_KMEANS]; /* v[end[j - 1]] .. v[end[j] - 1] are in cluster j */
};

static void start(struct kmeans *km, uint32_t k)
{
	uint32_t distinct = km->zeros > 0, at = 0, j = 0;
	uint64_t before = 0;

	for (uint32_t i = 0; i < km->n; i++) {
		distinct += km->v[i].count != before || (i == 0 && !km->zeros);
		before = km->v[i].count;
	}
	km->k = k < distinct ? k : distinct;
	if (km->zeros) {
		if ((uint64_t)distinct / (2 * km->k) == 0)
			km->mean[j++] = 0;
		at = 1;
	}
	before = 0;
	for (uint32_t i = 0; i < km->n && j < km->k; i++) {
		if (km->v[i].count == before && (i || km->zeros))
			continue;
		before = km->v[i].count;
		if (at++ == (2 * (uint64_t)j + 1) * distinct / (2 * km->k))
			km->mean[j++] = (double)before;
	}
	km->k = j;
}

/* Draw the borders anew; returns 1 if one has moved. */
static int draw_borders(struct kmeans *km)
{
	uint32_t i = 0;
	int moved = 0;

	for (uint32_t j = 0; j < km->k; j++) {
		while (i < km->n && (j + 1 == km->k ||
				     2 * (double)km->v[i].count <= km->mean[j] + km->mean[j + 1]))
			i++;
		moved |= km->end[j] != i;
		km->end[j] = i;
	}
	return moved;
}

static void find_means(struct kmeans *km)
{
	uint32_t i = 0, out = 0;

	for (uint32_t j = 0; j < km->k; j++) {
		/* All that sent nothing are nearest to the lowest mean. */
		double sum = 0, members = j ? 0 : km->zeros;

		for (; i < km->end[j]; i++) {
			sum += (double)km->v[i].count;
			members++;
		}
		if (members > 0) {
			km->mean[out] = sum / members;
			km->end[out++] = i;
		}
	}
	km->k = out;
}

static void by_kmeans(struct qv_mapping *map, const struct qv_source_count *v, uint32_t n,
		      uint32_t population, uint32_t k)
{
	struct kmeans km = {.v = v, .n = n, .zeros = population - n};
	uint32_t i = 0;

	start(&km, k < MAX_KMEANS ? k : MAX_KMEANS);
	for (int round = 0; round < ROUNDS && draw_borders(&km); round++)
		find_means(&km);
	for (uint32_t j = 0; j < km.k; j++)
		for (; i < km.end[j]; i++)
			map->cell[i] = (struct qv_phash_cell){v[i].src, j};
	map->other = 0;
	map->n_lists = km.k;
}

void qv_map_clusters(struct qv_mapping *map, const struct qv_source_count *v, uint32_t n,
		     uint32_t population, const struct qv_options *options)
{
	map->n = n;
	if (options->kmeans)
		by_kmeans(map, v, n, population, options->kmeans);
	else
		by_heuristic(map, v, n, population, options->strict != 0);
}
