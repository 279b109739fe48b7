/* SPDX-License-Identifier: BSD-2-Clause */
/* choice.c - see choice.h. */
#include "choice.h"

#define FIRST 4u  /* times that way 0 is taken before way 1 is tried */
#define TRIAL 4u  /* times in a row that the slower way is tried: the first may find cold caches */
#define NEW   64u /* the same where it was never tried: the first may touch new pages, */
#define PAGES ((size_t)4 << 20) /* though not those behind so many bytes of that trial */
/* One of those that takes longer, in ns, does not touch pages but waits for who does not look. */
#define SLOW  2000000u
#define LONG  64u /* times that the faster way is taken until it has long been that */
#define SHARE 64u /* times what the slower way costs more are spent before it is tried again */
#define BAD   16u /* bad news in a row that counts */
#define LATER 16u /* times as much is spent before the next such trial */
#define WRONG 3u  /* twice as much so often, behind trials that were wrong */

static unsigned faster(const struct qv_choice *c)
{
	return c->ns[1] && c->ns[1] < c->ns[0];
}

unsigned qv_choice_take(struct qv_choice *c)
{
	const uint64_t a = c->ns[0], b = c->ns[1], more = a > b ? a - b : b - a;
	const uint64_t enough = SHARE * more << c->wrong;
	const bool soon = c->soon && c->soon < enough;

	if (c->left) {
		if (!c->ns[c->tried] && c->left <= NEW - TRIAL)
			return !c->tried; /* no news yet */
		c->left--;
		return c->tried;
	}
	if (!a || c->spent < (!b ? FIRST : soon ? c->soon : enough))
		return faster(c);
	c->spent = 0;
	c->tried = !faster(c);
	c->left = (c->ns[c->tried] && !soon ? TRIAL : NEW) - 1;
	if (soon)
		c->soon *= LATER;
	return c->tried;
}

/* May the trial end, by the news of one that is not its first? */
static bool is_hopeless(const struct qv_choice *c, unsigned way, uint64_t news, uint64_t ns)
{
	if (c->left == NEW - 1 || c->left == TRIAL - 1 || (c->left >= TRIAL && ns <= SLOW))
		return false;
	return news > c->ns[!way] * (uint64_t)3 / 2;
}

/* Of a trial to touch new pages: a message of so many bytes counts as often as it is long. */
static void touched(struct qv_choice *c, size_t len)
{
	const size_t more = len / (PAGES / NEW);

	if (more > 1 && c->left > TRIAL)
		c->left = more - 1 < c->left - TRIAL ? (uint8_t)(c->left - (more - 1)) : TRIAL;
}

static void set(struct qv_choice *c, unsigned way, uint64_t news)
{
	const unsigned before = faster(c);
	const bool worse = way == before && news < UINT32_MAX, for_long = c->led == LONG;

	c->ns[way] = news < UINT32_MAX ? (uint32_t)news : UINT32_MAX;
	if (faster(c) == before)
		return;
	if (worse && !for_long)
		c->wrong += c->wrong < WRONG;
	c->soon = worse && for_long ? SHARE * (uint64_t)c->ns[!way] : 0;
	c->spent = 0;
	c->led = 0;
	c->won = way != before;
}

/* Good news is believed at once: the next time looks again. Bad news may come of a processor that did
 * something else meanwhile: the first is believed as far as half as much again, each one behind
 * it in a row farther. */
void qv_choice_took(struct qv_choice *c, unsigned way, size_t len, uint64_t ns)
{
	const uint64_t known = c->ns[way], most = known << (c->bad[way] + 1);
	uint64_t news = UINT32_MAX;

	if (ns / len < UINT32_MAX / QV_CHOICE_UNIT)
		news = ns * QV_CHOICE_UNIT / len + 1;
	if (way == c->tried && (ns == QV_CHOICE_NEVER || is_hopeless(c, way, news, ns)))
		c->left = 0;
	else if (way == c->tried)
		touched(c, len);
	if (way == faster(c)) {
		c->spent += c->ns[1] ? news : 1;
		c->led += c->led < LONG;
		if (c->won && c->led == LONG)
			c->wrong = 0;
	}
	if (news <= known)
		c->bad[way] = 0;
	else if (known && ns != QV_CHOICE_NEVER) {
		news = known + ((news < most ? news : most) - known) / 2 + 1;
		c->bad[way] += c->bad[way] < BAD;
	}
	set(c, way, news);
}
