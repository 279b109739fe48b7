/* SPDX-License-Identifier: BSD-2-Clause */
/* process.c - start and end the processes of pairs. */
#include "fabric.h"

#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Providers remove their shared memory at SIGTERM; who does not listen is killed after this. */
#define QV_FB_TERM_MS 1000

/*
 * Descriptors of the parent's ends: a child closes those of the other children, so that each sees
 * the end of its own line when the parent is gone.
 */
static int parent_ends[2 * QV_FB_PAIRS];

static void parent_end(int old, int new)
{
	for (int i = 0; i < 2 * QV_FB_PAIRS; i++)
		if (parent_ends[i] == old) {
			parent_ends[i] = new;
			return;
		}
}

void qv_fb_process_adopt(int fd)
{
	parent_end(0, fd);
}

/* The signal that ends the bench. Its children are ended first: some providers let SIGTERM pass. */
static volatile sig_atomic_t told;
static struct qv_fb_pair *running[QV_FB_PAIRS];

static void on_signal(int number)
{
	told = number;
}

static void watch(struct qv_fb_pair *pair)
{
	const struct sigaction action = {.sa_handler = on_signal};
	size_t i = 0;

	while (i < QV_FB_PAIRS && running[i] && running[i] != pair)
		i++;
	if (i < QV_FB_PAIRS)
		running[i] = pair;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static void unwatch(void)
{
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

void qv_fb_process_end_all(void)
{
	if (!told)
		return;
	for (size_t i = 0; i < QV_FB_PAIRS && running[i]; i++)
		qv_fb_pair_stop(running[i]);
	signal(told, SIG_DFL);
	raise(told);
}

int qv_fb_process_start(struct qv_fb_pair *pair, int rank)
{
	const bool far = pair->hosts && pair->hosts->name[rank];
	pid_t parent = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return -1;
	fflush(NULL);
	watch(pair);
	pair->pid[rank] = fork();
	if (pair->pid[rank] < 0) {
		close(fds[0]);
		close(fds[1]);
		return -1;
	}
	if (pair->pid[rank] == 0) {
		unwatch();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		for (int i = 0; i < 2 * QV_FB_PAIRS; i++)
			if (parent_ends[i])
				close(parent_ends[i]);
		close(fds[0]);
		if (!far)
			exit(qv_fb_worker(&pair->setup, rank, fds[1], fds[1],
					  pair->beat + rank * QV_FB_BEAT));
		qv_fb_launch(pair->hosts, rank, fds[1]);
		_exit(127);
	}
	close(fds[1]);
	pair->fd[rank] = fds[0];
	parent_end(0, fds[0]);
	/* A launcher that has ended already is told of, with how it ended, by the first answer that lacks. */
	if (far)
		(void)qv_fb_send_setup(pair, rank);
	return 0;
}

int qv_fb_process_reap(pid_t pid, double seconds, int *status)
{
	double end = qv_bench_seconds() + seconds;

	do {
		if (waitpid(pid, status, WNOHANG) == pid)
			return 0;
		usleep(2000);
	} while (qv_bench_seconds() < end);
	return -1;
}

/* What libfabric's shm names by process id, of a process that could not remove it itself. */
static void remove_shm(pid_t pid)
{
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/dev/shm/%ld:*", (long)pid);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			unlink(found.gl_pathv[i]);
	globfree(&found);
}

void qv_fb_pair_stop(struct qv_fb_pair *pair)
{
	int status;

	for (int rank = 0; rank < 2; rank++) {
		if (pair->fd[rank] <= 0)
			continue;
		close(pair->fd[rank]);
		parent_end(pair->fd[rank], 0);
		pair->fd[rank] = 0;
	}
	/* A process that waits for a command ends by itself now, with all its cleaning up. */
	for (int rank = 0; rank < 2; rank++)
		if (pair->pid[rank] > 0 && pair->alive &&
		    qv_fb_process_reap(pair->pid[rank], 1.0, &status) == 0)
			pair->pid[rank] = 0;
	for (int rank = 0; rank < 2; rank++)
		if (pair->pid[rank] > 0)
			kill(pair->pid[rank], SIGTERM);
	for (int rank = 0; rank < 2; rank++) {
		if (pair->pid[rank] > 0 &&
		    qv_fb_process_reap(pair->pid[rank], QV_FB_TERM_MS * 1e-3, &status)) {
			kill(pair->pid[rank], SIGKILL);
			waitpid(pair->pid[rank], &status, 0);
			remove_shm(pair->pid[rank]);
		}
		pair->pid[rank] = 0;
	}
	pair->alive = false;
}
