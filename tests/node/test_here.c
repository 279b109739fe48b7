/* SPDX-License-Identifier: BSD-2-Clause */
/* test_here.c - who can be reached on this node, and whether the kernel lets us have an endpoint. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/node/internal.h"
#include "rig/guest.h"
#include "rig/party.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

/* What the kernel says to who asks for memory that may be executed, and that may not; 0: as it is. */
static int executable_error, noexec_error;

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);

int __wrap_memfd_create(const char *name, unsigned flags)
{
	const int error = flags & MFD_NOEXEC_SEAL ? noexec_error : executable_error;

	if (!error)
		return __real_memfd_create(name, flags);
	errno = error;
	return -1;
}

static void who_has_a_door_is_here(void **state)
{
	unsigned fds = kin_count_fds();
	struct party p, q;

	(void)state;
	party_open(&p, 0);
	party_open(&q, 1);
	assert_true(qv_node_is_here(p.name) && qv_node_is_here(q.name));
	assert_false(qv_node_is_here(p.name + 1));
	party_send(&p, party_insert(&p, q.name), 1, 100); /* nobody minds that we looked */
	assert_true(party_hear(&q, 0, 1, 1000));
	assert_int_equal(p.warnings + q.warnings, 0);
	party_close(&p);
	assert_false(qv_node_is_here(p.name));
	party_close(&q);
	assert_int_equal(kin_count_fds(), fds);
}

/* More look than the door has room for: somebody is behind it nevertheless. */
static void who_is_crowded_is_here(void **state)
{
	const uint64_t name = 4711;
	int door = guest_door(name), fd[200];

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		fd[i] = guest_knock(name);
		assert_true(qv_node_is_here(name));
	}
	assert_int_equal(fd[199], -1);
	for (unsigned i = 0; i < 200; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	close(door);
	assert_false(qv_node_is_here(name));
}

enum apart { IN_A_NETWORK, AS_A_USER };

static void open_apart(int fd, const void *arg)
{
	struct party p;

	if (*(const enum apart *)arg == AS_A_USER)
		kin_drop_root();
	else
		QV_NEED(!unshare(CLONE_NEWNET));
	party_open(&p, 1);
	QV_NEED(qv_node_is_here(p.name));
	kin_say(fd, p.name);
	QV_NEED(!qv_node_is_here(kin_hear(fd)));
	party_close(&p);
}

/* All but its network, or its user, is ours. */
static void who_is_apart_is_not_here(enum apart apart)
{
	struct party p;
	struct kin k;

	party_open(&p, 0);
	kin_start(&k, open_apart, &apart);
	assert_false(qv_node_is_here(kin_hear(k.fd)));
	kin_say(k.fd, p.name);
	kin_end(&k);
	party_close(&p);
}

static void networks_apart(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	who_is_apart_is_not_here(IN_A_NETWORK);
}

static void users_apart(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	who_is_apart_is_not_here(AS_A_USER);
}

static void what_an_endpoint_needs(void **state)
{
	unsigned fds = kin_count_fds();
	struct rlimit was, none;
	int next = dup(0);

	(void)state;
	close(next);
	assert_true(qv_node_can_serve());
	assert_int_equal(kin_count_fds(), fds);
	assert_false(getrlimit(RLIMIT_NOFILE, &was));
	for (rlim_t spare = 0; spare < 2; spare++) { /* epoll and a socket */
		none = (struct rlimit){(rlim_t)next + spare, was.rlim_max};
		assert_false(setrlimit(RLIMIT_NOFILE, &none));
		assert_false(qv_node_can_serve());
		assert_false(setrlimit(RLIMIT_NOFILE, &was));
		assert_int_equal(kin_count_fds(), fds);
	}
}

/* Linux 6.3 to 6.5 with vm.memfd_noexec=2, and all before. */
static void memory_that_is_not_executed(void **state)
{
	(void)state;
	executable_error = EACCES;
	assert_true(qv_node_can_serve());
	executable_error = 0;
	noexec_error = EINVAL;
	assert_true(qv_node_can_serve());
	noexec_error = 0;
}

/* What the kernel says of the memory of a ring (VmFlags in proc(5)). */
static bool is_in_small_pages(void)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	bool ours = false;
	char line[1024];

	assert_non_null(f);
	while (fgets(line, sizeof line, f) && !(ours && !strncmp(line, "VmFlags:", 8)))
		ours |= strstr(line, "memfd:quiver") != NULL;
	fclose(f);
	return ours && strstr(line, " nh");
}

/* Where shared memory comes in huge pages (shmem_enabled), a ring that says little stays small. */
static void a_ring_takes_small_pages(void **state)
{
	struct qv_ring *ring;
	int fd;

	(void)state;
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) || kin_patience() > 1)
		skip();
	ring = qv_segment_make(&fd);
	assert_true(ring && is_in_small_pages());
	qv_segment_unmap(ring);
	ring = qv_segment_map(fd);
	assert_true(ring && is_in_small_pages());
	qv_segment_unmap(ring);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_a_door_is_here),
		cmocka_unit_test(who_is_crowded_is_here),
		cmocka_unit_test(networks_apart),
		cmocka_unit_test(users_apart),
		cmocka_unit_test(what_an_endpoint_needs),
		cmocka_unit_test(memory_that_is_not_executed),
		cmocka_unit_test(a_ring_takes_small_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
