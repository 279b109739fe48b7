/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * presence.c - is anybody at an address? The cores do not tell: they answer FI_EAGAIN until
 * somebody is there, for ever if nobody is. An address of shm names the process that
 * made it; whether somebody listens at one of TCP is asked of the other host's kernel.
 */
#include "presence.h"

#include "engine/base/proc.h"
#include "fabric_glue/cores/core.h"
#include "fabric_glue/objects/av.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Shared memory. */

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

/* As the core of a rail needs it. */

static enum qv_fi_lookup lookup_of(const struct qv_fi_rail *rail)
{
	return qv_fi_rail_quirks(rail)->lookup;
}

static bool is_shm(const struct qv_fi_rail *rail)
{
	return lookup_of(rail) == QV_FI_LOOKUP_SHM;
}

/* What shm calls our endpoint; false: it is another core, or does not tell. */
static bool own_name(struct qv_fi_rail *rail, char *name, size_t size)
{
	size_t len = size - 1;

	if (!is_shm(rail) || fi_getname(&rail->core->fid, name, &len))
		return false;
	name[len] = 0;
	return true;
}

int qv_fi_presence_prepare(struct qv_fi_rail *rail)
{
	char name[QV_FI_ADDR_MAX];

	return own_name(rail, name, sizeof name) ? qv_fi_shm_take_over(name) : 0;
}

void qv_fi_presence_begin(struct qv_fi_rail *rail)
{
	char name[QV_FI_ADDR_MAX];

	if (own_name(rail, name, sizeof name))
		rail->mark_fd = qv_fi_shm_mark(name, rail->ep->dom->peer);
}

void qv_fi_presence_end(struct qv_fi_rail *rail)
{
	if (rail->mark_fd >= 0)
		close(rail->mark_fd);
	qv_fi_tcp_close(rail->tcp);
}

/* The peer's address in the core, with a zero behind it: not asked of the core, for shm of
 * libfabric 2.1 does not tell it. False: an address that says nothing. */
static bool name_of(struct qv_fi_rail *rail, uint64_t addr, char *name, size_t *len)
{
	const struct qv_fi_way way = {.addr = addr, .core = rail->which};
	const struct qv_fi_av_node *node;
	struct qv_fi_pair pair;
	const char *from;

	if (lookup_of(rail) == QV_FI_LOOKUP_NONE)
		return false;
	if (rail->which == QV_FI_SECOND) {
		*len = QV_FI_ADDR_MAX;
		return !fi_av_lookup(rail->ep->av->core[rail->which], addr, name, len);
	}
	node = qv_fi_index_by_way(rail->ep->av->index, way);
	if (!node)
		return false;
	from = node->name;
	*len = node->namelen;
	if (rail->ep->dom->pair) {
		if (!qv_fi_pair_parse(node->name, node->namelen, &pair))
			return false;
		from = is_shm(rail) ? pair.local : pair.main;
		*len = is_shm(rail) ? strlen(pair.local) : pair.main_len;
	}
	if (*len >= QV_FI_ADDR_MAX)
		return false;
	memcpy(name, from, *len);
	name[*len] = 0;
	return true;
}

static struct qv_fi_tcp *tcp_of(struct qv_fi_rail *rail)
{
	char own[QV_FI_ADDR_MAX];
	size_t len = sizeof own;

	if (!rail->tcp && fi_getname(&rail->core->fid, own, &len) == 0)
		rail->tcp = qv_fi_tcp_open(own, len);
	return rail->tcp;
}

enum qv_presence qv_fi_presence(struct qv_xport *x, uint64_t addr, uint64_t *silent)
{
	struct qv_fi_rail *rail = container_of(x, struct qv_fi_rail, xport);
	char name[QV_FI_ADDR_MAX];
	size_t len;

	if (lookup_of(rail) == QV_FI_LOOKUP_NONE && qv_fi_params.patience_set)
		return QV_UNTOLD;
	if (!name_of(rail, addr, name, &len))
		return QV_PRESENT;
	if (is_shm(rail))
		return qv_fi_shm_alive(name) ? QV_PRESENT : QV_GONE;
	return tcp_of(rail) ? qv_fi_tcp_listens(rail->tcp, name, len, silent) : QV_PRESENT;
}

void qv_fi_reconnect(struct qv_xport *x, uint64_t addr, bool others)
{
	struct qv_fi_rail *rail = container_of(x, struct qv_fi_rail, xport);
	char name[QV_FI_ADDR_MAX];
	size_t len;

	if (!is_shm(rail) && name_of(rail, addr, name, &len) && tcp_of(rail))
		qv_fi_tcp_end(rail->tcp, name, len, others);
}

bool qv_fi_unacked(struct qv_xport *x, uint64_t addr)
{
	struct qv_fi_rail *rail = container_of(x, struct qv_fi_rail, xport);
	char name[QV_FI_ADDR_MAX];
	size_t len;

	return !is_shm(rail) && name_of(rail, addr, name, &len) && tcp_of(rail) &&
	       qv_fi_tcp_unacked(rail->tcp, name, len);
}
