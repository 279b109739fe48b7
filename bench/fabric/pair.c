/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.c - ask the two processes of one implementation, and wait for what they say. */
#include "fabric.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whatever a pair does, after so many times the seconds without an answer it hangs too. */
#define QV_FB_PATIENCE 10

static int lose(struct qv_fb_pair *pair, const char *why)
{
	if (why != pair->reply.text)
		snprintf(pair->reply.text, sizeof(pair->reply.text), "%s", why);
	pair->alive = false;
	qv_fb_pair_stop(pair);
	return -1;
}

/* The process behind `rank` closed its line: say what ended it. */
static int lose_dead(struct qv_fb_pair *pair, int rank)
{
	char why[QV_FB_TEXT] = "died";
	int status;

	if (!pair->pid[rank]) {
		snprintf(why, sizeof(why), "the other host closed the connection");
	} else if (qv_fb_process_reap(pair->pid[rank], 1.0, &status) == 0) {
		pair->pid[rank] = 0;
		if (WIFSIGNALED(status))
			snprintf(why, sizeof(why), "died: %s", strsignal(WTERMSIG(status)));
		else
			snprintf(why, sizeof(why), "died: exit %d", WEXITSTATUS(status));
	}
	return lose(pair, why);
}

/* CPU time of that one of the two which had less. */
static double cpu_seconds(const struct qv_fb_pair *pair)
{
	double least = 1e9;

	for (int rank = 0; rank < 2; rank++) {
		struct timespec t;
		clockid_t clock;
		double seconds;

		if (pair->pid[rank] <= 0 || clock_getcpuclockid(pair->pid[rank], &clock) ||
		    clock_gettime(clock, &t))
			continue;
		seconds = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
		least = seconds < least ? seconds : least;
	}
	return least;
}

static void start_clock(struct qv_fb_pair *pair, double seconds)
{
	pair->asked = qv_bench_seconds();
	pair->moved = cpu_seconds(pair);
	pair->patience = seconds;
}

/*
 * Wait for rank (or either, if -1) to say something. 0, or 1 (pair->why) if the pair hangs: both
 * have polled for so long without any completion. On a loaded machine they may wait long for a CPU
 * instead.
 */
static int wait_readable(struct qv_fb_pair *pair, int rank, struct pollfd p[2])
{
	for (int i = 0; i < 2; i++) {
		p[i].fd = rank == -1 || rank == i ? pair->fd[i] : -1;
		p[i].events = POLLIN;
		p[i].revents = 0;
	}
	while (poll(p, 2, 50) <= 0) {
		uint64_t beats = __atomic_load_n(&pair->beat[0], __ATOMIC_RELAXED) +
				 __atomic_load_n(&pair->beat[QV_FB_BEAT], __ATOMIC_RELAXED);
		double now = cpu_seconds(pair);

		qv_fb_process_end_all();
		if (beats != pair->seen) {
			pair->seen = beats;
			pair->moved = now;
		}
		/* Of a process on another host nothing is known but its answers. */
		if ((!pair->hosts && now - pair->moved > pair->patience) ||
		    qv_bench_seconds() - pair->asked > QV_FB_PATIENCE * pair->patience) {
			pair->why = "hangs";
			return 1;
		}
		if (pair->deadline > 0 && qv_bench_seconds() > pair->deadline) {
			pair->why = "no time";
			return 1;
		}
	}
	return 0;
}

/* n bytes from rank. 0, 1 if it was given up, -1 at the end of the line. */
static int get(struct qv_fb_pair *pair, int rank, void *data, size_t n)
{
	struct pollfd p[2];
	char *at = data;

	while (n) {
		ssize_t done;

		if (wait_readable(pair, rank, p))
			return 1;
		done = read(pair->fd[rank], at, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

/* One reply with what follows it. Ends the pair unless all went well. */
static int get_reply(struct qv_fb_pair *pair, int rank, char *address)
{
	struct qv_fb_reply *r = &pair->reply;
	int rc = get(pair, rank, r, sizeof(*r));

	if (!rc && r->status)
		return lose(pair, r->text);
	if (!rc && r->address_n)
		rc = get(pair, rank, address, r->address_n);
	if (!rc && r->flat_n)
		rc = get(pair, rank, pair->flat, r->flat_n * sizeof(float));
	if (!rc && r->deep_n)
		rc = get(pair, rank, pair->deep, r->deep_n * sizeof(float));
	if (rc < 0)
		return lose_dead(pair, rank);
	return rc ? lose(pair, pair->why) : 0;
}

/*
 * Wait for both, whoever answers first: the one that failed has the reason, while the other may
 * then wait for ever. Rank 0, which has the samples, is read last.
 */
static int await_both(struct qv_fb_pair *pair)
{
	struct qv_fb_reply samples;
	struct pollfd p[2];

	if (wait_readable(pair, -1, p))
		return lose(pair, pair->why);
	if (p[1].revents)
		return get_reply(pair, 1, NULL) || get_reply(pair, 0, NULL) ? -1 : 0;
	if (get_reply(pair, 0, NULL))
		return -1;
	samples = pair->reply;
	if (get_reply(pair, 1, NULL))
		return -1;
	pair->reply = samples;
	return 0;
}

int qv_fb_pair_ask(struct qv_fb_pair *pair, const struct qv_fb_command *command, double seconds)
{
	start_clock(pair, seconds);
	for (int rank = 0; rank < 2; rank++)
		if (write(pair->fd[rank], command, sizeof(*command)) != sizeof(*command))
			return lose_dead(pair, rank);
	return await_both(pair);
}

int qv_fb_pair_start(struct qv_fb_pair *pair, double seconds)
{
	char address[2][QV_FB_ADDRESS] = {{0}};

	if (!pair->beat)
		pair->beat = mmap(NULL, 2 * QV_FB_BEAT * sizeof(*pair->beat),
				  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pair->beat == MAP_FAILED)
		abort();
	start_clock(pair, seconds);
	if (pair->hosts && pair->hosts->connect) {
		if (qv_fb_reach(pair))
			return lose(pair, "nobody listens there");
		qv_fb_process_adopt(pair->fd[1]);
	}
	if (qv_fb_process_start(pair, 0) || (!pair->fd[1] && qv_fb_process_start(pair, 1)))
		return lose(pair, "cannot start processes");
	for (int rank = 0; rank < 2; rank++)
		if (get_reply(pair, rank, address[rank]))
			return -1;
	for (int rank = 0; rank < 2; rank++)
		if (write(pair->fd[rank], address[!rank], QV_FB_ADDRESS) != QV_FB_ADDRESS)
			return lose_dead(pair, rank);
	snprintf(pair->how, sizeof(pair->how), "%s", pair->reply.text);
	pair->alive = true;
	return 0;
}
