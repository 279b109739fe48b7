/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segment.c - memory of a ring: without a name, so that nothing stays behind, and sealed, so that
 * who has it too cannot make it shorter under us.
 */
#include "internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct qv_ring *map(int fd)
{
	void *p = mmap(NULL, sizeof(struct qv_ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, sizeof(struct qv_ring), MADV_DONTFORK); /* a child is another process */
	return p;
}

struct qv_ring *qv_segment_make(int *fd)
{
	struct qv_ring *ring;

	*fd = memfd_create("quiver", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return NULL;
	if (!ftruncate(*fd, sizeof *ring) && !fcntl(*fd, F_ADD_SEALS, SEALS) && (ring = map(*fd)))
		return ring;
	close(*fd);
	return NULL;
}

struct qv_ring *qv_segment_map(int fd)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) ||
	    st.st_size != (off_t)sizeof(struct qv_ring))
		return NULL;
	return map(fd);
}

void qv_segment_unmap(struct qv_ring *ring)
{
	if (ring)
		munmap(ring, sizeof *ring);
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
