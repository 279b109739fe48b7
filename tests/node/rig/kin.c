/* SPDX-License-Identifier: BSD-2-Clause */
/* kin.c - see kin.h. */
#include "kin.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void kin_start(struct kin *k, void (*body)(int fd, const void *arg), const void *arg)
{
	static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}; /* cmocka's */
	int fds[2];

	fflush(NULL);
	QV_NEED(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	k->pid = fork();
	QV_NEED(k->pid >= 0);
	if (!k->pid) {
		close(fds[0]);
		for (unsigned i = 0; i < sizeof deadly / sizeof *deadly; i++)
			signal(deadly[i], SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(KIN_SECONDS);
		body(fds[1], arg);
		_exit(0);
	}
	close(fds[1]);
	k->fd = fds[0];
}

static int reap(struct kin *k)
{
	int status;

	while (waitpid(k->pid, &status, 0) < 0)
		QV_NEED(errno == EINTR);
	close(k->fd);
	return status;
}

void kin_end(struct kin *k)
{
	int status = reap(k);

	if (status)
		fprintf(stderr, "process %d has ended with %#x\n", (int)k->pid, (unsigned)status);
	QV_NEED(!status);
}

void kin_kill(struct kin *k)
{
	kill(k->pid, SIGKILL);
	reap(k);
}

void kin_say(int fd, uint64_t word)
{
	QV_NEED(send(fd, &word, sizeof word, MSG_NOSIGNAL) == (ssize_t)sizeof word);
}

uint64_t kin_hear(int fd)
{
	uint64_t word;

	QV_NEED(recv(fd, &word, sizeof word, MSG_WAITALL) == (ssize_t)sizeof word);
	return word;
}

void kin_drop_root(void)
{
	if (geteuid())
		return;
	QV_NEED(!setuid(60000 + (uid_t)getppid() % 5000));
	QV_NEED(!prctl(PR_SET_DUMPABLE, 1));
}

uint64_t kin_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

unsigned kin_patience(void)
{
	const char *text = getenv("QV_TEST_PATIENCE");
	const int times = text ? atoi(text) : 1;

	return times > 1 ? (unsigned)times : 1;
}

bool kin_madvise_works(void)
{
	char *memory = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool gone;

	QV_NEED(memory != MAP_FAILED);
	*memory = 1;
	gone = !madvise(memory, 1, MADV_REMOVE) && !*memory;
	munmap(memory, 1);
	if (!gone)
		printf("not tested: memory is given back (madvise does nothing here)\n");
	return gone;
}

unsigned kin_count_lines(const char *path, const char *text)
{
	FILE *f = fopen(path, "r");
	char line[1024];
	unsigned count = 0;

	QV_NEED(f);
	while (fgets(line, sizeof line, f))
		count += strstr(line, text) != NULL;
	fclose(f);
	return count;
}

unsigned kin_count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned count = 0;

	QV_NEED(d);
	while (readdir(d))
		count++;
	closedir(d);
	return count - 3; /* two that are folders, and the one that looks */
}
