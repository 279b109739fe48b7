/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c - see calls.h. */
#include "calls.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/trace/format.h"
#include "input.h"
#include "tools/trace/commands.h"

enum { FILES = 4, LONGEST = 1 << 20 };

bool fuzz_is_calls(const uint8_t *data, size_t size)
{
	struct qv_trace_header header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, data, sizeof(header));
	return !memcmp(header.magic, QV_TRACE_MAGIC, sizeof(header.magic)) &&
	       header.version == QV_TRACE_CALLS;
}

size_t fuzz_next_file(const uint8_t *data, size_t size)
{
	for (size_t at = 1; at + sizeof(struct qv_trace_header) <= size; at++)
		if (fuzz_is_calls(data + at, size - at))
			return at;
	return size;
}

static void need(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "quiver trace arrivals breaks its word: %s\n", what);
	abort();
}

static char folder[4000];

static void remove_folder(void)
{
	rmdir(folder);
}

/* A name for the result: the program writes it beside, and renames it. */
static void name_result(char *path, size_t size)
{
	if (!*folder) {
		const char *parent = getenv("TMPDIR");

		snprintf(folder, sizeof(folder), "%s/quiver-fuzz.XXXXXX", parent ? parent : "/tmp");
		need(mkdtemp(folder) != NULL, "a folder");
		atexit(remove_folder);
	}
	snprintf(path, size, "%s/job.qvt", folder);
}

/* Its lines are nobody's. The descriptors stay: a sanitizer writes to them what it has found. */
static int quietly(int argc, char **argv)
{
	static FILE *null;
	FILE *const kept[2] = {stdout, stderr};
	int status;

	if (!null)
		null = fopen("/dev/null", "we");
	need(null != NULL, "/dev/null");
	stdout = stderr = null;
	optind = 0; /* getopt begins anew */
	status = qv_trace_cmd_arrivals(argc, argv);
	stdout = kept[0];
	stderr = kept[1];
	return status;
}

static void read_result(const char *path)
{
	static uint8_t data[LONGEST];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	need(fd >= 0, "it has succeeded, and wrote no file");
	got = read(fd, data, sizeof(data));
	need(got > 0, "what it wrote is empty");
	need(!fuzz_is_calls(data, (size_t)got), "it made calls of calls");
	fuzz_trace(data, (size_t)got);
	close(fd);
	unlink(path);
}

void fuzz_calls(const uint8_t *data, size_t size)
{
	char command[] = "arrivals", option[] = "-o", result[4096], paths[FILES][32];
	char *argv[FILES + 4] = {command, option, result};
	int fds[FILES], n = 0, status;

	name_result(result, sizeof(result));
	for (size_t at = 0, next; at < size && n < FILES; at = next, n++) {
		next = at + fuzz_next_file(data + at, size - at);
		fds[n] = memfd_create("calls", MFD_CLOEXEC);
		need(fds[n] >= 0 && write(fds[n], data + at, next - at) == (ssize_t)(next - at),
		     "memory for a file");
		snprintf(paths[n], sizeof(paths[n]), "/proc/self/fd/%d", fds[n]);
		argv[3 + n] = paths[n];
	}
	status = quietly(3 + n, argv);
	need(status == 0 || status == 1, "the status is 0 or 1");
	if (!status)
		read_result(result);
	else
		need(access(result, F_OK) != 0, "it has failed, and a file is there");
	while (n-- > 0)
		close(fds[n]);
}
