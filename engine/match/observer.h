/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * observer.h - who is told of each call on an engine, and of its answer, in the order in which they
 * are made. An engine with nobody to tell does not ask: its calls do not lead here.
 */
#ifndef QV_MATCH_OBSERVER_H
#define QV_MATCH_OBSERVER_H

#include <quiver/match.h>

struct qv_match_observer {
	/* A receive was posted. msg: it was matched; NULL: the receive is queued. */
	void (*posted)(struct qv_match_observer *o, const struct qv_recv *recv,
		       const struct qv_msg *msg);
	/* A message has arrived. recv: it was matched; NULL: it is queued next, or not at all. */
	void (*arrived)(struct qv_match_observer *o, uint64_t tag, uint32_t src,
			const struct qv_recv *recv);
	void (*queued)(struct qv_match_observer *o, const struct qv_msg *msg);
	/* msg: what was found, or NULL. */
	void (*peeked)(struct qv_match_observer *o, uint64_t tag, uint64_t ignore, uint32_t src,
		       const struct qv_msg *msg);
	void (*taken)(struct qv_match_observer *o, const struct qv_msg *msg);
	void (*cancelled)(struct qv_match_observer *o, const struct qv_recv *recv);
	struct qv_match_observer *next; /* the engine's, while there are others */
};

/*
 * From now on `observer` is told, too. It stays where it is until qv_match_unobserve. Calls that fail
 * are not told. Matches that were found elsewhere (qv_match_foresee) are not used meanwhile: each is
 * searched.
 */
void qv_match_observe(struct qv_match *engine, struct qv_match_observer *observer);

/* `observer`, one of the engine's, is not told any more. */
void qv_match_unobserve(struct qv_match *engine, struct qv_match_observer *observer);

#endif /* QV_MATCH_OBSERVER_H */
