/* SPDX-License-Identifier: BSD-2-Clause */
/* host.c - ranks on two hosts that hosts.py has made: how a rank gets there,
 * and its cable. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ft.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

bool ft_apart(void)
{
	return getenv("QV_TEST_HOSTS") != NULL;
}

/* One of the two that the variable names. */
static void one_of(const char *names, bool second, char *path, size_t size)
{
	const char *colon = strchr(names, ':');

	CHECK(colon && colon - names < (ptrdiff_t)size && strlen(colon) < size);
	if (second)
		strcpy(path, colon + 1);
	else
		snprintf(path, size, "%.*s", (int)(colon - names), names);
}

static void enter(const char *path, int kind)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && setns(fd, kind) == 0);
	close(fd);
}

static void enter_one(const char *folder, const char *name, int kind)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	enter(path, kind);
}

/* The driver's child stays outside and ends as the rank does. */
static _Noreturn void forward(pid_t pid)
{
	const struct rlimit none = {0};
	int status;

	while (waitpid(pid, &status, 0) < 0)
		;
	if (WIFSIGNALED(status)) {
		setrlimit(RLIMIT_CORE, &none); /* one of them is enough */
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WEXITSTATUS(status));
}

/* Who enters mounts finds himself at their root; that of the host may be a folder of it. */
static void enter_mounts(const char *folder)
{
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "%s/../root", folder);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0);
	enter_one(folder, "mnt", CLONE_NEWNS);
	CHECK(fchdir(fd) == 0 && chroot(".") == 0);
	close(fd);
}

/* Who enters name spaces of process numbers stays what it is: its child is inside. */
static void enter_all(const char *folder)
{
	pid_t pid;

	enter_one(folder, "pid_for_children", CLONE_NEWPID);
	enter_one(folder, "net", CLONE_NEWNET);
	enter_one(folder, "ipc", CLONE_NEWIPC);
	enter_one(folder, "uts", CLONE_NEWUTS);
	enter_mounts(folder); /* last: the others are found by the driver's /proc */
	pid = fork();
	CHECK(pid >= 0);
	if (pid) {
		ft.sh->rank[ft.rank].pid = pid;
		forward(pid);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ft_cable(true); /* an earlier case may have pulled it */
	if (getenv("FI_QUIVER_RAILS"))
		ft_cable_of("v1", true);
}

void ft_enter_host(void)
{
	const char *hosts = getenv("QV_TEST_HOSTS"), *nets = getenv("QV_TEST_NETNS");
	char path[256];

	if (hosts) {
		one_of(hosts, ft.rank % 2, path, sizeof(path));
		enter_all(path);
	} else if (nets) {
		one_of(nets, ft.rank == ft.n - 1, path, sizeof(path));
		enter(path, CLONE_NEWNET);
	}
}

void ft_cable_of(const char *device, bool on)
{
	struct ifreq request = {0};
	int fd;

	if (!ft_apart())
		ft_skip("a cable to pull needs two hosts (hosts.py apart)");
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0);
	if (on)
		request.ifr_flags |= IFF_UP;
	else
		request.ifr_flags &= ~IFF_UP;
	CHECK(ioctl(fd, SIOCSIFFLAGS, &request) == 0);
	while (on && !(request.ifr_flags & IFF_RUNNING)) { /* libfabric passes over it till then */
		ft_msleep(1);
		CHECK(ioctl(fd, SIOCGIFFLAGS, &request) == 0);
	}
	close(fd);
}

void ft_cable(bool on)
{
	ft_cable_of("v0", on);
}
