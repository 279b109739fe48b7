/* SPDX-License-Identifier: BSD-2-Clause */
/* presence_shm.c - endpoints of shm: their files in /dev/shm, and whether those who made them live. */
#include "presence.h"

#include "engine/base/proc.h"
#include "fabric_glue/objects/av.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char scheme[] = "fi_shm://";

/* The file of this endpoint, as shm_open(3) makes it; NULL: another form of name. */
static const char *shm_path(const char *name, char *path, size_t size)
{
	if (strncmp(name, scheme, sizeof scheme - 1))
		return NULL;
	name += sizeof scheme - 1;
	if (strchr(name, '/') || snprintf(path, size, "/dev/shm/%s", name) >= (int)size)
		return NULL;
	return path;
}

/* A peer has chosen the name, and it may lead to a pipe, whose opening waits for a writer, or
 * elsewhere: what shm did not make is not there (ENOENT). */
static int open_file(const char *name)
{
	char path[QV_FI_ADDR_MAX];
	struct stat st;
	int fd;

	if (!shm_path(name, path, sizeof path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) {
		errno = errno == ELOOP ? ENOENT : errno;
		return -1;
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	errno = ENOENT;
	return -1;
}

/* A lock of the open file ends with the process, whatever its number is to others. On the first byte
 * it says that the endpoint lives, on the second that it is in peer mode. */
int qv_fi_shm_mark(const char *name, bool peer)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = peer ? 2 : 1};
	int fd = open_file(name);

	if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool is_locked(int fd, off_t at)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	return fcntl(fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

static bool is_marked(const char *name)
{
	int fd = open_file(name);
	bool marked;

	if (fd < 0)
		return errno != ENOENT;
	marked = is_locked(fd, 0);
	close(fd);
	return marked;
}

enum qv_fi_said qv_fi_shm_says(const char *name)
{
	enum qv_fi_said said = QV_FI_SAYS_NOTHING;
	int fd = open_file(name);

	if (fd < 0)
		return said;
	if (is_locked(fd, 0))
		said = is_locked(fd, 1) ? QV_FI_SAYS_PEER : QV_FI_SAYS_LAYERED;
	close(fd);
	return said;
}

/* The number in it is ours, or shm would not give us the name: whoever made it has died, unless it
 * lives in another name space of processes, and then it is marked. */
static bool may_take_over(const char *name)
{
	int fd = open_file(name);
	struct stat st;
	bool may = fd < 0 ? errno == ENOENT : !fstat(fd, &st) && st.st_uid == geteuid();

	if (fd >= 0)
		close(fd);
	return may && !is_marked(name);
}

int qv_fi_shm_take_over(const char *name)
{
	char path[QV_FI_ADDR_MAX];

	if (!shm_path(name, path, sizeof path) || access(path, F_OK))
		return 0;
	if (!may_take_over(name))
		return -FI_EBUSY;
	QV_FI_INFO(EP_CTRL, "%s is of a process that has died: removed\n", path);
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

bool qv_fi_shm_alive(const char *name)
{
	char *end;
	unsigned long pid;

	if (strncmp(name, scheme, sizeof scheme - 1))
		return true;
	name += sizeof scheme - 1;
	pid = strtoul(name, &end, 10);
	if (end == name || *end != ':' || !pid || pid > INT32_MAX)
		return true; /* a name that somebody has chosen */
	return qv_proc_number_alive((uint32_t)pid) || is_marked(name - (sizeof scheme - 1));
}
