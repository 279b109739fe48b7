/* SPDX-License-Identifier: BSD-2-Clause */
/* test_permit.c - who may read our memory, by what the kernel's settings say. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/node/internal.h"
#include "rig/party.h"

static const char *scope; /* what the kernel would say; NULL: it has no Yama */
static unsigned long named;
static unsigned times;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_prctl(int option, unsigned long arg, ...);

int __wrap_open(const char *path, int flags, ...)
{
	int fds[2];

	if (strcmp(path, "/proc/sys/kernel/yama/ptrace_scope"))
		return __real_open(path, flags);
	if (!scope)
		return -1;
	QV_NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	QV_NEED(write(fds[1], scope, strlen(scope)) == (ssize_t)strlen(scope));
	close(fds[1]);
	return fds[0];
}

int __wrap_prctl(int option, unsigned long arg, ...)
{
	if (option == PR_SET_PTRACER) {
		named = arg;
		times++;
	}
	return 0;
}

/* Can memory be read at all? */
static bool permit(const char *text)
{
	bool readable;
	struct party p;

	scope = text;
	named = times = 0;
	party_open(&p, 0);
	readable = p.node->readable;
	party_close(&p);
	return readable;
}

static void only_where_it_helps(void **state)
{
	unsigned fds = kin_count_fds();

	(void)state;
	if (!permit("1\n")) {
		print_message("not tested: process_vm_readv(2) does not work here\n");
		skip();
	}
	assert_int_equal(times, 1);
	assert_int_equal(named, getppid());
	permit("0\n");
	assert_int_equal(times, 0);
	permit("2\n");
	assert_int_equal(times, 0);
	permit("");
	assert_int_equal(times, 0);
	permit(NULL);
	assert_int_equal(times, 0);
	assert_int_equal(kin_count_fds(), fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(only_where_it_helps)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
