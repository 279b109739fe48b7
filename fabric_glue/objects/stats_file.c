/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats_file.c - FI_QUIVER_STATS=json:FILE: the counters of all endpoints of the process, and whose they
 * are, as one JSON object; `quiver stats` reads it.
 */
#include "live.h"
#include "stats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/trace/write_all.h"

/* Of one endpoint, as it was when it was looked at last. */
struct account {
	struct account *next;
	const struct qv_fi_ep *ep; /* NULL: it has ended */
	char *text;
};

static struct {
	pthread_mutex_t lock;
	struct account *first, **last;
	pid_t pid; /* whose they are */
} file = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A child that was forked begins anew. */
static void forget_others(void)
{
	struct account *a;

	if (file.pid == getpid())
		return;
	while ((a = file.first)) {
		file.first = a->next;
		free(a->text);
		free(a);
	}
	file.last = &file.first;
	file.pid = getpid();
}

static struct account *account_of(const struct qv_fi_ep *ep)
{
	struct account *a;

	forget_others();
	for (a = file.first; a && a->ep != ep; a = a->next)
		;
	if (!a && (a = calloc(1, sizeof *a))) {
		a->ep = ep;
		*file.last = a;
		file.last = &a->next;
	}
	return a;
}

static struct account *note(const struct qv_fi_ep *ep)
{
	struct account *a = account_of(ep);
	char *text = a ? qv_fi_stats_json(ep) : NULL;

	if (text) {
		free(a->text);
		a->text = text;
	} else {
		qv_fi_warn("the counters of an endpoint are not in a file: no memory");
	}
	return a;
}

void qv_fi_stats_file_note(const struct qv_fi_ep *ep)
{
	pthread_mutex_lock(&file.lock);
	note(ep);
	pthread_mutex_unlock(&file.lock);
}

bool qv_fi_stats_file_end(const struct qv_fi_ep *ep, bool last)
{
	struct account *a;

	if (!qv_fi_lock_at_end(&file.lock, last))
		return false;
	a = note(ep);
	if (a && !last) /* another thread may look at it once more as the process ends */
		a->ep = NULL;
	pthread_mutex_unlock(&file.lock);
	return true;
}

/* Writing. */

static void put_all(FILE *out)
{
	char host[256] = "";
	const char *comma = "";

	gethostname(host, sizeof host - 1);
	fprintf(out,
		"{\"quiver\": \"%s\", \"rank\": %d, \"pid\": %d, \"time_ms\": %" PRIu64
		",\n \"host\": ",
		QUIVER_VERSION, qv_file_rank(), (int)getpid(),
		qv_clock_of(CLOCK_REALTIME) / 1000000);
	qv_fi_json_text(out, host);
	fputs(", \"program\": ", out);
	qv_fi_json_text(out, program_invocation_short_name);
	fputs(",\n \"endpoints\": [", out);
	for (const struct account *a = file.first; a; a = a->next)
		if (a->text) {
			fprintf(out, "%s%s", comma, a->text);
			comma = ",";
		}
	fputs("]}\n", out);
}

static int open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);

	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

const char *qv_fi_file_error(const char *path, int error)
{
	struct stat st;

	if (error == ENXIO && stat(path, &st) == 0 && S_ISFIFO(st.st_mode))
		return "nobody reads this pipe";
	return strerror(error);
}

static int fill(const char *path, const char *text, size_t len)
{
	int fd = open_file(path), error;

	if (fd < 0)
		return errno;
	error = qv_write_all(fd, text, len);
	if (close(fd) && !error)
		error = errno;
	return error;
}

/* What a symbolic link leads to, to be freed; NULL: to no file, or to one that a process has open. */
static char *follow(const char *path)
{
	if (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6))
		return NULL;
	return realpath(path, NULL);
}

/* Whoever reads finds the old file or the new one, and a disk that is full leaves the old one. What is
 * no plain file is not replaced. */
static int replace_real(const char *path, const char *text, size_t len)
{
	char part[4096 + 8];
	struct stat st;
	int error;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return fill(path, text, len);
	snprintf(part, sizeof part, "%s.part", path);
	error = fill(part, text, len);
	if (!error && rename(part, path))
		error = errno;
	if (error)
		unlink(part);
	return error;
}

/* The file itself may still be written: its folder may not, the name is too long for ".part", or the file
 * is a mount point. After any other error, as of a disk that is full, the old file stays. */
static bool folder_refuses(int error)
{
	return error == EACCES || error == EPERM || error == EROFS || error == ENAMETOOLONG ||
	       error == EBUSY;
}

int qv_fi_file_replace(const char *path, const char *text, size_t len)
{
	char *real = follow(path);
	int error = replace_real(real ? real : path, text, len);

	if (folder_refuses(error))
		error = fill(path, text, len);
	free(real);
	return error;
}

bool qv_fi_stats_file_write(bool last)
{
	char path[4096], *text = NULL;
	const char *why = "";
	size_t len = 0;
	FILE *out;
	int error;

	if (!qv_fi_lock_at_end(&file.lock, last))
		return false;
	out = open_memstream(&text, &len);
	if (out)
		put_all(out);
	if (!out || fclose(out))
		qv_fi_warn("no counters are written: no memory");
	else if (!qv_file_name(qv_fi_params.stats.out, path, sizeof path, &why))
		qv_fi_warn("no counters are written: %s", why);
	else if ((error = qv_fi_file_replace(path, text, len)))
		qv_fi_warn("the counters cannot be written to %s: %s", path,
			   qv_fi_file_error(path, error));
	free(text);
	pthread_mutex_unlock(&file.lock);
	return true;
}
