/* SPDX-License-Identifier: BSD-2-Clause */
/* write_all.c - a file is written, without a signal. */
#include "write_all.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* 0 or an errno. */
static int write_rest(int fd, const char *at, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : ENOSPC;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* A signal of write(2) goes to the thread that calls it. One that waited before is the program's. On Linux
 * sigprocmask is of the thread, too. */
int qv_write_all(int fd, const void *data, size_t bytes)
{
	const struct timespec now = {0};
	sigset_t ours, before, waiting;
	int error, number;

	sigemptyset(&ours);
	sigaddset(&ours, SIGXFSZ);
	sigaddset(&ours, SIGPIPE);
	sigprocmask(SIG_BLOCK, &ours, &before);
	sigpending(&waiting);
	error = write_rest(fd, data, bytes);
	number = error == EFBIG ? SIGXFSZ : error == EPIPE ? SIGPIPE : 0;
	if (number && !sigismember(&waiting, number)) {
		sigemptyset(&ours);
		sigaddset(&ours, number);
		while (sigtimedwait(&ours, NULL, &now) < 0 && errno == EINTR)
			;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}
