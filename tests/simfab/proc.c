/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.c - simulated processes, and what the provider asks the kernel of them: who am I, who
 * lives, what time is it. These calls are wrapped at link time.
 */
#include "sf.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/proc.h"
#include "fab.h"

#define HOST_MARK 0x5156000000000000u

struct sf_world sf = {.self = &sf.nobody};

void __wrap_qv_proc_self(struct qv_proc *self);
bool __wrap_qv_proc_alive(const struct qv_proc *self, const struct qv_proc *proc);
bool __wrap_qv_proc_number_alive(uint32_t pid);
pid_t __wrap_getpid(void);
uint64_t __wrap_qv_proc_random(void);
uint64_t __wrap_qv_fi_node(const char *core);
int __wrap_qv_fi_shm_mark(const char *name, bool peer);
int __wrap_qv_fi_shm_says(const char *name);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_usleep(useconds_t us);
int __wrap_sched_yield(void);

/* Processes. */

struct sf_proc *sf_proc_new(unsigned host)
{
	static uint32_t pid = 1000;
	struct sf_proc *proc = sf_alloc(sizeof *proc);

	proc->pid = ++pid;
	proc->host = host;
	proc->alive = true;
	/* Clocks that count from the start of a host agree among its processes only. */
	proc->ahead = host * 1000 * SF_S;
	proc->next = sf.procs;
	sf.procs = proc;
	return proc;
}

void sf_proc_end(struct sf_proc *proc, bool silent)
{
	proc->alive = false;
	proc->silent = silent;
	sf_fab_proc_ended(proc);
	sf_mem_release(proc);
}

struct sf_proc *sf_proc_by_pid(uint32_t pid)
{
	struct sf_proc *proc = sf.procs;

	while (proc && proc->pid != pid)
		proc = proc->next;
	return proc;
}

void __wrap_qv_proc_self(struct qv_proc *self)
{
	memset(self, 0, sizeof *self);
	self->host = HOST_MARK + sf.self->host;
	self->start = 77 * (uint64_t)sf.self->pid;
	self->pid = sf.self->pid;
}

static bool lives(uint32_t pid)
{
	const struct sf_proc *proc = sf_proc_by_pid(pid);

	return proc && proc->alive;
}

bool __wrap_qv_proc_alive(const struct qv_proc *self, const struct qv_proc *proc)
{
	return !proc->host || proc->host != self->host || lives(proc->pid);
}

bool __wrap_qv_proc_number_alive(uint32_t pid)
{
	return lives(pid);
}

pid_t __wrap_getpid(void)
{
	return (pid_t)sf.self->pid;
}

uint64_t __wrap_qv_proc_random(void)
{
	return qv_random(&sf.rnd_id);
}

uint64_t __wrap_qv_fi_node(const char *core)
{
	(void)core;
	return HOST_MARK + sf.self->host;
}

int __wrap_qv_fi_shm_mark(const char *name, bool peer)
{
	(void)name;
	(void)peer;
	return -1;
}

int __wrap_qv_fi_shm_says(const char *name)
{
	(void)name;
	return 0;
}

/* Time. */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	uint64_t t = sf.now + sf.self->ahead;

	(void)clock;
	now->tv_sec = (time_t)(t / SF_S);
	now->tv_nsec = (long)(t % SF_S);
	return 0;
}

int __wrap_usleep(useconds_t us)
{
	(void)us;
	sf_fiber_wait();
	return 0;
}

int __wrap_sched_yield(void)
{
	sf_fiber_wait();
	return 0;
}

uint64_t sf_ticks(void);

/* Who spins on it sees it move. */
uint64_t sf_ticks(void)
{
	sf.now += 20;
	return (sf.now + sf.self->ahead) * 5 / 2;
}
