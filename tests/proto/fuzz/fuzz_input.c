/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_input.c - see fuzz_input.h. */
#include "fuzz_input.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "tests/proto/rig/need.h"

#define HONEST_EVERY 64u   /* strings */
#define FRESH_EVERY  4096u /* */
/* Memory that hostile packets may take: one eager message under way for each sender that may be
 * claimed; for each packet what a short message takes that waits, and the tables grow in powers of
 * two. */
#define PER_SENDER (1 << 20)
#define PER_PACKET 8192
#define POOLS      (4 << 20) /* what stays with the pools and tables */
#define LOG_BYTES  (64u << 20)

static struct {
	struct fuzz *fuzz[FUZZ_KINDS];
	ptrdiff_t taken[FUZZ_KINDS]; /* memory that they have since they were made */
	unsigned inputs;
	unsigned char *log;
	size_t logged;
} all;

/* Of the sanitizers' allocator, where there is one. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static ptrdiff_t memory_in_use(void)
{
	struct mallinfo2 info;

	if (__sanitizer_get_current_allocated_bytes)
		return (ptrdiff_t)__sanitizer_get_current_allocated_bytes();
	info = mallinfo2();
	return (ptrdiff_t)(info.uordblks + info.hblkhd);
}

void fuzz_input_log(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	QV_NEED(fd >= 0 && ftruncate(fd, LOG_BYTES) == 0);
	all.log = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	QV_NEED(all.log != MAP_FAILED);
	close(fd);
}

static void remember(const uint8_t *data, size_t size)
{
	uint32_t n = (uint32_t)size;

	if (!all.log || LOG_BYTES - all.logged < sizeof n + size + sizeof n)
		return;
	memcpy(all.log + all.logged, &n, sizeof n);
	memcpy(all.log + all.logged + sizeof n, data, size);
	all.logged += sizeof n + size;
	memset(all.log + all.logged, 0, sizeof n); /* the end */
}

static struct fuzz *endpoints(unsigned kind)
{
	if (!all.fuzz[kind]) {
		all.fuzz[kind] = fuzz_new(kind);
		fuzz_honest(all.fuzz[kind], 300);
		rig_settle(all.fuzz[kind]->rig);
		rig_reqs_free(all.fuzz[kind]->rig);
	}
	return all.fuzz[kind];
}

void fuzz_input_end(void)
{
	for (unsigned kind = 0; kind < FUZZ_KINDS; kind++) {
		if (all.fuzz[kind])
			fuzz_end(all.fuzz[kind]);
		all.fuzz[kind] = NULL;
		all.taken[kind] = 0;
	}
	all.logged = 0;
}

static void packet(struct fuzz *f, const uint8_t *data, size_t len, unsigned control)
{
	unsigned word = control >> 2 & 7;
	size_t at = fuzz_word_at(control >> 5);
	char copy[FUZZ_MAX];

	memcpy(copy, data, len);
	if (!(control & 2) && word && at + 8 <= len)
		memcpy(copy + at, &f->words[word - 1], 8);
	fuzz_packet(f, copy, len, control & 1);
}

/* Returns the number of entries. */
static unsigned entries(struct fuzz *f, const uint8_t *data, size_t size)
{
	unsigned n = 0;

	for (; size >= 3; n++) {
		unsigned control = data[0];
		size_t len = data[1] | (size_t)data[2] << 8;

		data += 3;
		size -= 3;
		if (len > size)
			len = size;
		if (len > FUZZ_MAX)
			len = FUZZ_MAX;
		if (len)
			packet(f, data, len, control);
		if (control & 2)
			fuzz_action(f, control >> 2);
		data += len;
		size -= len;
	}
	return n;
}

/* After a string and before: honest messages are on their way, or have been. */
static void honest(struct fuzz *f)
{
	fuzz_honest(f, 500);
	fuzz_honest(f, 3000);
	rig_settle(f->rig);
	rig_check_idle(f->rig, FUZZ_HONEST);
	rig_check_idle(f->rig, FUZZ_VICTIM);
	rig_reqs_free(f->rig);
}

void fuzz_input(const uint8_t *data, size_t size)
{
	unsigned kind = size ? data[0] % FUZZ_KINDS : 0, n;
	ptrdiff_t before;
	struct fuzz *f;

	if (!size)
		return;
	if (all.inputs++ % FRESH_EVERY == 0)
		fuzz_input_end();
	remember(data, size);
	f = endpoints(kind);
	f->rig->rng = size; /* the same string does the same */
	before = memory_in_use();
	fuzz_hello(f);
	n = entries(f, data + 1, size - 1);
	QV_NEED(memory_in_use() - before <= 3 * PER_SENDER + POOLS + (ptrdiff_t)n * PER_PACKET);
	fuzz_settle(f);
	if (all.inputs % HONEST_EVERY == 0 && !f->spoof)
		honest(f);
	all.taken[kind] += memory_in_use() - before;
	QV_NEED(all.taken[kind] <= POOLS);
}
