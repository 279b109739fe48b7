/* SPDX-License-Identifier: BSD-2-Clause */
/* test_proc.c - whether other processes live: who has died, who dies, who only looks dead. */
#include "tests/proto/rig/rig.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"

#define MEMORY ((size_t)64 << 20) /* so much takes 5 ms and more to go */
#define TRIES  20u                /* somebody else may have the CPU while it goes */
#define NOBODY INT32_MAX          /* no process has this number */
#define MOST   10000000000u       /* ns until a death is seen */

/* A child that waits for ever. */
struct child {
	struct qv_proc proc; /* as it calls itself */
	int fd;              /* at its end when what the child has open is closed */
};

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* How a child lives: with so many bytes of memory; as_thread: its first thread has ended. */
static void live(bool as_thread, size_t memory)
{
	pthread_t thread;
	char *bytes =
		mmap(NULL, memory + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		_exit(1);
	(void)madvise(bytes, memory + 1, MADV_NOHUGEPAGE);
	memset(bytes, 1, memory);
	if (as_thread && pthread_create(&thread, NULL, wait_for_ever, NULL))
		_exit(1);
}

static struct child start(bool as_thread, size_t memory)
{
	struct child c;
	int fd[2];
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when a failed test leaves it behind */
		close(fd[0]);
		live(as_thread, memory);
		qv_proc_self(&c.proc);
		if (write(fd[1], &c.proc, sizeof c.proc) != sizeof c.proc)
			_exit(1);
		if (as_thread)
			pthread_exit(NULL);
		wait_for_ever(NULL);
	}
	close(fd[1]);
	assert_int_equal(read(fd[0], &c.proc, sizeof c.proc), sizeof c.proc);
	assert_int_equal(c.proc.pid, pid);
	c.fd = fd[0];
	return c;
}

static void end(const struct child *c)
{
	kill((pid_t)c->proc.pid, SIGKILL);
	assert_int_equal(waitpid((pid_t)c->proc.pid, NULL, 0), c->proc.pid);
	close(c->fd);
}

/* What this process is called; skips the test where there is no /proc. */
static struct qv_proc self(void)
{
	struct qv_proc proc;

	qv_proc_self(&proc);
	if (!proc.host)
		skip();
	return proc;
}

static void await_death(const struct qv_proc *us, const struct child *c)
{
	const uint64_t start = qv_clock_ns();

	while (qv_proc_alive(us, &c->proc))
		assert_in_range(qv_clock_ns() - start, 0, MOST);
}

static void dead_and_zombie(void **state)
{
	const struct qv_proc us = self();
	const struct child c = start(false, 0);
	struct qv_proc other = c.proc;

	assert_int_equal(c.proc.host, us.host);
	assert_true(qv_proc_alive(&us, &c.proc));
	assert_true(qv_proc_alive(&us, &us));
	other.start--; /* another process had this pid before */
	assert_false(qv_proc_alive(&us, &other));
	other.host++; /* another host: who knows */
	assert_true(qv_proc_alive(&us, &other));
	other.host = 0;
	assert_true(qv_proc_alive(&us, &other));
	kill((pid_t)c.proc.pid, SIGSTOP);
	assert_true(qv_proc_alive(&us, &c.proc));
	kill((pid_t)c.proc.pid, SIGKILL);
	await_death(&us, &c); /* a zombie, soon */
	end(&c);
	errno = 0;
	assert_false(qv_proc_alive(&us, &c.proc));
}

/* /proc shows a process whose first thread has ended as a zombie. */
static void await_zombie(const struct child *c)
{
	char path[64], text[512] = "";

	snprintf(path, sizeof path, "/proc/%u/stat", c->proc.pid);
	for (unsigned n = 0; !strstr(text, ") Z "); n++) {
		FILE *f = fopen(path, "r");

		assert_in_range(n, 0, 5000);
		assert_non_null(f);
		text[fread(text, 1, sizeof text - 1, f)] = 0;
		fclose(f);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
}

static void first_thread_ended(void **state)
{
	const struct qv_proc us = self();
	const struct child c = start(true, 0);

	await_zombie(&c);
	assert_true(qv_proc_alive(&us, &c.proc));
	assert_true(qv_proc_number_alive(c.proc.pid));
	end(&c);
	errno = 0;
	assert_false(qv_proc_alive(&us, &c.proc));
}

/* Threads that live for a moment, each begun by the one before: one of them is always there. */
static void *begin_another(void *arg)
{
	pthread_attr_t attr;
	pthread_t next;

	nanosleep(&(struct timespec){.tv_nsec = 30000}, NULL);
	if (pthread_attr_init(&attr) || pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED))
		_exit(1);
	while (pthread_create(&next, &attr, begin_another, arg))
		;
	pthread_attr_destroy(&attr);
	return arg;
}

static void threads_that_change(void **state)
{
	const struct qv_proc us = self();
	struct child c = {.proc = us};
	pthread_t thread;

	c.proc.pid = (uint32_t)fork();
	if (!c.proc.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, begin_another, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	await_zombie(&c);
	for (unsigned i = 0; i < 5000; i++)
		assert_true(qv_proc_number_alive(c.proc.pid));
	kill((pid_t)c.proc.pid, SIGKILL);
	assert_int_equal(waitpid((pid_t)c.proc.pid, NULL, 0), c.proc.pid);
}

/* A /proc that hides processes of others: the answer of a process about one of the same user and another
 * group. The first process of a name space of its own. */
static int ask_hidden(void)
{
	pid_t other, asker;
	int status = 0;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, "hidepid=2"))
		return 77;
	other = fork();
	if (!other) {
		if (setgroups(0, NULL) || setgid(1001) || setuid(1000))
			_exit(1);
		wait_for_ever(NULL);
	}
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	asker = fork();
	if (!asker) {
		if (setgroups(0, NULL) || setgid(1000) || setuid(1000))
			_exit(77);
		_exit(!qv_proc_number_alive((uint32_t)other) || qv_proc_number_alive(NOBODY));
	}
	return waitpid(asker, &status, 0) == asker && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static void hidden(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWNS | CLONE_NEWPID))
			_exit(77);
		pid = fork();
		if (!pid)
			_exit(ask_hidden());
		_exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
									   : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* needs root */
	assert_int_equal(status, 0);
}

/* Is it seen to die while its descriptors are still open? */
static bool is_seen_early(const struct qv_proc *us, bool as_thread)
{
	const struct child c = start(as_thread, MEMORY);
	struct pollfd fd = {.fd = c.fd, .events = POLLIN};
	bool early;

	if (as_thread)
		await_zombie(&c);
	assert_true(qv_proc_alive(us, &c.proc));
	kill((pid_t)c.proc.pid, SIGKILL);
	await_death(us, &c);
	early = !poll(&fd, 1, 0);
	end(&c);
	return early;
}

/* The kernel first takes a process's memory, which may take seconds, and then closes what it has open. */
static void dying(void **state)
{
	const struct qv_proc us = self();

	for (unsigned as_thread = 0; as_thread < 2; as_thread++) {
		unsigned tries = 1;

		while (!is_seen_early(&us, as_thread))
			assert_in_range(tries++, 1, TRIES - 1);
	}
}

/* Where /proc is that of another name space, what it says of a number says nothing of ours. */
static void another_proc(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
			_exit(77);
		pid = fork();
		if (!pid)
			_exit(!qv_proc_number_alive(NOBODY));
		_exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
									   : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* no name space can be had here */
	assert_int_equal(status, 0);
	assert_false(qv_proc_number_alive(NOBODY));
}

static void randoms_differ(void **state)
{
	uint64_t a = qv_proc_random(), b = qv_proc_random();

	assert_int_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dead_and_zombie),
		cmocka_unit_test(first_thread_ended),
		cmocka_unit_test(threads_that_change),
		cmocka_unit_test(hidden),
		cmocka_unit_test(dying),
		cmocka_unit_test(another_proc),
		cmocka_unit_test(randoms_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
