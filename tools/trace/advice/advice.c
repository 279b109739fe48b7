/* SPDX-License-Identifier: BSD-2-Clause */
/* advice.c - the judgement of `quiver trace advise`. */
#include "advice.h"

#include <math.h>

#define MATTERS 0.01 /* of a program's time; less is not seen beside what else changes it */
#define NEAR    2.0  /* times more or less than that is near to it */
#define CHEAPER 0.97 /* of auto's cost: a setting is named */
#define MAYBE   0.99 /* of it: worth a second measurement, which decides */
#define FEW     1000 /* messages */
#define MOST    0.5  /* of the operations measured */

static double gain(const struct qv_advice_facts *f, const struct qv_advice_cost *other)
{
	return other->share - f->quiver.share;
}

static enum qv_advice_answer compare(double gained)
{
	if (isnan(gained))
		return QV_ADVICE_UNKNOWN;
	if (gained >= MATTERS)
		return QV_ADVICE_HELPS;
	return gained <= -MATTERS ? QV_ADVICE_HURTS : QV_ADVICE_EQUAL;
}

static enum qv_advice_doubt doubt(const struct qv_advice_facts *f)
{
	const double gained = fabs(gain(f, &f->list));

	if (f->messages < FEW)
		return QV_ADVICE_FEW;
	if (f->lost || !f->whole || f->left_out > f->operations / 10)
		return QV_ADVICE_MISSING;
	if (f->measured < MOST)
		return QV_ADVICE_PART;
	if (gained > MATTERS / NEAR && gained < MATTERS * NEAR)
		return QV_ADVICE_NEAR;
	return QV_ADVICE_SURE;
}

const char *qv_advice_candidate(const struct qv_advice_trial *trials, size_t n)
{
	const struct qv_advice_trial *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (trials[i].ratio < (best ? best->ratio : MAYBE)) /* not if it is NaN */
			best = &trials[i];
	return best ? best->name : NULL;
}

struct qv_advice qv_advise(const struct qv_advice_facts *f)
{
	struct qv_advice a = {.over_list = compare(gain(f, &f->list)),
			      .over_ob1 = compare(gain(f, &f->ob1)),
			      .no_any_source = f->wanted && !f->any_source,
			      .no_any_tag = f->wanted && !f->any_tag,
			      .doubt = doubt(f)};

	/* A ratio whose interval reaches 1 may be chance. */
	if (f->cheapest && f->ratio < CHEAPER && f->ratio_high < 1)
		a.structure = f->cheapest;
	return a;
}
