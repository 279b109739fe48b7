/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seldom.h - which polls look at the clock. Polls may be tens of nanoseconds apart, and then one in
 * many is enough; or a program computes, and polls ten times in a second, and then each has to.
 */
#ifndef QV_SELDOM_H
#define QV_SELDOM_H

#include <stdbool.h>
#include <stdint.h>

#define QV_SELDOM_MOST 16u /* polls from one look to the next */

struct qv_seldom {
	uint32_t next;  /* the poll that looks */
	uint32_t every; /* so many polls behind the last one that did; 0: none did yet */
	uint64_t ns;    /* when that was */
};

/* Polls are counted; the count may wrap. */
static inline bool qv_seldom_due(const struct qv_seldom *s, uint32_t poll)
{
	return (int32_t)(poll - s->next) >= 0;
}

/* This poll has looked, and it is now so late. Looks should be no further apart than most_ns: where
 * they are, the next comes so much sooner; where they are half as far or nearer, it may come later.
 * Where polls become rare, up to QV_SELDOM_MOST of them pass without a look. After twice as many, looks
 * are no further apart than most_ns, or each poll looks. */
static inline void qv_seldom_looked(struct qv_seldom *s, uint32_t poll, uint64_t now,
				    uint64_t most_ns)
{
	const uint64_t passed = now - s->ns;

	if (!s->every)
		s->every = QV_SELDOM_MOST;
	else if (passed > most_ns)
		s->every = (uint32_t)(s->every * most_ns / passed);
	else if (passed <= most_ns / 2)
		s->every = s->every < QV_SELDOM_MOST / 2 ? 2 * s->every : QV_SELDOM_MOST;
	if (!s->every)
		s->every = 1;
	s->next = poll + s->every;
	s->ns = now;
}

#endif /* QV_SELDOM_H */
