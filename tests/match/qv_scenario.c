/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_scenario.c - see qv_scenario.h. */
#include <string.h>

#include "match/qv_index.h"
#include "qv_hostile.h"
#include "qv_rnd.h"
#include "qv_scenario.h"

#define ANY_TAG UINT64_C(0xffffffff)

/* What the scenarios of one sort of wildcards have in common; they differ in the share. */
#define WILD .srcs = 16, .tags = 16, .contexts = 2, .cancel = 3, .take = 3, .peek = 5, .many = 5
/* Where nearly all receives are wildcards, more keys, or nothing would ever be queued. */
#define WILDEST .srcs = 64, .tags = 64, .contexts = 8, .cancel = 3, .take = 3, .peek = 5, .many = 5

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
	{.name = "all sorts",
	 WILD,
	 .anysrc = 25,
	 .anytag = 25,
	 .both = 10,
	 .mask = 15,
	 .sticky = 2,
	 .depth = 150},
	{.name = "exact short", .srcs = 2, .tags = 3, .contexts = 1, .take = 1, .depth = 4},
	{.name = "masks short",
	 .srcs = 4,
	 .tags = 8,
	 .contexts = 2,
	 .anysrc = 20,
	 .mask = 100,
	 .cancel = 5,
	 .take = 5,
	 .peek = 10,
	 .depth = 12},
	{.name = "same key",
	 .srcs = 2,
	 .tags = 2,
	 .contexts = 1,
	 .cancel = 10,
	 .take = 10,
	 .depth = 200,
	 .wraps = 1},
	{.name = "far sources",
	 .first_src = (UINT32_C(1) << 20) - 6,
	 .srcs = 12,
	 .tags = 8,
	 .contexts = 2,
	 .anysrc = 5,
	 .cancel = 3,
	 .take = 3,
	 .depth = 150},
	{.name = "last sources",
	 .first_src = QV_SRC_ANY - 4,
	 .srcs = 4,
	 .tags = 32,
	 .contexts = 2,
	 .anysrc = 10,
	 .cancel = 3,
	 .take = 3,
	 .depth = 100},
	{.name = "protocol bits",
	 .srcs = 16,
	 .tags = 64,
	 .contexts = 3,
	 .protocol = UINT64_C(0x100000000),
	 .anysrc = 1,
	 .anytag = 1,
	 .cancel = 2,
	 .many = 10,
	 .depth = 200},
	{.name = "sticky",
	 .srcs = 4,
	 .tags = 32,
	 .contexts = 2,
	 .anysrc = 20,
	 .anytag = 5,
	 .mask = 5,
	 .sticky = 10,
	 .cancel = 15,
	 .peek = 3,
	 .depth = 100},
	{.name = "colliding",
	 .srcs = 2,
	 .tags = 200,
	 .contexts = 1,
	 .anysrc = 5,
	 .cancel = 3,
	 .take = 3,
	 .peek = 3,
	 .depth = 200,
	 .colliding = 1},
	{.name = "no memory",
	 .srcs = 8,
	 .tags = 64,
	 .contexts = 2,
	 .anysrc = 20,
	 .anytag = 20,
	 .mask = 10,
	 .cancel = 3,
	 .take = 3,
	 .peek = 3,
	 .many = 10,
	 .depth = 200,
	 .no_memory = 60},
	{.name = "no memory, colliding",
	 .srcs = 8,
	 .tags = 300,
	 .contexts = 1,
	 .anysrc = 5,
	 .cancel = 3,
	 .take = 3,
	 .peek = 3,
	 .depth = 200,
	 .no_memory = 80,
	 .colliding = 1,
	 .wraps = 1},
	{.name = "deep",
	 .srcs = 32,
	 .tags = 512,
	 .contexts = 2,
	 .anysrc = 2,
	 .anytag = 1,
	 .mask = 1,
	 .cancel = 2,
	 .take = 2,
	 .peek = 2,
	 .many = 10,
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
	return s->first_src + (uint32_t)qv_rnd_below(random, s->srcs);
}

uint64_t qv_scenario_tag(const struct qv_scenario *s, uint64_t *random)
{
	uint64_t tag = qv_rnd_below(random, s->tags);

	if (s->colliding)
		return qv_hostile_tag(tag);
	tag |= qv_rnd_below(random, s->contexts) << 40;
	return qv_rnd_percent(random, 50) ? tag | s->protocol : tag;
}

/* Masks that fit no class: any bits of the tag, few of them, so that matches happen. */
static uint64_t draw_mask(uint64_t *random)
{
	if (qv_rnd_percent(random, 50))
		return qv_rnd_below(random, 256);
	return UINT64_C(1) << qv_rnd_below(random, 8) | UINT64_C(1) << qv_rnd_below(random, 64);
}

void qv_scenario_recv(const struct qv_scenario *s, uint64_t *random, struct qv_recv *r)
{
	int both = qv_rnd_percent(random, s->both);

	memset(r, 0, sizeof(*r));
	r->tag = qv_scenario_tag(s, random);
	r->ignore = s->protocol;
	if (both || qv_rnd_percent(random, s->anytag))
		r->ignore |= s->colliding ? UINT64_MAX : ANY_TAG;
	if (qv_rnd_percent(random, s->mask))
		r->ignore |= draw_mask(random);
	r->src =
		both || qv_rnd_percent(random, s->anysrc) ? QV_SRC_ANY : qv_scenario_src(s, random);
	r->flags = qv_rnd_percent(random, s->sticky) ? QV_RECV_STICKY : 0;
}
