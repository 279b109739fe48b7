/* SPDX-License-Identifier: BSD-2-Clause */
/* proc.c - see proc.h; reads /proc (proc(5)). */
#include "proc.h"
#include "hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t host_id(void)
{
	char boot[64];
	struct stat ns;
	size_t len;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	if (!f)
		return 0;
	len = fread(boot, 1, sizeof boot, f);
	fclose(f);
	if (len == 0 || stat("/proc/self/ns/pid", &ns))
		return 0;
	return qv_fnv(qv_fnv(QV_FNV_START, boot, len), &ns.st_ino, sizeof ns.st_ino) | 1;
}

struct stat_line {
	char state;
	int threads;
	uint64_t start;
};

/* Of the first thread, which has the process's times: what qemu-user shows a process as its own
 * /proc/PID/stat begins at another time than what others are shown. False if there is none; errno tells
 * why. */
static bool read_stat(uint32_t pid, struct stat_line *line)
{
	char path[64], text[1024], *at;
	unsigned long long ticks;
	size_t len;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%u/task/%u/stat", pid, pid);
	errno = 0;
	f = fopen(path, "r");
	if (!f)
		return false;
	len = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[len] = 0;
	at = strrchr(text, ')'); /* the name may hold anything */
	if (!at || sscanf(at + 1,
			  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d "
			  "%*d %llu",
			  &line->state, &line->threads, &ticks) != 3)
		return false;
	line->start = ticks;
	return true;
}

void qv_proc_self(struct qv_proc *self)
{
	struct stat_line line = {0};

	self->pid = (uint32_t)getpid();
	self->host = host_id();
	if (!read_stat(self->pid, &line))
		self->host = 0;
	self->start = line.start;
}

/* In doubt it is, with a start time that nobody has. */
static bool alive(uint32_t pid, struct stat_line *line)
{
	if (!read_stat(pid, line)) {
		line->start = UINT64_MAX;
		return errno != ENOENT && errno != ESRCH;
	}
	/* A process whose first thread has ended looks like a zombie, with other threads. */
	return line->state != 'X' && (line->state != 'Z' || line->threads > 1);
}

bool qv_proc_alive(const struct qv_proc *self, const struct qv_proc *proc)
{
	struct stat_line line;

	if (proc->host == 0 || proc->host != self->host)
		return true;
	return alive(proc->pid, &line) && (line.start == proc->start || line.start == UINT64_MAX);
}

bool qv_proc_number_alive(uint32_t pid)
{
	struct stat_line line;

	return alive(pid, &line);
}

uint64_t qv_proc_random(void)
{
	uint64_t value;

	if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		value = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^
			(uint64_t)getpid() << 20;
	}
	return value;
}
