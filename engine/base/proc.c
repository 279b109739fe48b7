/* SPDX-License-Identifier: BSD-2-Clause */
/* proc.c - see proc.h; reads /proc (proc(5)). */
#include "proc.h"
#include "hash.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
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

/* A thread. */
struct stat_line {
	int threads;               /* of its process */
	unsigned long long start;  /* of its process */
	unsigned long long memory; /* bytes of address space; 0: it has ended, or is about to */
};

/* From the folder of the thread: what qemu-user shows a process as its own /proc/PID/stat begins at
 * another time than what others are shown. False if there is none; errno tells why. */
static bool read_stat(uint32_t pid, uint32_t thread, struct stat_line *line)
{
	char path[64], text[1024], *at;
	size_t len;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%u/task/%u/stat", pid, thread);
	errno = 0;
	f = fopen(path, "r");
	if (!f)
		return false;
	len = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[len] = 0;
	at = strrchr(text, ')'); /* the name may hold anything */
	return at && sscanf(at + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			    "%d %*d %llu %llu",
			    &line->threads, &line->start, &line->memory) == 3;
}

void qv_proc_self(struct qv_proc *self)
{
	struct stat_line line = {0};

	self->pid = (uint32_t)getpid();
	self->host = host_id();
	if (!read_stat(self->pid, self->pid, &line))
		self->host = 0;
	self->start = line.start;
}

/* Does /proc have the numbers of our name space of processes? */
static bool proc_is_ours(void)
{
	char number[16] = "";

	return readlink("/proc/self", number, sizeof number - 1) > 0 && atoi(number) == getpid();
}

/* /proc does not show it: is there none? It may be mounted so that it hides others' (hidepid). */
static bool is_gone(uint32_t pid)
{
	return (errno == ENOENT || errno == ESRCH) && kill((pid_t)pid, 0) && errno == ESRCH;
}

/* One look at the threads of a process. */
struct look {
	bool any;     /* one has memory, or could not be read */
	uint64_t all; /* tells which there were */
};

/* False: there are none. */
static bool look_at_threads(uint32_t pid, struct look *look)
{
	const struct dirent *entry;
	struct stat_line line;
	char path[32];
	DIR *folder;

	*look = (struct look){.all = QV_FNV_START};
	snprintf(path, sizeof path, "/proc/%u/task", pid);
	folder = opendir(path);
	if (!folder) {
		look->any = true;
		return !is_gone(pid);
	}
	while (!look->any && (entry = readdir(folder))) {
		const uint32_t thread = (uint32_t)strtoul(entry->d_name, NULL, 10);

		look->all = qv_fnv(look->all, &thread, sizeof thread);
		look->any = thread && (!read_stat(pid, thread, &line) || line.memory);
	}
	closedir(folder);
	return true;
}

/* A thread that a look does not show may have begun since, by one that it shows and that has ended: two
 * looks show the same. Who lives at the second one was there at the first, and had memory. */
static bool any_thread_alive(uint32_t pid)
{
	struct look first, second;

	return look_at_threads(pid, &first) &&
	       (first.any ||
		(look_at_threads(pid, &second) && (second.any || second.all != first.all)));
}

/* By the first thread, which has the process's times; it may have ended before the others. In doubt it is
 * alive, with a start time that nobody has. The kernel takes a thread's memory first: what a process has
 * open is closed behind that, seconds later where there is much of it. */
static bool alive(uint32_t pid, struct stat_line *line)
{
	const bool ours = proc_is_ours();

	if (ours && read_stat(pid, pid, line))
		return line->memory || (line->threads > 1 && any_thread_alive(pid));
	*line = (struct stat_line){.start = UINT64_MAX};
	return !ours || !is_gone(pid);
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
