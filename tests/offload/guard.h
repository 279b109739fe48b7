/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.h - what the tests of kernels/offload share: a device that is a plain loop in this
 * process and fails when told to, and an engine whose batches go to it beside one whose do not.
 */
#ifndef QV_GUARD_H
#define QV_GUARD_H

#include "kernels/offload/offload.h"

#include <stdio.h>

#define QV_LOOP_MOST 200 /* keys that the device takes, unless told otherwise */

extern int qv_guard_wrong;
extern const char *qv_guard_now; /* what is tested */

#define EXPECT(x)                                                                          \
	do {                                                                               \
		if (!(x) && qv_guard_wrong++ < 20)                                         \
			fprintf(stderr, "wrong: %s:%d: %s (%s)\n", __FILE__, __LINE__, #x, \
				qv_guard_now);                                             \
	} while (0)

/* From guard_device.c. */

struct qv_loop {
	int open_status, status; /* of open, and of every call */
	int lie;                 /* every so many batches it takes the wrong one of two, 0: never */
	int nap_us;              /* every call takes so long */
	int idle;                /* calls return at once, and nothing is done */
	int opened, closed, calls;
	void (*on_match)(void);      /* before each batch; NULL: nothing */
	struct qv_offload_caps caps; /* max_keys: 1024 at most */
};

extern struct qv_loop qv_loop;
extern const struct qv_offload_ops qv_loop_ops;

/* Lines for the user: how many warnings, and the last line. */
extern int qv_guard_said;
extern char qv_guard_line[640];
void qv_guard_say(void *context, int warn, const char *text);

/* The device as new, and an object that asks it for everything. */
struct qv_offload *qv_guard_open(uint32_t check_every, uint32_t failures);
/* The device as new. */
void qv_loop_reset(void);

/* From guard_pair.c. */

/* Random batches of arrivals and posts, and cancels, to both engines: the same answers and the same
 * counters after each. sticky: some receives may match more than once. */
void qv_guard_pair(const char *structure, struct qv_offload *o, int rounds, int sticky);

#endif /* QV_GUARD_H */
