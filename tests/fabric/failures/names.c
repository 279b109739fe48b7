/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - what a peer calls itself does not lead astray in the file system. */
#include "tests/fabric/harness/ft.h"

#include <fcntl.h>
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
	ssize_t ret;

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
	if (ft.peer) { /* which refuses what is for the dead */
		while ((ret = fi_tsend(ep.ep, &word, 8, NULL, ep.peer[1], 1, &op)) == -FI_EAGAIN)
			ft_progress();
		CHECK_EQ(-ret, FI_ECONNABORTED);
	} else {
		ft_tsend(&ep, 1, 1, &word, 8, &op);
		ft_wait_err(&op, FI_ECONNABORTED);
	}
	CHECK(unlink(odd) == 0);
	ft_close(&ep);
}

/* The file that shm makes for endpoint i of this process. */
static void file_of(char *path, int i)
{
	sprintf(path, "/dev/shm/%d:%d:%d", (int)getpid(), (int)getuid(), i);
}

/* As a killed process with our number leaves it: with that number in it, which lives. */
static int leave_stale(int i)
{
	char from[64], to[64], head[4096];
	int in, out;

	file_of(from, 0);
	file_of(to, i);
	in = open(from, O_RDONLY);
	out = open(to, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(in >= 0 && out >= 0);
	CHECK_EQ(read(in, head, sizeof head), sizeof head);
	CHECK_EQ(write(out, head, sizeof head), sizeof head);
	close(in);
	return out;
}

/* It is taken over, but for one that somebody holds who lives where numbers mean others. */
static void shm_stale(void)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	struct ft_ep first, second, third;
	char path[64];
	int fd;

	if (!ft.quiver || ft_pair() || strcmp(ft_core(), "shm"))
		ft_skip("of quiver over shm");
	ft_open(&first, &(struct ft_conf){0});
	close(leave_stale(1));
	ft_open(&second, &(struct ft_conf){0});
	fd = leave_stale(2);
	CHECK(!fcntl(fd, F_OFD_SETLK, &lock));
	ft_open_domain(&third, &(struct ft_conf){0});
	OK(fi_endpoint(third.domain, third.info, &third.ep, NULL));
	OK(fi_ep_bind(third.ep, &third.av->fid, 0));
	OK(fi_ep_bind(third.ep, &third.rx_cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_EQ(-fi_enable(third.ep), FI_EBUSY);
	file_of(path, 2);
	CHECK(!access(path, F_OK));
	CHECK(!unlink(path));
	close(fd);
	ft_close(&third);
	ft_close(&second);
	ft_close(&first);
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

/* Addresses over two cores: none of another version or kind, one spelling of each. */
static void pair_bad_names(void)
{
	enum { FORM = 2, NODE = 4, LOCAL = 12, NONE = 0x20, ON_NODE = 0x21, ON_SHM = 0x22 };
	static const struct {
		unsigned char form;
		bool node, local; /* cleared */
	} bad[] = {{0x11, false, false}, {0x31, false, false},   {0x23, false, false},
		   {0x2f, false, false}, {NONE, false, false},   {NONE, true, false},
		   {NONE, false, true},  {ON_NODE, true, false}, {ON_SHM, true, false},
		   {ON_SHM, false, true}};
	char name[FT_MAX_NAME], good[FT_MAX_NAME];
	size_t len = sizeof name;
	struct ft_ep ep;

	if (!ft_pair())
		ft_skip("of quiver over two cores");
	ft_open(&ep, &(struct ft_conf){0});
	OK(fi_getname(&ep.ep->fid, good, &len));
	CHECK_EQ(good[FORM], strcmp(ft_local_core(), "shm") ? ON_NODE : ON_SHM);
	not_offered(ep.info, "no address of this kind, and long enough for one of them", 56);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memcpy(name, good, sizeof name);
		name[FORM] = (char)bad[i].form;
		memset(name + NODE, 0, bad[i].node ? 8 : 0);
		memset(name + LOCAL, 0, bad[i].local ? 8 : 0);
		refused(&ep, name);
	}
	memcpy(name, good, sizeof name);
	name[FORM] = ON_SHM;
	memset(name + LOCAL, 0xff, 8); /* no number of a process */
	refused(&ep, name);
	CHECK_EQ(fi_av_insert(ep.av, good, 1, &ep.peer[0], 0, NULL), 1);
	ft_network_only(good);
	CHECK_EQ(fi_av_insert(ep.av, good, 1, &ep.peer[0], 0, NULL), 1);
	ft_close(&ep);
}

const struct ft_case ft_cases_names[] = {
	{"shm_names", 1, 20, shm_names},
	{"shm_stale", 1, 20, shm_stale},
	{"pair_bad_names", 1, 20, pair_bad_names},
	{0},
};
