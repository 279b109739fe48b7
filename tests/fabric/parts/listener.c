/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listener.c - who lives, by a TCP connection beside the core's: cores/listener.h alone, between two
 * processes. The clock is the real one and a part that the test adds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabric_glue/cores/listener.h"
#include "fabric_glue/progress/wait_set.h"

static int64_t added; /* ms */
static int far;       /* ms: a call has no answer for so long */
static int64_t called_at[1024];
static int calls;

int __real_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);

int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	called_at[fd] = qv_fi_now_ms();
	calls++;
	return __real_connect(fd, addr, len);
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (qv_fi_now_ms() - called_at[fds->fd] < far)
		return 0;
	return __real_poll(fds, n, timeout);
}

int64_t qv_fi_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000 + added;
}

static void nap(int ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* Two endpoints: ours, and another process's. */
struct pair {
	struct qv_fi_listener *own;
	struct sockaddr_in other;
	pid_t pid;
};

/* An address of this host with a port that nobody has, nor gets for a connection: the system takes those from 32768 on. */
static struct sockaddr_in free_address(void)
{
	static unsigned tried;
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	do {
		assert_true(tried < 20000);
		in.sin_port = htons((in_port_t)(10000 + ((unsigned)getpid() + tried++) % 20000));
	} while (bind(fd, (struct sockaddr *)&in, sizeof in));
	close(fd);
	return in;
}

static struct qv_fi_listener *begin(const struct sockaddr_in *at)
{
	struct qv_fi_listener *l = qv_fi_listener_open(at, sizeof *at);

	assert_non_null(l);
	assert_true(qv_fi_listener_listens(l));
	return l;
}

static void play_other(const struct sockaddr_in *at, int ready)
{
	struct qv_fi_listener *l = qv_fi_listener_open(at, sizeof *at);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (qv_fi_listener_listens(l) && write(ready, "", 1) == 1)
		for (;; nap(20))
			qv_fi_listener_tick(l);
	_exit(1);
}

static struct pair meet(void)
{
	const struct sockaddr_in own = free_address();
	struct pair p = {.other = free_address()};
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	p.pid = fork();
	if (!p.pid)
		play_other(&p.other, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	p.own = begin(&own);
	return p;
}

static void die(struct pair *p)
{
	kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	p->pid = 0;
}

static void part(struct pair *p)
{
	qv_fi_listener_close(p->own);
	if (p->pid)
		die(p);
}

/* Whether this is told within ten seconds. A busy kernel may be late with a connection. */
static bool is_told(struct pair *p, enum qv_presence wanted)
{
	for (int i = 0; i < 100; i++) {
		uint64_t silent;

		qv_fi_listener_tick(p->own);
		if (qv_fi_listener_ask(p->own, &p->other, sizeof p->other, &silent) == wanted)
			return true;
		nap(100);
	}
	return false;
}

/* What is known in the end, of what is asked ten times a second. */
static enum qv_presence ask(struct pair *p, unsigned times)
{
	enum qv_presence presence = QV_UNSURE;
	uint64_t silent = 0;

	while (times-- > 0) {
		qv_fi_listener_tick(p->own);
		presence = qv_fi_listener_ask(p->own, &p->other, sizeof p->other, &silent);
		nap(10);
		added += 90;
	}
	return presence;
}

static unsigned open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Whether so many files are open within ten seconds. */
static bool are_open(struct qv_fi_listener *l, unsigned files)
{
	for (int i = 0; i < 1000 && open_files() != files; i++, nap(10))
		qv_fi_listener_tick(l);
	return open_files() == files;
}

/* Cases. */

static void lives_and_dies(void **state)
{
	struct pair p = meet();

	(void)state;
	assert_true(is_told(&p, QV_PRESENT));
	die(&p);
	assert_true(is_told(&p, QV_ABSENT));
	part(&p);
}

/* Its kernel answers for who does not look. */
static void busy_is_alive(void **state)
{
	struct pair p = meet();

	(void)state;
	assert_true(is_told(&p, QV_PRESENT));
	kill(p.pid, SIGSTOP);
	assert_int_equal(ask(&p, 300), QV_PRESENT);
	nap(2500); /* of the kernels' own clock */
	assert_int_equal(ask(&p, 1), QV_PRESENT);
	kill(p.pid, SIGCONT);
	assert_true(is_told(&p, QV_PRESENT));
	part(&p);
}

/* Who has never looked at those who call is alive, too: they wait with its kernel. */
static void never_looked(void **state)
{
	struct pair p = meet();

	(void)state;
	kill(p.pid, SIGSTOP);
	assert_int_equal(ask(&p, 300), QV_PRESENT);
	part(&p);
}

/* A firewall may refuse what is for a peer that lives. */
static void refused_by_a_stranger(void **state)
{
	struct pair p = meet();

	(void)state;
	p.other = free_address();
	assert_int_equal(ask(&p, 50), QV_UNTOLD);
	part(&p);
}

static void dies_before_it_is_asked(void **state)
{
	struct pair p = meet();
	const unsigned before = open_files();

	(void)state;
	qv_fi_listener_meet(p.own, &p.other, sizeof p.other);
	assert_int_equal(open_files(), before + 1);
	assert_true(are_open(p.own, before));
	die(&p);
	assert_true(is_told(&p, QV_ABSENT));
	part(&p);
}

static void comes_again(void **state)
{
	struct pair p = meet();
	struct qv_fi_listener *again;

	(void)state;
	assert_true(is_told(&p, QV_PRESENT));
	die(&p);
	assert_true(is_told(&p, QV_ABSENT));
	again = begin(&p.other);
	assert_true(is_told(&p, QV_PRESENT));
	qv_fi_listener_close(again);
	assert_true(is_told(&p, QV_ABSENT));
	part(&p);
}

static void port_of_another(void **state)
{
	const struct sockaddr_in at = free_address();
	struct qv_fi_listener *first = begin(&at);
	struct qv_fi_listener *second = qv_fi_listener_open(&at, sizeof at);

	(void)state;
	assert_non_null(second);
	assert_false(qv_fi_listener_listens(second));
	qv_fi_listener_close(second);
	qv_fi_listener_close(first);
	assert_null(qv_fi_listener_open("fi_shm://1", 11));
	assert_false(qv_fi_listener_listens(NULL));
}

/* Who is not asked after is not followed, and a first connection is short. Nor is one kept that has gone. */
static void gives_descriptors_back(void **state)
{
	const unsigned before = open_files();
	struct pair p = meet(), q = p;

	(void)state;
	assert_true(is_told(&p, QV_PRESENT));
	assert_int_equal(open_files(), before + 2);
	added += 11000;
	qv_fi_listener_tick(p.own);
	assert_int_equal(open_files(), before + 1);
	q.own = begin(&(struct sockaddr_in[]){free_address()}[0]);
	qv_fi_listener_meet(q.own, &p.other, sizeof p.other);
	assert_int_equal(open_files(), before + 3);
	assert_true(are_open(q.own, before + 2));
	qv_fi_listener_close(q.own);
	part(&p);
	assert_int_equal(open_files(), before);
}

static bool set_loopback(short flags)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = flags};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool done = !ioctl(fd, SIOCSIFFLAGS, &lo);

	close(fd);
	return done;
}

/* A network of this process alone. */
static void alone(void)
{
	if (unshare(CLONE_NEWNET)) {
		print_message("cannot run here: unshare(CLONE_NEWNET): %s\n", strerror(errno));
		skip();
	}
	assert_true(set_loopback(IFF_UP));
}

/* The answer to a call takes longer than from one look to the next. */
static void far_away(void **state)
{
	struct pair p = meet();

	(void)state;
	far = 150;
	assert_true(is_told(&p, QV_PRESENT));
	die(&p);
	assert_true(is_told(&p, QV_ABSENT));
	far = 0;
	part(&p);
}

/* The queue of who is called is full: he may be busy. */
static void calls_without_answer(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, more[3];
	struct pair p = meet();

	(void)state;
	assert_true(is_told(&p, QV_PRESENT));
	die(&p);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&p.other, sizeof p.other), 0);
	assert_int_equal(listen(fd, 0), 0);
	for (size_t i = 0; i < 3; i++) {
		more[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(more[i], (struct sockaddr *)&p.other, sizeof p.other);
	}
	for (int i = 0, untold = 0; i < 100 || !untold; i++) {
		const enum qv_presence presence = ask(&p, 1);

		assert_true(presence == QV_UNSURE || presence == QV_UNTOLD);
		untold += presence == QV_UNTOLD;
	}
	for (size_t i = 0; i < 3; i++)
		close(more[i]);
	close(fd);
	part(&p);
}

enum { MANY = 200 }; /* half of them are more than there are lines */

static void listen_many(struct sockaddr_in *at, int *fd)
{
	for (int i = 0; i < MANY; i++) {
		at[i] = free_address();
		fd[i] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(bind(fd[i], (struct sockaddr *)&at[i], sizeof at[i]), 0);
		assert_int_equal(listen(fd[i], 100), 0);
	}
}

/* All are asked after, each in its turn; and each has been met before. */
static void many(void **state)
{
	struct sockaddr_in at[MANY], own = free_address();
	struct pair p = {.own = begin(&own)};
	int fd[MANY], absent = 0, present = 0;

	(void)state;
	listen_many(at, fd);
	for (int i = 0; i < MANY; i++)
		qv_fi_listener_meet(p.own, &at[i], sizeof at[i]);
	for (int i = 0; i < 10; i++, nap(1))
		qv_fi_listener_tick(p.own);
	for (int i = 0; i < MANY; i += 2)
		close(fd[i]);
	for (int round = 0; round < 40; round++)
		for (int i = 0; i < MANY; i++) {
			uint64_t silent;
			enum qv_presence presence;

			qv_fi_listener_tick(p.own);
			presence = qv_fi_listener_ask(p.own, &at[i], sizeof at[i], &silent);
			assert_false(i % 2 && presence == QV_ABSENT);
			absent |= presence == QV_ABSENT && i == MANY - 2;
			present |= presence == QV_PRESENT && i == MANY - 1;
			added += i ? 0 : 100;
		}
	assert_true(absent && present);
	for (int i = 1; i < MANY; i += 2)
		close(fd[i]);
	part(&p);
}

/* Who calls one that has no room for more sees that it lives. */
static void called_by_many(void **state)
{
	struct sockaddr_in at[2] = {free_address(), free_address()};
	struct pair p = {.own = begin(&at[0]), .other = at[1]};
	struct qv_fi_listener *other = begin(&at[1]);
	int64_t since;
	int fd[MANY];
	unsigned before;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(fd[i], (struct sockaddr *)&at[1], sizeof at[1]), 0);
	}
	before = open_files();
	since = qv_fi_now_ms();
	calls = 0;
	for (int i = 0; i < 100; i++) {
		const enum qv_presence presence = ask(&p, 1);

		qv_fi_listener_tick(other);
		assert_true(presence == QV_UNSURE || presence == QV_PRESENT);
	}
	assert_in_range(open_files() - before, 1, 70);
	assert_in_range(calls, 5, 5 + (qv_fi_now_ms() - since) / 1000);
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
	ask(&p, 12);
	qv_fi_listener_tick(other);
	assert_true(is_told(&p, QV_PRESENT));
	qv_fi_listener_close(other);
	part(&p);
}

static void power_is_cut(void **state)
{
	uint64_t silent = 0;
	struct pair p;

	(void)state;
	alone();
	p = meet();
	assert_true(is_told(&p, QV_PRESENT));
	assert_true(set_loopback(0));
	for (int i = 0; i < 100 && silent < 2000; i++, nap(50))
		(void)qv_fi_listener_ask(p.own, &p.other, sizeof p.other, &silent);
	assert_in_range(silent, 2000, 5000);
	part(&p);
}

/* Where nobody listens, a call may get the very port that it calls. */
static void meets_itself(void **state)
{
	const char *range = "/proc/sys/net/ipv4/ip_local_port_range", port[] = "40000 40000";
	unsigned untold = 0;
	struct pair p;
	int fd;

	(void)state;
	alone();
	p = meet();
	p.other.sin_port = htons(40000);
	fd = open(range, O_WRONLY);
	if (fd < 0 || write(fd, port, sizeof port - 1) < 0) {
		print_message("cannot run here: %s: %s\n", range, strerror(errno));
		skip();
	}
	close(fd);
	/* Behind a call that has met itself there is no port for the next one for a while. */
	for (int i = 0; i < 20; i++) {
		const enum qv_presence presence = ask(&p, 1);

		untold += presence == QV_UNTOLD;
		assert_true(presence == QV_UNTOLD || presence == QV_UNSURE);
	}
	assert_true(untold > 0);
	part(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lives_and_dies),
		cmocka_unit_test(busy_is_alive),
		cmocka_unit_test(never_looked),
		cmocka_unit_test(refused_by_a_stranger),
		cmocka_unit_test(dies_before_it_is_asked),
		cmocka_unit_test(comes_again),
		cmocka_unit_test(port_of_another),
		cmocka_unit_test(gives_descriptors_back),
		cmocka_unit_test(far_away),
		cmocka_unit_test(calls_without_answer),
		cmocka_unit_test(many),
		cmocka_unit_test(called_by_many),
		cmocka_unit_test(power_is_cut),
		cmocka_unit_test(meets_itself),
	};

	/* Where that is allowed, no other program takes a port that is free. */
	if (!unshare(CLONE_NEWNET) && !set_loopback(IFF_UP))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
