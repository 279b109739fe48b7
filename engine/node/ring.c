/* SPDX-License-Identifier: BSD-2-Clause */
/* ring.c - memory of a ring, and the sender's side of one that is full, as far as it knows. */
#include "internal.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/local.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

bool qv_ring_refresh(struct qv_ring_tx *tx)
{
	uint32_t consumed = atomic_load_explicit(&tx->ring->consumed, memory_order_acquire);
	uint32_t seen = tx->end - tx->slots, last;

	/* It goes forward, and not beyond what was sent: anything else is nonsense, and no news. */
	if (consumed - seen <= tx->sent - seen && consumed != seen) {
		last = tx->sent - consumed; /* slots behind the last that was read */
		last = (tx->at + 2 * tx->slots - 1 - last) % tx->slots;
		tx->freed = tx->staged[last];
		tx->end = consumed + tx->slots;
	}
	/* The number of what is in a fresh slot is 0: no packet there may have that soon. */
	if (tx->end - tx->sent < QV_RING_FIRST / 2)
		tx->grow = tx->slots == QV_RING_FIRST && tx->sent <= UINT32_MAX - QV_RING_SLOTS;
	return tx->sent != tx->end;
}

/* More of the staging area is used from now on: what follows goes behind what was used. The bytes
 * skipped are taken for unread as long as anything before them is. */
static void grow_stage(struct qv_ring_tx *tx, uint32_t size)
{
	tx->put += (tx->base - tx->put) % tx->stage;
	tx->base = tx->put - tx->stage;
	tx->stage = size;
}

/* A packet begins with a line. What is left before the end of the area is skipped. */
static uint32_t skip_of(const struct qv_ring_tx *tx, uint32_t room)
{
	uint32_t at = (tx->put - tx->base) % tx->stage;

	return at + room > tx->stage ? tx->stage - at : 0;
}

uint32_t qv_ring_stage(struct qv_ring_tx *tx, uint32_t len)
{
	uint32_t room = (len + QV_RING_LINE - 1) / QV_RING_LINE * QV_RING_LINE;
	uint32_t skip = skip_of(tx, room);

	if (tx->put + skip + room - tx->freed > tx->stage) {
		qv_ring_refresh(tx);
		if (tx->put + skip + room - tx->freed > tx->stage &&
		    tx->stage == QV_RING_STAGE_FIRST)
			grow_stage(tx, QV_RING_STAGE);
		skip = skip_of(tx, room);
		if (tx->put + skip + room - tx->freed > tx->stage)
			return UINT32_MAX;
	}
	tx->put += skip + room;
	return (tx->put - room - tx->base) % tx->stage;
}

/* Kernels before 5.14 cannot tell. */
bool qv_ring_enlarge(struct qv_ring_tx *tx)
{
	if (madvise(tx->ring->stage + QV_RING_STAGE, QV_RING_LARGE - QV_RING_STAGE,
		    MADV_POPULATE_WRITE) &&
	    errno != EINVAL)
		return false;
	grow_stage(tx, QV_RING_LARGE);
	return true;
}

/* Whole pages between two offsets of the staging area, of those that only a large one has. */
static void give_back(struct qv_ring *ring, uint32_t from, uint32_t to)
{
	const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);

	from = ((from > QV_RING_STAGE ? from : QV_RING_STAGE) + page - 1) / page * page;
	to = to / page * page;
	if (from < to)
		(void)madvise(ring->stage + from, to - from, MADV_REMOVE);
}

/* The next packets go where they would if the area had never been large, so what was not read
 * stays where it is. */
bool qv_ring_reduce(struct qv_ring_tx *tx)
{
	const uint32_t end = (tx->put - tx->base) % QV_RING_LARGE;
	uint32_t begin;

	qv_ring_refresh(tx);
	if (tx->put - tx->freed > QV_RING_STAGE)
		return false;
	begin = (tx->freed - tx->base) % QV_RING_LARGE;
	if (begin <= end) {
		give_back(tx->ring, 0, begin);
		give_back(tx->ring, end, QV_RING_LARGE);
	} else {
		give_back(tx->ring, end, begin);
	}
	tx->base = tx->put - end % QV_RING_STAGE;
	tx->stage = QV_RING_STAGE;
	return true;
}

/* Its first packet would take a huge page, where the administrator gives these to shared memory. */
static struct qv_ring *in_small_pages(void *memory)
{
	if (memory)
		(void)madvise(memory, sizeof(struct qv_ring), MADV_NOHUGEPAGE);
	return memory;
}

struct qv_ring *qv_segment_make(int *fd)
{
	return in_small_pages(qv_local_make(sizeof(struct qv_ring), fd));
}

struct qv_ring *qv_segment_map(int fd)
{
	return in_small_pages(qv_local_map(fd, sizeof(struct qv_ring)));
}

void qv_segment_unmap(struct qv_ring *ring)
{
	qv_local_unmap(ring, sizeof *ring);
}

size_t qv_segment_touched(struct qv_ring *ring)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char there[sizeof *ring / 4096] = {0};
	size_t pages = 0;

	if (page < 4096 || mincore(ring, sizeof *ring, there))
		return 0;
	for (size_t i = 0; i < sizeof *ring / page; i++)
		pages += there[i] & 1;
	return pages * page;
}

void qv_ring_tell(struct qv_ring_rx *rx)
{
	rx->told = rx->got;
	rx->untold = 0;
	atomic_store_explicit(&rx->ring->consumed, rx->got, memory_order_release);
}
