/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_read.c - the table of engine/match/live.h in another process, and the engines that it names. That
 * process runs on meanwhile, and may be anybody's: what is read is checked before it is used.
 */
#include "top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "engine/base/clock.h"

#define LINE      64u        /* of the cache: what engines are aligned to */
#define DATA_MOST (1u << 20) /* bytes of writable memory of a library */
#define TRIES     10         /* to see an engine between two of its calls */

/* 0 or errno. */
static int peek(const struct qv_top_process *p, uint64_t from, void *to, size_t bytes)
{
	struct iovec mine = {.iov_base = to, .iov_len = bytes};
	struct iovec theirs = {.iov_base = (void *)(uintptr_t)from, .iov_len = bytes};
	ssize_t n = process_vm_readv(p->pid, &mine, 1, &theirs, 1, 0);

	if (n == (ssize_t)bytes)
		return 0;
	return n < 0 ? errno : EFAULT;
}

static void say_error(int error, pid_t pid, char *why, size_t size)
{
	if (error == EPERM || error == EACCES)
		snprintf(why, size,
			 "the kernel does not let you read process %d: it is another user's, or "
			 "kernel.yama.ptrace_scope is not 0",
			 (int)pid);
	else if (error == ESRCH || error == ENOENT)
		snprintf(why, size, "there is no process %d", (int)pid);
	else
		snprintf(why, size, "process %d cannot be read: %s", (int)pid, strerror(error));
}

/* Finding the table. */

static uint64_t find_in(const char *data, size_t bytes, uint64_t address)
{
	const struct qv_live_table *t;

	for (size_t at = 0; at + sizeof *t <= bytes; at += sizeof(void *)) {
		uint64_t self;

		if (memcmp(data + at, QV_LIVE_MAGIC, sizeof t->magic))
			continue;
		memcpy(&self, data + at + offsetof(struct qv_live_table, self), sizeof self);
		if (self == address + at)
			return self;
	}
	return 0;
}

static bool look_in(struct qv_top_process *p, uint64_t from, uint64_t end, int *error)
{
	const size_t bytes = end - from < DATA_MOST ? (size_t)(end - from) : DATA_MOST;
	char *data = malloc(bytes);

	*error = data ? peek(p, from, data, bytes) : ENOMEM;
	if (!*error)
		p->table = find_in(data, bytes, from);
	free(data);
	return p->table;
}

bool qv_top_find(pid_t pid, struct qv_top_process *p, char *why, size_t size)
{
	char path[64], line[4096 + 128];
	unsigned long long from, end;
	bool loaded = false;
	int error = 0;
	FILE *maps;

	*p = (struct qv_top_process){.pid = pid};
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps) {
		say_error(errno, pid, why, size);
		return false;
	}
	while (!p->table && fgets(line, sizeof line, maps))
		if (strstr(line, "quiver-fi.so")) {
			loaded = true;
			if (sscanf(line, "%llx-%llx rw", &from, &end) == 2 && end > from &&
			    strstr(line, " rw") && look_in(p, from, end, &error))
				break;
		}
	fclose(maps);
	if (p->table)
		return true;
	if (error)
		say_error(error, pid, why, size);
	else if (loaded)
		snprintf(why, size,
			 "process %d has loaded quiver, but of a version without this table",
			 (int)pid);
	else
		snprintf(why, size, "process %d has not loaded quiver (libquiver-fi.so)", (int)pid);
	return false;
}

/* Reading it. */

/* A copy that was torn between two counters has differences below 0. */
static bool plausible(const struct qv_match_stats *s)
{
	if ((s->posted | s->arrived | s->matched | s->inspected) > INT64_MAX)
		return false;
	return s->posted_now <= s->posted_max && s->unexpected_now <= s->unexpected_max;
}

/* 0, or errno of a process that cannot be read. An engine that is gone has no counters. */
static int read_engine(const struct qv_top_process *p, struct qv_top_endpoint *e, unsigned which,
		       const struct qv_live *l)
{
	const size_t bytes = qv_match_bytes(e->structure);
	void *copy;
	int error = 0;

	if (!l->engine[which] || !bytes || bytes != l->bytes)
		return 0;
	copy = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
	if (!copy)
		return ENOMEM;
	for (int i = 0; i < TRIES && !e->has[which] && !error; i++) {
		error = peek(p, (uintptr_t)l->engine[which], copy, bytes);
		if (error)
			break;
		qv_match_get_copied_stats(e->structure, copy, &e->stats[which]);
		e->has[which] = plausible(&e->stats[which]);
	}
	free(copy);
	return error == EFAULT ? 0 : error;
}

static int by_number(const void *a, const void *b)
{
	const struct qv_top_endpoint *p = a, *q = b;

	return (p->number > q->number) - (p->number < q->number);
}

static int read_endpoint(const struct qv_top_process *p, const struct qv_live *l,
			 struct qv_top_endpoint *e)
{
	int error = 0;

	*e = (struct qv_top_endpoint){.number = l->number};
	memcpy(e->core, l->core, sizeof l->core);
	memcpy(e->structure, l->structure, sizeof l->structure);
	for (unsigned which = 0; which < QV_LIVE_ENGINES && !error; which++)
		error = read_engine(p, e, which, l);
	return error;
}

bool qv_top_read(const struct qv_top_process *p, struct qv_top_sample *s, bool *ended, char *why,
		 size_t size)
{
	struct qv_live_table t;
	struct qv_live l;
	int error = peek(p, p->table, &t, sizeof t);

	uint64_t at;

	*ended = error == ESRCH;
	s->ns = qv_clock_ns();
	s->n = 0;
	if (error == EFAULT || (!error && memcmp(t.magic, QV_LIVE_MAGIC, sizeof t.magic))) {
		snprintf(why, size, "process %d has begun another program, or unloaded quiver",
			 (int)p->pid);
		return false;
	}
	if (!error &&
	    (t.size != sizeof l || strncmp(t.version, QUIVER_VERSION, sizeof t.version))) {
		snprintf(why, size, "process %d runs quiver %.*s, and this is %s", (int)p->pid,
			 (int)sizeof t.version, t.version, QUIVER_VERSION);
		return false;
	}
	for (at = error ? 0 : (uintptr_t)t.first; at && s->n < QV_TOP_ENDPOINTS;
	     at = (uintptr_t)l.next) {
		error = peek(p, at, &l, sizeof l);
		if (!error)
			error = read_endpoint(p, &l, &s->at[s->n]);
		if (error)
			break;
		s->n++;
	}
	if (error && error != EFAULT) { /* of an endpoint that was closed just now */
		say_error(error, p->pid, why, size);
		return false;
	}
	s->more = at && s->n == QV_TOP_ENDPOINTS;
	qsort(s->at, s->n, sizeof *s->at, by_number);
	return true;
}
