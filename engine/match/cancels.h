/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cancels.h - which posted receive has this context? Nothing is kept for that while receives are
 * posted and matched. Who cancels looks at all that are queued; who cancels one after the other
 * with nothing matched in between soon finds them in a table, which is made once for all of them.
 */
#ifndef QV_CANCELS_H
#define QV_CANCELS_H

#include <quiver/match.h>

struct qv_cancels_entry {
	void *context;
	uint64_t age;
	struct qv_recv *recv;
	size_t gone; /* of the first with its context: how many of them are cancelled */
};

/* All zero at first. Of one engine, whose receives are cancelled by what is found here. */
struct qv_cancels {
	struct qv_cancels_entry *table; /* NULL: none. By context, then by age */
	size_t n;
	uint64_t posted, matched, posted_now; /* by the engine, when counting began */
	uint64_t cancelled;                   /* since */
	uint64_t looked;                      /* entries that were looked at since, all in all */
	int used;                             /* since the last qv_cancels_idle */
};

typedef void *qv_context_of(const struct qv_recv *recv);

/* The oldest posted receive with this context, or NULL. The caller cancels it at once. */
struct qv_recv *qv_cancels_find(struct qv_cancels *c, struct qv_match *m, qv_context_of *context_of,
				void *context);
/* Now and then: the table goes if nobody has cancelled since the last time. */
void qv_cancels_idle(struct qv_cancels *c);
void qv_cancels_free(struct qv_cancels *c);

#endif /* QV_CANCELS_H */
