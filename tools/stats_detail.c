/* SPDX-License-Identifier: BSD-2-Clause */
/* stats_detail.c - FI_QUIVER_STATS=detail: read from the files of a job and added up. */
#include "stats.h"

#include <stdlib.h>

enum { SHOWN = 64 }; /* pairs in JSON */

static uint64_t natural(const json_t *value)
{
	json_int_t n = json_integer_value(value);

	return n > 0 ? (uint64_t)n : 0;
}

uint64_t qv_stats_number(const json_t *object, const char *name)
{
	return natural(json_object_get(object, name));
}

/* Reading. A file may have anything; what is not as it should be counts nothing. */

static void add_bins(uint64_t *bins, const json_t *object, const char *name)
{
	const json_t *array = json_object_get(object, name);
	size_t n = json_array_size(array);

	for (size_t i = 0; i < n && i < QV_DETAIL_BINS; i++)
		bins[i] += natural(json_array_get(array, i));
}

static void add_searches(struct qv_detail_searches *s, const json_t *object)
{
	add_bins(s->hits, object, "hits");
	add_bins(s->misses, object, "misses");
	s->hits_inspected += qv_stats_number(object, "hits_inspected");
	s->misses_inspected += qv_stats_number(object, "misses_inspected");
}

static void add_queue(struct qv_detail_queue *q, const json_t *object)
{
	add_searches(&q->searches, object);
	add_bins(q->depth, object, "depth");
	add_bins(q->ticks, object, "depth_ns");
}

static bool add_pairs(struct qv_stats_detail *d, const json_t *sources, int rank)
{
	size_t n = json_array_size(sources);
	struct qv_stats_pair *more;

	if (!n)
		return true;
	more = realloc(d->pairs, (d->n + n) * sizeof *more);
	if (!more)
		return false;
	d->pairs = more;
	for (size_t i = 0; i < n; i++) {
		const json_t *s = json_array_get(sources, i), *address;

		address = json_object_get(s, "address");
		d->pairs[d->n++] = (struct qv_stats_pair){
			.rank = rank,
			.address = json_is_integer(address) ? json_integer_value(address) : -1,
			.count = {.arrived = qv_stats_number(s, "arrived"),
				  .unexpected = qv_stats_number(s, "unexpected")}};
	}
	return true;
}

bool qv_stats_detail_add(struct qv_stats_detail *d, const json_t *queue, int rank)
{
	static const char *const kinds[4] = {
		"none", [QV_DETAIL_ANY_SOURCE] = "source", [QV_DETAIL_ANY_TAG] = "tag",
		[QV_DETAIL_ANY_SOURCE | QV_DETAIL_ANY_TAG] = "both"};
	const json_t *detail = json_object_get(queue, "detail");

	if (!json_is_object(detail))
		return true;
	d->any = true;
	for (unsigned i = 0; i < 4; i++)
		d->sum.wildcards[i] +=
			qv_stats_number(json_object_get(detail, "wildcards"), kinds[i]);
	add_queue(&d->sum.posted, json_object_get(detail, "posted_queue"));
	add_queue(&d->sum.unexpected, json_object_get(detail, "unexpected_queue"));
	add_searches(&d->sum.probes, json_object_get(detail, "probes"));
	return add_pairs(d, json_object_get(detail, "sources"), rank);
}

/* Pairs. */

static int by_name(const void *a, const void *b)
{
	const struct qv_stats_pair *p = a, *q = b;

	return p->rank != q->rank ? (p->rank > q->rank) - (p->rank < q->rank)
				  : (p->address > q->address) - (p->address < q->address);
}

static int by_count(const void *a, const void *b)
{
	const struct qv_stats_pair *p = a, *q = b;

	return p->count.arrived != q->count.arrived ? (p->count.arrived < q->count.arrived) -
							      (p->count.arrived > q->count.arrived)
						    : by_name(a, b);
}

void qv_stats_detail_sort(struct qv_stats_detail *d)
{
	size_t n = 0;

	if (!d->n)
		return;
	qsort(d->pairs, d->n, sizeof *d->pairs, by_name);
	for (size_t i = 1; i < d->n; i++)
		if (by_name(&d->pairs[n], &d->pairs[i])) {
			d->pairs[++n] = d->pairs[i];
		} else {
			d->pairs[n].count.arrived += d->pairs[i].count.arrived;
			d->pairs[n].count.unexpected += d->pairs[i].count.unexpected;
		}
	d->n = n + 1;
	qsort(d->pairs, d->n, sizeof *d->pairs, by_count);
}

/* JSON. */

static json_t *bins_json(const uint64_t *bins)
{
	json_t *array = json_array();
	unsigned n = QV_DETAIL_BINS;

	while (n && !bins[n - 1])
		n--;
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(array, json_integer((json_int_t)bins[i]));
	return array;
}

static json_t *searches_json(const struct qv_detail_searches *s)
{
	return json_pack("{s:o, s:o, s:I, s:I}", "hits", bins_json(s->hits), "misses",
			 bins_json(s->misses), "hits_inspected", (json_int_t)s->hits_inspected,
			 "misses_inspected", (json_int_t)s->misses_inspected);
}

static json_t *queue_json(const struct qv_detail_queue *q)
{
	json_t *object = searches_json(&q->searches);

	json_object_set_new(object, "depth", bins_json(q->depth));
	json_object_set_new(object, "depth_ns", bins_json(q->ticks));
	return object;
}

static json_t *pairs_json(const struct qv_stats_detail *d)
{
	json_t *array = json_array();

	for (size_t i = 0; i < d->n && i < SHOWN; i++) {
		const struct qv_stats_pair *p = &d->pairs[i];

		json_array_append_new(array,
				      json_pack("{s:i, s:I, s:I, s:I}", "rank", p->rank, "address",
						p->address, "arrived", (json_int_t)p->count.arrived,
						"unexpected", (json_int_t)p->count.unexpected));
	}
	return array;
}

json_t *qv_stats_detail_json(const struct qv_stats_detail *d)
{
	const uint64_t *w = d->sum.wildcards;

	return json_pack("{s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:o, s:o}", "wildcards", "none",
			 (json_int_t)w[0], "source", (json_int_t)w[QV_DETAIL_ANY_SOURCE], "tag",
			 (json_int_t)w[QV_DETAIL_ANY_TAG], "both",
			 (json_int_t)w[QV_DETAIL_ANY_SOURCE | QV_DETAIL_ANY_TAG], "posted_queue",
			 queue_json(&d->sum.posted), "unexpected_queue",
			 queue_json(&d->sum.unexpected), "probes", searches_json(&d->sum.probes),
			 "pairs", pairs_json(d));
}
