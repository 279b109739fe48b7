/* SPDX-License-Identifier: BSD-2-Clause */
/* cancels.c - receives by their contexts, for who cancels. */
#include "cancels.h"

#include <stdlib.h>

/* A table is made when so many times its entries have been looked at. */
#define PATIENCE 8
/* Fewer are looked at each time. */
#define FEW 64

struct search {
	qv_context_of *context_of;
	void *context;
	uint64_t looked;
};

static int fits(void *ctx, struct qv_recv *recv, uint64_t age)
{
	struct search *s = ctx;

	(void)age;
	s->looked++;
	return s->context_of(recv) == s->context;
}

/* The table. */

struct filling {
	qv_context_of *context_of;
	struct qv_cancels *c;
	size_t room;
};

static int add(void *ctx, struct qv_recv *recv, uint64_t age)
{
	struct filling *f = ctx;

	if (f->c->n < f->room)
		f->c->table[f->c->n++] = (struct qv_cancels_entry){
			.context = f->context_of(recv), .age = age, .recv = recv};
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct qv_cancels_entry *a = left, *b = right;

	if (a->context != b->context)
		return (uintptr_t)a->context < (uintptr_t)b->context ? -1 : 1;
	return a->age < b->age ? -1 : a->age > b->age;
}

/* Without memory all are looked at, as before. */
static void make_table(struct qv_cancels *c, struct qv_match *m, qv_context_of *context_of,
		       size_t n)
{
	struct filling f = {context_of, c, n};

	c->table = malloc(n * sizeof *c->table);
	c->n = 0;
	if (!c->table)
		return;
	(void)qv_match_find_recv(m, add, &f);
	qsort(c->table, c->n, sizeof *c->table, compare);
}

/* The first entry whose context is not less. */
static size_t first_with(const struct qv_cancels *c, const void *context)
{
	size_t from = 0, to = c->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if ((uintptr_t)c->table[mid].context < (uintptr_t)context)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static struct qv_recv *find_in_table(struct qv_cancels *c, const void *context)
{
	size_t first = first_with(c, context), at;

	if (first == c->n)
		return NULL;
	at = first + c->table[first].gone;
	if (at >= c->n || c->table[at].context != context)
		return NULL;
	c->table[first].gone++;
	return c->table[at].recv;
}

/* The search. */

/* Did receives only come, or leave by being cancelled from here? */
static int is_valid(const struct qv_cancels *c, const struct qv_match_stats *now)
{
	return now->matched == c->matched &&
	       now->posted_now + c->cancelled == c->posted_now + now->posted - c->posted;
}

static void begin(struct qv_cancels *c, const struct qv_match_stats *now)
{
	qv_cancels_free(c);
	c->posted = now->posted;
	c->matched = now->matched;
	c->posted_now = now->posted_now;
}

struct qv_recv *qv_cancels_find(struct qv_cancels *c, struct qv_match *m, qv_context_of *context_of,
				void *context)
{
	struct search s = {context_of, context, 0};
	struct qv_match_stats now;
	struct qv_recv *recv = NULL;

	qv_match_get_stats(m, &now);
	if (!now.posted_now)
		return NULL;
	if (!is_valid(c, &now))
		begin(c, &now);
	if (!c->table && now.posted_now >= FEW && c->looked >= PATIENCE * now.posted_now) {
		begin(c, &now);
		make_table(c, m, context_of, now.posted_now);
	}
	if (c->table)
		recv = find_in_table(c, context);
	/* What has been posted since is younger than all in the table. */
	if (!recv && (!c->table || now.posted != c->posted))
		recv = qv_match_find_recv(m, fits, &s);
	c->looked += s.looked;
	c->cancelled += recv != NULL;
	c->used = 1;
	return recv;
}

void qv_cancels_idle(struct qv_cancels *c)
{
	if (c->table && !c->used)
		qv_cancels_free(c);
	c->used = 0;
}

void qv_cancels_free(struct qv_cancels *c)
{
	free(c->table);
	*c = (struct qv_cancels){0};
}
