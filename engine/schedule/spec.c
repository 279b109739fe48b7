/* SPDX-License-Identifier: BSD-2-Clause */
/* spec.c - what a schedule is asked to be: read from a struct that may be older, and judged. */
#include "schedule.h"
#include "engine/base/settings.h"

#include <string.h>

size_t qv_factors(uint32_t number, uint32_t *k)
{
	size_t n = 0;

	for (uint32_t f = 2; number > 1; f++) {
		if (f > number / f)
			f = number;
		for (; number % f == 0; number /= f) {
			memmove(k + 1, k, n * sizeof(*k));
			k[0] = f;
			n++;
		}
	}
	return n;
}

static int radix_fits(const struct qv_schedule_spec *spec)
{
	uint64_t product = 1;

	if (spec->radix_n > QV_MOST_FACTORS)
		return 0;
	for (size_t i = 0; i < spec->radix_n; i++) {
		product *= spec->radix[i];
		if (spec->radix[i] < 2 || product > spec->ranks)
			return 0;
	}
	return !spec->radix_n || product == spec->ranks;
}

static int by_arrival(const struct qv_schedule_spec *spec)
{
	return spec->algorithm == QV_ALG_CLAIRVOYANT || spec->algorithm == QV_ALG_SEGMENTED;
}

static int has_root(enum qv_coll coll)
{
	return coll == QV_COLL_REDUCE || coll == QV_COLL_BROADCAST || coll == QV_COLL_GATHER ||
	       coll == QV_COLL_SCATTER;
}

int qv_schedule_read(struct qv_schedule_spec *to, const struct qv_schedule_spec *spec)
{
	*to = (struct qv_schedule_spec){0};
	return qv_settings_read(to, sizeof(*to), QV_SETTINGS_UPTO(struct qv_schedule_spec, pace),
				spec);
}

int qv_schedule_judge(const struct qv_schedule_spec *spec, uint32_t rank)
{
	if ((unsigned int)spec->coll >= QV_N_COLLS ||
	    (unsigned int)spec->algorithm >= QV_N_ALGORITHMS)
		return QV_EINVAL;
	if (!spec->ranks || spec->ranks >= UINT32_MAX / 2 || rank >= spec->ranks ||
	    spec->root >= spec->ranks)
		return QV_EINVAL;
	if (!has_root(spec->coll) && spec->root)
		return QV_EINVAL;
	if (spec->algorithm == QV_ALG_RADIX && !radix_fits(spec))
		return QV_EINVAL;
	if (spec->algorithm == QV_ALG_UNIT && spec->k &&
	    (spec->k < 2 || spec->k > QV_UNIT_MOST_WAYS))
		return QV_EINVAL;
	if (by_arrival(spec) && spec->arrive && !spec->round)
		return QV_EINVAL;
	if (spec->pace && !qv_can_pace(spec->coll, spec->algorithm))
		return QV_EINVAL;
	return qv_schedule_exists(spec->coll, spec->algorithm, spec->ordered) ? QV_OK : QV_ENOSYS;
}
