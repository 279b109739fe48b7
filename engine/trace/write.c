/* SPDX-License-Identifier: BSD-2-Clause */
/* write.c - a trace is written, block by block. */
#include "write.h"
#include "write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lanes with records in memory, for qv_trace_put: then all are written. */
enum { BUFFERS_MOST = 512 };

struct qv_trace_file {
	int fd;
	pid_t pid;     /* whose it is */
	uint64_t most; /* bytes */
	_Atomic uint64_t bytes, lost;
	_Atomic int error; /* nothing is written any more */
	_Atomic uint32_t processes, lanes;
	/* qv_trace_put only */
	struct qv_trace_buffer **buffers; /* of lanes; NULL: none */
	uint32_t buffers_room, buffers_used;
};

static void stop(struct qv_trace_file *f, int error)
{
	int none = 0;

	/* The first one stays. */
	while (!none && !atomic_compare_exchange_weak(&f->error, &none, error))
		;
}

/* The file is opened to append: what one call writes stays together. */
static bool write_all(struct qv_trace_file *f, const void *data, size_t bytes)
{
	int error = qv_write_all(f->fd, data, bytes);

	if (error)
		stop(f, error);
	return !error;
}

/* A block with what follows it, both in one piece of memory. */
static bool write_block(struct qv_trace_file *f, struct qv_trace_block *block,
			enum qv_trace_block_type type, size_t bytes)
{
	block->type = type;
	block->bytes = (uint32_t)bytes;
	block->reserved = 0;
	block->check = qv_trace_sum(block, block + 1);
	bytes += sizeof *block;
	if (atomic_load(&f->error) || f->pid != getpid())
		return false;
	if (type == QV_TRACE_B_EVENTS && f->most &&
	    atomic_fetch_add(&f->bytes, bytes) + bytes > f->most) {
		stop(f, EFBIG);
		return false;
	}
	return write_all(f, block, bytes);
}

/* Emptied by who has it alone. Some file systems have no locks, and a device has nothing to empty. */
static bool take(struct qv_trace_file *f)
{
	struct flock all = {.l_type = F_WRLCK};
	struct stat there;

	if (fstat(f->fd, &there) == 0 && S_ISREG(there.st_mode) &&
	    ((fcntl(f->fd, F_OFD_SETLK, &all) && errno == EWOULDBLOCK) || ftruncate(f->fd, 0))) {
		stop(f, errno);
		return false;
	}
	return true;
}

static struct qv_trace_file *create(const char *path, uint64_t most, uint32_t version)
{
	struct qv_trace_header header = {QV_TRACE_MAGIC, version, QV_TRACE_ORDER, {0}};
	struct qv_trace_file *f = calloc(1, sizeof *f);
	int error;

	if (!f)
		return NULL;
	f->pid = getpid();
	f->most = most;
	f->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (f->fd >= 0 && take(f) && write_all(f, &header, sizeof header))
		return f;
	error = f->fd < 0 ? errno : atomic_load(&f->error);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
	errno = error;
	return NULL;
}

struct qv_trace_file *qv_trace_create(const char *path, uint64_t most)
{
	return create(path, most, QV_TRACE_VERSION);
}

struct qv_trace_file *qv_trace_create_calls(const char *path, uint64_t most)
{
	return create(path, most, QV_TRACE_CALLS);
}

static void copy_name(char *to, const char *from)
{
	size_t len = strnlen(from, QV_TRACE_NAME - 1);

	memset(to, 0, QV_TRACE_NAME);
	memcpy(to, from, len);
}

int64_t qv_trace_add_process(struct qv_trace_file *f, const struct qv_trace_process *process)
{
	struct {
		struct qv_trace_block block;
		struct qv_trace_b_process body;
	} b = {.body = {.rank = process->rank, .pid = process->pid}};

	copy_name(b.body.host, process->host);
	copy_name(b.body.program, process->program);
	b.block.index = atomic_fetch_add(&f->processes, 1);
	if (b.block.index >= QV_TRACE_PROCESSES ||
	    !write_block(f, &b.block, QV_TRACE_B_PROCESS, sizeof b.body))
		return -1;
	return b.block.index;
}

int64_t qv_trace_add_lane(struct qv_trace_file *f, const struct qv_trace_lane *lane)
{
	struct {
		struct qv_trace_block block;
		struct qv_trace_b_lane body;
	} b = {.body = {.process = lane->process,
			.endpoint = lane->endpoint,
			.queue = lane->queue,
			.protocol_bits = lane->protocol_bits}};

	copy_name(b.body.structure, lane->structure);
	b.block.index = atomic_fetch_add(&f->lanes, 1);
	if (b.block.index >= QV_TRACE_LANES ||
	    !write_block(f, &b.block, QV_TRACE_B_LANE, sizeof b.body))
		return -1;
	return b.block.index;
}

void qv_trace_count_lost(struct qv_trace_file *f, uint64_t n)
{
	atomic_fetch_add(&f->lost, n);
}

bool qv_trace_flush(struct qv_trace_file *f, struct qv_trace_buffer *b)
{
	if (write_block(f, &b->block, QV_TRACE_B_EVENTS,
			sizeof b->head + b->head.n * sizeof *b->records))
		return true;
	qv_trace_count_lost(f, b->events);
	return false;
}

/* Tools. Their clock is that of the events. */

static bool flush_lane(struct qv_trace_file *f, uint32_t lane)
{
	struct qv_trace_buffer *b = f->buffers[lane];
	bool done = !b || qv_trace_flush(f, b);

	free(b);
	f->buffers_used -= b != NULL;
	f->buffers[lane] = NULL;
	return done;
}

static bool flush_all(struct qv_trace_file *f)
{
	bool done = true;

	for (uint32_t i = 0; i < f->buffers_room; i++)
		done &= flush_lane(f, i);
	return done;
}

static struct qv_trace_buffer *buffer_of(struct qv_trace_file *f, const struct qv_trace_event *e)
{
	struct qv_trace_buffer *b;

	if (e->lane >= f->buffers_room) {
		uint32_t room = atomic_load(&f->lanes);
		struct qv_trace_buffer **more =
			e->lane < room ? realloc(f->buffers, room * sizeof *more) : NULL;

		if (!more)
			return NULL;
		memset(more + f->buffers_room, 0, (room - f->buffers_room) * sizeof *more);
		f->buffers = more;
		f->buffers_room = room;
	}
	b = f->buffers[e->lane];
	if (b && !qv_trace_is_full(b))
		return b;
	if (f->buffers_used >= BUFFERS_MOST ? !flush_all(f) : !flush_lane(f, e->lane))
		return NULL;
	b = malloc(sizeof *b);
	if (!b)
		return NULL;
	qv_trace_begin(b, e->lane, e->ns, e->ns);
	f->buffers[e->lane] = b;
	f->buffers_used++;
	return b;
}

bool qv_trace_put(struct qv_trace_file *f, const struct qv_trace_event *e)
{
	struct qv_trace_buffer *b = atomic_load(&f->error) ? NULL : buffer_of(f, e);
	uint32_t flags =
		(e->matched ? QV_TRACE_F_MATCHED : 0) | (e->persistent ? QV_TRACE_F_PERSISTENT : 0);

	if (!b || e->ns < b->last) {
		stop(f, b ? EINVAL : ENOMEM);
		qv_trace_count_lost(f, 1);
		return false;
	}
	qv_trace_append(b, e->ns, e->kind, flags, e);
	return true;
}

static void write_end(struct qv_trace_file *f, uint64_t lost)
{
	struct {
		struct qv_trace_block block;
		struct qv_trace_b_end body;
	} b = {.body = {.lost = lost}};

	(void)write_block(f, &b.block, QV_TRACE_B_END, sizeof b.body);
}

/* What is lost would be in the end: it goes with a lane, without events. */
static void write_lost(struct qv_trace_file *f, uint64_t lost)
{
	struct {
		struct qv_trace_block block;
		struct qv_trace_b_events head;
	} b = {.head = {.span_ns = 1, .span_ticks = 1, .lost = lost}};

	if (lost && atomic_load(&f->lanes))
		(void)write_block(f, &b.block, QV_TRACE_B_EVENTS, sizeof b.head);
}

static int finish(struct qv_trace_file *f, uint64_t *lost,
		  void (*last)(struct qv_trace_file *f, uint64_t lost))
{
	uint64_t missing;
	int error;

	(void)flush_all(f);
	error = atomic_load(&f->error);
	if (error == EFBIG) /* the end has room yet */
		atomic_store(&f->error, 0);
	missing = atomic_load(&f->lost);
	last(f, missing);
	if (!error)
		error = atomic_load(&f->error);
	/* Children that were forked have the descriptor, too, and with it the lock. */
	(void)fcntl(f->fd, F_OFD_SETLK, &(struct flock){.l_type = F_UNLCK});
	if (close(f->fd) && !error)
		error = errno;
	if (lost)
		*lost = missing;
	free(f->buffers);
	free(f);
	return error;
}

int qv_trace_finish(struct qv_trace_file *f, uint64_t *lost)
{
	return finish(f, lost, write_end);
}

int qv_trace_leave(struct qv_trace_file *f)
{
	return finish(f, NULL, write_lost);
}

void qv_trace_drop(struct qv_trace_file *f)
{
	close(f->fd); /* the lock stays the parent's */
}
