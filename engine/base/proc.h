/* SPDX-License-Identifier: BSD-2-Clause */
/* proc.h - identity of processes on this host, to find out when one has died. */
#ifndef QV_PROC_H
#define QV_PROC_H

#include <stdbool.h>
#include <stdint.h>

struct qv_proc {
	uint64_t host;  /* boot and pid namespace: pids of equal hosts may be compared; 0 unknown */
	uint64_t start; /* start time of the process, in clock ticks since boot */
	uint32_t pid;
};

void qv_proc_self(struct qv_proc *self);

/* False if proc runs on this host (see self->host) and is gone, a zombie, or has no memory any more and
 * is about to be one: then its connections may not have ended yet. True in doubt. */
bool qv_proc_alive(const struct qv_proc *self, const struct qv_proc *proc);

/* The same of any process with this number, whatever its start time. */
bool qv_proc_number_alive(uint32_t pid);

/* 64 bits that no other endpoint of any job has. */
uint64_t qv_proc_random(void);

#endif /* QV_PROC_H */
