/* SPDX-License-Identifier: BSD-2-Clause */
/* assertion.c - FI_QUIVER_HINTS: what the program asserts, and receives that break it. */
#include "fabric_glue/data.h"

#include <stdio.h>
#include <string.h>

#define PREFIX     "mpi_assert_"
#define SEPARATORS ", \t"

/*
 * The bits of a tag in which every MPI keeps the tag of the message: the lowest, and at least 15 of
 * them (MPI_TAG_UB is 32767 or more). What an MPI adds to them for itself, and lets receives
 * ignore, is above. So a receive takes any tag if it ignores one of these.
 */
#define TAG_BITS UINT64_C(0x7fff)

/* As MPI 4.0 names them, section 7.4.4. */
static const struct {
	const char *name;
	uint32_t bit;
} assertions[] = {
	{PREFIX "no_any_tag", QV_HINT_NO_ANY_TAG},
	{PREFIX "no_any_source", QV_HINT_NO_ANY_SOURCE},
	{PREFIX "exact_length", QV_HINT_EXACT_LENGTH},
	{PREFIX "allow_overtaking", QV_HINT_ALLOW_OVERTAKING},
};
#define ASSERTIONS (sizeof assertions / sizeof *assertions)

static bool is(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && !strncmp(name, text, len);
}

static uint32_t find(const char *text, size_t len)
{
	for (size_t i = 0; i < ASSERTIONS; i++)
		if (is(assertions[i].name, text, len) ||
		    is(assertions[i].name + strlen(PREFIX), text, len))
			return assertions[i].bit;
	return 0;
}

bool qv_fi_assertions_parse(const char *text, uint32_t *hints, char *why, size_t size)
{
	uint32_t all = 0;

	for (const char *at = text + strspn(text, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
		size_t len = strcspn(at, SEPARATORS);
		uint32_t bit = find(at, len);
		int n;

		if (!bit) {
			n = snprintf(why, size, "%.*s is not known; known:", (int)len, at);
			for (size_t i = 0; i < ASSERTIONS && n > 0 && (size_t)n < size; i++)
				n += snprintf(why + n, size - (size_t)n, " %s", assertions[i].name);
			return false;
		}
		all |= bit;
		at += len;
	}
	*hints = all;
	return true;
}

void qv_fi_assertions_apply(const struct qv_fi_ep *ep, struct qv_match_settings *match)
{
	match->hints = qv_fi_params.hints;
	match->protocol_bits = ~TAG_BITS;
	/* Receives cannot name a source: that all take any is no broken assertion. */
	if (!ep->directed)
		match->hints &= ~(uint32_t)QV_HINT_NO_ANY_SOURCE;
}

bool qv_fi_breaks_assertion(struct qv_fi_ep *ep, unsigned req, uint64_t ignore, uint32_t src,
			    uint64_t flags)
{
	const struct qv_match *engine = ep->mode->engine(ep, QV_REQ_TAGGED);

	/* What was claimed has been matched already, by a receive that was allowed. */
	if (!(req & QV_REQ_TAGGED) || (flags & (FI_CLAIM | FI_PEEK)) == FI_CLAIM ||
	    qv_match_allows(engine, ignore, src) == QV_OK)
		return false;
	if (qv_match_allows(engine, 0, src))
		qv_fi_warn("a receive from any source is refused, because FI_QUIVER_HINTS "
			   "promises " PREFIX "no_any_source");
	else
		qv_fi_warn(
			"a receive of any tag is refused, because FI_QUIVER_HINTS promises " PREFIX
			"no_any_tag");
	return true;
}
