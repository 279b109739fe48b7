/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_samples.c - see qv_samples.h. */
#include "qv_samples.h"
#include "engine/base/random.h"

#include <math.h>
#include <string.h>

#define ITEM_BYTES 16 /* the largest element */

/* Match. */

uint32_t qv_samples_draw(uint64_t *state)
{
	return (uint32_t)(qv_random(state) >> 33);
}

void qv_samples_keys(struct qv_offload_key *keys, uint32_t n, uint32_t tags, bool wild,
		     uint64_t *state)
{
	memset(keys, 0, n * sizeof(*keys));
	for (uint32_t i = 0; i < n; i++) {
		keys[i].tag = (uint64_t)(qv_samples_draw(state) % tags) << (i % 2 ? 0 : 40) | 5;
		keys[i].src = qv_samples_draw(state) % 3;
		if (wild && qv_samples_draw(state) % 4 == 0)
			keys[i].src = QV_SRC_ANY;
		if (wild && qv_samples_draw(state) % 4 == 0)
			keys[i].ignore =
				qv_samples_draw(state) % 2 ? UINT64_MAX : (uint64_t)7 << 40;
	}
}

void qv_samples_match(const struct qv_offload_key *entries, const struct qv_offload_key *queries,
		      uint32_t n, uint32_t *result)
{
	bool taken[256] = {false};

	for (uint32_t q = 0; q < n; q++) {
		result[q] = QV_OFFLOAD_NONE;
		for (uint32_t e = 0; e < n && result[q] == QV_OFFLOAD_NONE; e++) {
			const uint64_t apart = (entries[e].tag ^ queries[q].tag) &
					       ~(entries[e].ignore | queries[q].ignore);

			if (!taken[e] && !apart &&
			    (entries[e].src == queries[q].src || entries[e].src == QV_SRC_ANY))
				result[q] = e;
		}
		if (result[q] != QV_OFFLOAD_NONE)
			taken[result[q]] = true;
	}
}

/* Combine. */

/* Whether a part of an element is a NaN; its size. */
static bool is_nan(enum qv_type type, const char *p, size_t *part)
{
	float f;
	double d;

	*part = type == QV_TYPE_FLOAT || type == QV_TYPE_FLOAT_COMPLEX ? sizeof(f) : sizeof(d);
	if (*part == sizeof(f))
		return memcpy(&f, p, sizeof(f)), isnan(f);
	return memcpy(&d, p, sizeof(d)), isnan(d);
}

/* The same bits; where a sum or a product is a NaN, any other is as good. */
static bool same(const struct qv_samples_arrays *r, const char *x, const char *y)
{
	const size_t item = qv_type_size(r->type);
	size_t part;

	if (!memcmp(x, y, item))
		return true;
	if (r->type < QV_TYPE_FLOAT || (r->op != QV_OP_SUM && r->op != QV_OP_PROD))
		return false;
	is_nan(r->type, x, &part);
	for (size_t at = 0; at < item; at += part)
		if (memcmp(x + at, y + at, part) &&
		    !(is_nan(r->type, x + at, &part) && is_nan(r->type, y + at, &part)))
			return false;
	return true;
}

bool qv_samples_right(const struct qv_samples_arrays *r, size_t first, size_t count,
		      const char *out)
{
	const size_t item = qv_type_size(r->type);
	char x[ITEM_BYTES];

	for (size_t i = 0; i < 8; i++) {
		const size_t at = i == 7 ? count - 1 : i * 0x9e3779b9u % count;

		memcpy(x, r->src[0] + (first + at) * item, item);
		for (size_t j = 1; j < r->k; j++)
			qv_combine(r->cpu, r->op, r->type, x, r->src[j] + (first + at) * item, 1);
		if (!same(r, x, out + at * item))
			return false;
	}
	return true;
}
