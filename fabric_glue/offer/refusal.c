/* SPDX-License-Identifier: BSD-2-Clause */
/* refusal.c - why hints are refused: for the log, and for a user who has named nothing but us and gets
 * nothing at all. Programs often say no more than that there is no provider. */
#include "fabric_glue/cores/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

static __thread char last[256];
/* Something was offered to this process, which can do without what is refused; or it was told. */
static bool settled;

void qv_fi_refused(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(last, sizeof last, format, args);
	va_end(args);
	QV_FI_INFO(CORE, "hints refused: %s\n", last);
}

static bool is_alone(void)
{
	char entry[QV_FI_NAME_MAX];
	const char *pos = NULL;

	return qv_fi_filter_next(&pos, entry, sizeof entry) && !strcasecmp(entry, "quiver") &&
	       !qv_fi_filter_next(&pos, entry, sizeof entry);
}

void qv_fi_refusal_begin(void)
{
	last[0] = 0;
}

int qv_fi_refusal_end(const struct fi_info *hints, int ret)
{
	/* MPIs ask for device memory first, and then without it. */
	if (ret && (!last[0] || !is_alone() || (hints && hints->caps & FI_HMEM)))
		return ret;
	if (!__atomic_exchange_n(&settled, true, __ATOMIC_RELAXED) && ret)
		qv_fi_warn("FI_PROVIDER names nothing else, and this is refused to the program: %s",
			   last);
	return ret;
}
