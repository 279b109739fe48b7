/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario.c - see scenario.h. */
#include <string.h>

#include "engine/match/auto/index.h"
#include "hostile.h"
#include "engine/base/random.h"
#include "scenario.h"

#define ANY_TAG UINT64_C(0xffffffff)

/* How many of each there are to draw from. */
#define KEYS(srcs_, tags_, contexts_) .srcs = srcs_, .tags = tags_, .contexts = contexts_
/* The shares of calls other than post and arrive. */
#define CALLS(cancel_, take_, peek_, many_) \
	.cancel = cancel_, .take = take_, .peek = peek_, .many = many_
/* The shares of receives that are wildcards, or ignore any bits. */
#define WILDS(anysrc_, anytag_, both_, mask_) \
	.anysrc = anysrc_, .anytag = anytag_, .both = both_, .mask = mask_
/* What the scenarios of one sort of wildcards have in common; they differ in the share. */
#define WILD KEYS(16, 16, 2), CALLS(3, 3, 5, 5)
/* Where nearly all receives are wildcards, more keys, or nothing would ever be queued. */
#define WILDEST KEYS(64, 64, 8), CALLS(3, 3, 5, 5)

static const struct qv_scenario scenarios[] = {
	{.name = "wild 0", WILD, .sticky = 2, .depth = 150},
	{.name = "any source 10", WILD, .anysrc = 10, .sticky = 2, .depth = 150},
	{.name = "any source 50", WILD, .anysrc = 50, .sticky = 1, .depth = 150, .wraps = 1},
	{.name = "any source 100", WILDEST, .anysrc = 100, .depth = 100},
	{.name = "any tag 10", WILD, .anytag = 10, .sticky = 2, .depth = 150, .wraps = 1},
	{.name = "any tag 50", WILD, .anytag = 50, .sticky = 1, .depth = 150},
	{.name = "any tag 100", WILDEST, .anytag = 100, .depth = 100, .wraps = 1},
	{.name = "both 10", WILD, .both = 10, .sticky = 1, .depth = 150},
	{.name = "both 50", WILD, .both = 50, .depth = 80, .wraps = 1},
	{.name = "both 100", WILDEST, .both = 100, .depth = 60},
	{.name = "masks 10", WILD, .mask = 10, .sticky = 2, .depth = 150, .wraps = 1},
	{.name = "masks 50", WILD, .mask = 50, .sticky = 1, .depth = 150},
	{.name = "masks 100", WILD, .mask = 100, .depth = 100, .wraps = 1},
	{.name = "all sorts", WILD, WILDS(25, 25, 10, 15), .sticky = 2, .depth = 150},
	{.name = "exact short", KEYS(2, 3, 1), .take = 1, .depth = 4},
	{.name = "masks short",
	 KEYS(4, 8, 2),
	 WILDS(20, 0, 0, 100),
	 CALLS(5, 5, 10, 0),
	 .depth = 12},
	{.name = "same key", KEYS(2, 2, 1), CALLS(10, 10, 0, 0), .depth = 200, .wraps = 1},
	{.name = "far sources",
	 .first_src = (UINT32_C(1) << 20) - 6,
	 KEYS(12, 8, 2),
	 .anysrc = 5,
	 CALLS(3, 3, 0, 0),
	 .depth = 150},
	{.name = "last sources",
	 .first_src = QV_SRC_ANY - 4,
	 KEYS(4, 32, 2),
	 .anysrc = 10,
	 CALLS(3, 3, 0, 0),
	 .depth = 100},
	{.name = "protocol bits",
	 KEYS(16, 64, 3),
	 WILDS(1, 1, 0, 0),
	 CALLS(2, 0, 0, 10),
	 .protocol = UINT64_C(0x100000000),
	 .depth = 200},
	{.name = "sticky",
	 KEYS(4, 32, 2),
	 WILDS(20, 5, 0, 5),
	 CALLS(15, 0, 3, 0),
	 .sticky = 10,
	 .depth = 100},
	{.name = "colliding",
	 KEYS(2, 200, 1),
	 .anysrc = 5,
	 CALLS(3, 3, 3, 0),
	 .depth = 200,
	 .colliding = 1},
	{.name = "no memory",
	 KEYS(8, 64, 2),
	 WILDS(20, 20, 0, 10),
	 CALLS(3, 3, 3, 10),
	 .depth = 200,
	 .no_memory = 60},
	{.name = "no memory, colliding",
	 KEYS(8, 300, 1),
	 .anysrc = 5,
	 CALLS(3, 3, 3, 0),
	 .depth = 200,
	 .no_memory = 80,
	 .colliding = 1,
	 .wraps = 1},
	{.name = "deep",
	 KEYS(32, 512, 2),
	 WILDS(2, 1, 0, 1),
	 CALLS(2, 2, 2, 10),
	 .depth = 1200,
	 .wraps = 1},
};

const struct qv_scenario *qv_scenarios(size_t *n)
{
	*n = sizeof(scenarios) / sizeof(scenarios[0]);
	return scenarios;
}

uint32_t qv_scenario_src(const struct qv_scenario *s, uint64_t *random)
{
	return s->first_src + (uint32_t)qv_random_below(random, s->srcs);
}

uint64_t qv_scenario_tag(const struct qv_scenario *s, uint64_t *random)
{
	uint64_t tag = qv_random_below(random, s->tags);

	if (s->colliding)
		return qv_hostile_tag(tag);
	tag |= qv_random_below(random, s->contexts) << 40;
	return qv_random_percent(random, 50) ? tag | s->protocol : tag;
}

/* Masks that fit no class: any bits of the tag, few of them, so that matches happen. */
static uint64_t draw_mask(uint64_t *random)
{
	if (qv_random_percent(random, 50))
		return qv_random_below(random, 256);
	return UINT64_C(1) << qv_random_below(random, 8) | UINT64_C(1)
								   << qv_random_below(random, 64);
}

void qv_scenario_recv(const struct qv_scenario *s, uint64_t *random, struct qv_recv *r)
{
	int both = qv_random_percent(random, s->both);

	memset(r, 0, sizeof(*r));
	r->tag = qv_scenario_tag(s, random);
	r->ignore = s->protocol;
	if (both || qv_random_percent(random, s->anytag))
		r->ignore |= s->colliding ? UINT64_MAX : ANY_TAG;
	if (qv_random_percent(random, s->mask))
		r->ignore |= draw_mask(random);
	r->src = both || qv_random_percent(random, s->anysrc) ? QV_SRC_ANY
							      : qv_scenario_src(s, random);
	r->flags = qv_random_percent(random, s->sticky) ? QV_RECV_STICKY : 0;
}
