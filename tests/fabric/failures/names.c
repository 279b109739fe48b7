/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - what a peer calls itself does not lead astray in the file system. */
#include "tests/fabric/harness/ft.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void refused(struct ft_ep *ep, const void *name)
{
	fi_addr_t addr;

	CHECK_EQ(fi_av_insert(ep->av, name, 1, &addr, 0, NULL), 0);
}

/* The number of a process that is no more. */
static int dead(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	return (int)pid;
}

static void shm_names(void)
{
	char file[32], odd[64], name[64], lengthy[400] = "fi_shm://";
	uint64_t word = 1;
	struct ft_ep ep;
	struct ft_op op;

	if (!ft.quiver)
		ft_skip("of quiver's own checks");
	setenv("FI_QUIVER_PATIENCE", "300", 1);
	ft_open(&ep, &(struct ft_conf){0});
	refused(&ep, "fi_shm://");
	refused(&ep, "fi_shm://../123:0:0");
	refused(&ep, "fi_shm://123:0/0");
	refused(&ep, "fi_shm://.123:0:0");
	refused(&ep, "fi_shm://123:0:0\n");
	refused(&ep, "fi_ns://a/b");
	refused(&ep, "..");
	memset(lengthy + strlen(lengthy), '1', 300);
	refused(&ep, lengthy);
	/* what shm makes of a process, of a name and a port, and of names that
	 * somebody has chosen */
	CHECK_EQ(fi_av_insert(ep.av, "fi_shm://123:0:0", 1, &ep.peer[1], 0, NULL), 1);
	CHECK_EQ(fi_av_insert(ep.av, "fi_shm://123:-2:0", 1, &ep.peer[1], 0, NULL), 1);
	CHECK_EQ(fi_av_insert(ep.av, "fi_ns://host.domain:1234", 1, &ep.peer[1], 0, NULL), 1);
	CHECK_EQ(fi_av_insert(ep.av, "fi_shm://some_name:0:7", 1, &ep.peer[1], 0, NULL), 1);

	/* a pipe, whose opening would wait for somebody to write */
	snprintf(file, sizeof file, "%d:0:9999", dead());
	snprintf(odd, sizeof odd, "/dev/shm/%s", file);
	snprintf(name, sizeof name, "fi_shm://%s", file);
	CHECK(mkfifo(odd, 0600) == 0);
	CHECK_EQ(fi_av_insert(ep.av, name, 1, &ep.peer[1], 0, NULL), 1);
	ft_tsend(&ep, 1, 1, &word, 8, &op);
	ft_wait_err(&op, FI_ECONNABORTED);
	CHECK(unlink(odd) == 0);
	ft_close(&ep);
}

/* Asks for an endpoint at an address that is none: what is left on the stack may be anything. */
static void not_offered(const struct fi_info *info, const void *address, size_t len)
{
	struct fi_info *hints = fi_dupinfo(info), *got = NULL;
	volatile char stack[16384];

	memset((char *)stack, 0x5a, sizeof stack);
	CHECK(hints != NULL);
	free(hints->src_addr);
	hints->src_addr = malloc(len);
	CHECK(hints->src_addr != NULL);
	memcpy(hints->src_addr, address, len);
	hints->src_addrlen = len;
	CHECK(fi_getinfo(FT_API, NULL, NULL, 0, hints, &got) != 0);
	CHECK(got == NULL);
	fi_freeinfo(hints);
}

/* The same where the name is a part of a longer address. */
static void pair_bad_names(void)
{
	static const char *const bad[] = {"../123:0:0", "123:0/0", ".1:0:0", "1:0:0 ", "name:0:0"};
	enum { AT = 12, ROOM = 24 }; /* behind the mark and the node */
	char name[FT_MAX_NAME];
	size_t len = sizeof name;
	struct ft_ep ep;

	if (!ft_pair())
		ft_skip("of quiver over two cores");
	ft_open(&ep, &(struct ft_conf){0});
	OK(fi_getname(&ep.ep->fid, name, &len));
	CHECK(name[AT] >= '0' && name[AT] <= '9' && !name[AT + ROOM - 1]);
	not_offered(ep.info, "no address of this kind, and long enough for one of them", 56);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memset(name + AT, 0, ROOM);
		memcpy(name + AT, bad[i], strlen(bad[i]));
		refused(&ep, name);
	}
	memset(name + AT, 0, ROOM); /* two spellings of one address */
	memcpy(name + AT, "1:0:0\0x", 7);
	refused(&ep, name);
	memset(name + AT, 0, ROOM);
	memcpy(name + AT, "1:0:0", 5);
	CHECK_EQ(fi_av_insert(ep.av, name, 1, &ep.peer[0], 0, NULL), 1);
	memset(name + AT, 0, ROOM);
	CHECK_EQ(fi_av_insert(ep.av, name, 1, &ep.peer[0], 0, NULL), 1);
	ft_close(&ep);
}

const struct ft_case ft_cases_names[] = {
	{"shm_names", 1, 20, shm_names},
	{"pair_bad_names", 1, 20, pair_bad_names},
	{0},
};
