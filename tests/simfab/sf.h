/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sf.h - the simulated world: its settings, its clock, its processes, its memory.
 *
 * Everything runs in one thread. Whoever is being simulated at the moment is sf.self: the provider
 * asks for the time, for memory, for its process number, and gets what that process would.
 */
#ifndef SF_H
#define SF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/base/random.h"

#define SF_US ((uint64_t)1000)
#define SF_MS (1000 * SF_US)
#define SF_S  (1000 * SF_MS)

/* What may go wrong, each with a switch (fault.c has the names). */
enum sf_fault {
	SF_DELAY,   /* packets of different peers overtake each other by far */
	SF_EAGAIN,  /* calls of the core are refused for a while */
	SF_NOMEM,   /* allocations fail, and calls of the core for want of memory */
	SF_BUSY,    /* calls of the core fail in passing with other errors */
	SF_NOPOLL,  /* processes do not look for long */
	SF_CHURN,   /* addresses are removed and inserted again */
	SF_REOPEN,  /* endpoints are closed, and opened at another address */
	SF_SAME,    /* those that come back do so at the same address */
	SF_CLOCK,   /* clocks jump ahead */
	SF_MEET,    /* both sides begin at once, and what one has sent is lost (libfabric 2.x) */
	SF_CUT,     /* connections of the living break: what is under way is lost */
	SF_INJLOSS, /* injected packets are lost in passing, and nobody is told */
	SF_REPEAT,  /* packets come again around a reconnection */
	SF_KILL,    /* processes die; their hosts say so to those who are connected */
	SF_POWER,   /* hosts die: nothing is said any more */
	SF_SLOTS,   /* the core has few places for peers, for life */
	SF_FAULTS
};

struct sf_config {
	uint64_t seed;
	uint64_t packets; /* end when so many have been carried */
	uint64_t rounds;  /* and after so many rounds of traffic and rest at most */
	uint32_t faults;  /* bits of enum sf_fault */
	uint32_t version; /* of the libfabric that is played */
	unsigned procs;   /* */
	unsigned hosts;   /* that they are spread over */
	unsigned ops;     /* operations of each process in a round */
	unsigned large;   /* percent of messages that are longer than 256 bytes */
	const char *core; /* FI_QUIVER_CORE */
	bool verbose;
};

/* Processes (proc.c). */

struct qv_fi_live;
struct sf_block;
struct sf_proc {
	uint32_t pid;
	unsigned host;           /* 1 .. hosts */
	bool alive;              /* false: it has ended, or its host is off */
	bool silent;             /* its host is off: nobody tells that it has ended */
	uint64_t ahead;          /* ns that its clock is ahead of the world's */
	struct sf_block *blocks; /* memory that it holds */
	size_t bytes, bytes_max; /* */
	struct qv_fi_live *live; /* its endpoints, fabric_glue/objects/live.h */
	struct sf_proc *next;
};

struct sf_proc *sf_proc_new(unsigned host);
/* Its memory is given back, as a kernel does. */
void sf_proc_end(struct sf_proc *proc, bool silent);
struct sf_proc *sf_proc_by_pid(uint32_t pid);

/* Memory (mem.c). */

/* The simulator's own, which never fails and is nobody's. */
void *sf_alloc(size_t size);
void *sf_grow(void *old, size_t size);
void sf_free(void *p);
void sf_mem_release(struct sf_proc *proc);
/* Print who holds what. */
void sf_mem_list(const struct sf_proc *proc);

/* The world. */

struct sf_world {
	struct sf_config cfg;
	uint64_t now; /* ns; the clock of the world */
	uint64_t rnd_net, rnd_work, rnd_fault, rnd_sched, rnd_id;
	struct sf_proc *self; /* who is being simulated; the first process stands for nobody */
	struct sf_proc *procs;
	struct sf_proc nobody;
	bool storm;       /* faults happen now; else the world is at rest */
	unsigned nomem;   /* one allocation in so many fails; 0: none */
	uint64_t carried; /* packets that have arrived */
	uint64_t trace;   /* hash of all that happened, to compare two runs */
	uint64_t happened[SF_FAULTS];
	uint64_t activity; /* grows with everything that happens */
};
extern struct sf_world sf;

static inline bool sf_may(enum sf_fault f)
{
	return sf.storm && sf.cfg.faults >> f & 1;
}

/* Does it strike, once in so many times? It counts as having happened. */
static inline bool sf_strikes(enum sf_fault f, uint64_t once_in)
{
	if (!sf_may(f) || qv_random_below(&sf.rnd_fault, once_in))
		return false;
	sf.happened[f]++;
	return true;
}

static inline void sf_trace(uint64_t a, uint64_t b)
{
	sf.trace = (sf.trace ^ a) * 0x100000001b3u;
	sf.trace = (sf.trace ^ b ^ sf.now) * 0x100000001b3u;
}

/* A law is broken: says so and ends the run. */
void sf_broken(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void sf_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From fault.c. */

extern const char *const sf_fault_names[SF_FAULTS];
bool sf_faults_parse(const char *text, uint32_t *faults);

/* fiber.c: calls that wait for others, while those go on. */

struct sf_fiber;
struct sf_fiber *sf_fiber_new(void (*run)(void *arg), void *arg);
/* Go on with it until it waits or ends; true: it has ended. */
bool sf_fiber_resume(struct sf_fiber *f);
void sf_fiber_free(struct sf_fiber *f);
/* Inside one: let the world go on. Elsewhere nothing. */
void sf_fiber_wait(void);

/* From run.c. */

/* One life of the world. Ends by exit: 0, or 1 with what was broken on stdout. */
void sf_run(const struct sf_config *cfg);
/* Settings that the seed draws. */
void sf_config_draw(struct sf_config *cfg);

#endif /* SF_H */
