/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * team.h - collectives of some processes of one user on one host, through memory that all of them
 * have. No messages: who has something to say writes it into a seat of its own, and the others read
 * it there. All members make the same calls in the same order. No locks: one thread at a time calls.
 */
#ifndef QV_TEAM_H
#define QV_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quiver/schedule.h>
#include <quiver/types.h>

struct qv_team; /* of one member */

#define QV_TEAM_MOST 256u /* members */
#define QV_TEAM_ITEM 64u  /* bytes of an element that is combined, at most */

struct qv_team_spec {
	uint64_t name; /* of the team, which no other team has; the same for all its members */
	uint32_t rank, ranks;
	bool oversubscribed; /* the members have not a processor each */
	/* Optional: called now and then by whoever waits. */
	void (*progress)(void *owner);
	void *owner;
};

/*
 * A team is made in three steps. After each the members tell each other whether all is well, by
 * whatever they have; if it is not, all of them close it.
 */
/* First, each member. QV_EINVAL; QV_ENOMEM; QV_EIO: the kernel has no sealed memory, or no sockets. */
int qv_team_open(const struct qv_team_spec *spec, struct qv_team **team);
/* Then rank 0: it hands the memory over. QV_EIO; QV_EPEER: who has opened it is of another user. */
int qv_team_give(struct qv_team *t);
/* Then the others. QV_EAGAIN: it was not handed over; QV_ENOMEM. */
int qv_team_take(struct qv_team *t);
/* Others get QV_EPEER in the next call, if they make one. */
void qv_team_close(struct qv_team *t);
/* Bytes of memory that the members share; those that were not used yet take no place. */
size_t qv_team_bytes(const struct qv_team *t);

enum qv_team_kind {
	QV_TEAM_BARRIER,
	QV_TEAM_BROADCAST,
	QV_TEAM_REDUCE,
	QV_TEAM_ALLREDUCE,
	QV_TEAM_ALLGATHER,
	QV_TEAM_ALLTOALL,
	QV_TEAM_KINDS
};
/* Of a collective that a team has. */
enum qv_team_kind qv_team_kind_of(enum qv_coll coll);

/* dst = a op b. dst may be b, or neither; what is not dst may not be written. */
typedef void (*qv_team_combine_fn)(void *context, void *dst, const void *a, const void *b,
				   size_t count);

struct qv_team_call {
	enum qv_team_kind kind;
	uint32_t root;
	/* May be the same array; else they do not overlap. Of an allgather and an alltoall, in is
	 * the own block, or all blocks; where the own block of an allgather lies in out, in is
	 * there. NULL: this member has no memory for it; it gets nothing. */
	const void *in;
	void *out;
	size_t count; /* elements of the vector, or of a block; the same for all members */
	size_t item;  /* bytes of an element; of what is moved only, any */
	/* From the last rank to the first: c0 op (c1 op (c2 op c3)). All members get the same
	 * bits. */
	qv_team_combine_fn combine;
	void *context;
};

/* Begin; the one before has ended. QV_EINVAL; QV_EPEER: the team has failed. QV_ENOMEM: in is NULL and
 * others wait for what it should be; they get QV_EPEER, and the team is of no use any more. */
int qv_team_start(struct qv_team *t, const struct qv_team_call *call);
/* Go on. QV_OK: it is over; QV_EAGAIN: others have to come; QV_EPROTO: another member says nonsense,
 * or calls something else, QV_EPEER: is gone, or has given up. After these two the team is of no use
 * any more, and the others come to know. */
int qv_team_step(struct qv_team *t);
/* Until it is over. */
int qv_team_wait(struct qv_team *t);
/* Whether all members live and go on, less those that have done all of the call; for who steps and
 * finds that others do not come. It takes some 20 us for each member. QV_OK: step again; else as a
 * step. */
int qv_team_check(struct qv_team *t);

#endif /* QV_TEAM_H */
