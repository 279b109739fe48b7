/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork.c - a process with messages under way forks, as system(3) and popen(3) do. What the child
 * does or how it ends changes nothing for its parent.
 */
#include "tests/fabric/harness/ft.h"

#include <sys/wait.h>
#include <unistd.h>

enum child { EXIT, LEAVE, RUN, KINDS };

static int in_child;

#ifdef __SANITIZE_ADDRESS__
/* LeakSanitizer asks this at exit. A child has not the stacks of its parent's other threads, so
 * what only these point to would be called leaked. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return in_child;
}
#endif

/* Destructors run, or not, or another program does. */
static void fork_one(enum child kind)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		in_child = 1;
		if (kind == RUN)
			execl("/bin/true", "true", (char *)NULL);
		if (kind == EXIT)
			exit(0);
		_exit(kind == RUN);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
}

/* One message of each length both ways; both ranks fork while all of them are under way. */
static void round_of(struct ft_ep *ep, enum child kind, char *out, char *in)
{
	static const size_t lens[] = {0, 8, 128, 5000, 70000, 1 << 20};
	enum { N = sizeof(lens) / sizeof(lens[0]), ROOM = (1 << 20) + FT_GUARD };
	struct ft_op rx[N], tx[N];

	for (size_t i = 0; i < N; i++) {
		ft_guard(in + i * ROOM, lens[i]);
		ft_fill(out + i * ROOM, lens[i], 10 * kind + i);
		ft_tsend(ep, !ft.rank, i, out + i * ROOM, lens[i], &tx[i]);
		if (i % 2)
			ft_trecv(ep, FT_ANY, i, 0, in + i * ROOM, lens[i], &rx[i]);
	}
	fork_one(kind);
	for (size_t i = 0; i < N; i += 2)
		ft_trecv(ep, FT_ANY, i, 0, in + i * ROOM, lens[i], &rx[i]);
	ft_wait_all(rx, N);
	ft_wait_all(tx, N);
	for (size_t i = 0; i < N; i++)
		ft_verify(in + i * ROOM, lens[i], 10 * kind + i, lens[i]);
}

static void forks(void)
{
	char *out = ft_buf(8 << 20), *in = ft_buf(8 << 20);
	struct ft_ep ep, second;

	ft_open(&ep, &(struct ft_conf){0});
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < 5; i++)
			round_of(&ep, kind, out, in);
	/* Others can be connected to, too. */
	ft_open(&second, &(struct ft_conf){.beside = &ep});
	round_of(&second, LEAVE, out, in);
	ft_barrier();
	ft_close(&second);
	ft_close(&ep);
	free(out);
	free(in);
}

static void open_alone(struct ft_ep *ep)
{
	ft_open_domain(ep, &(struct ft_conf){.lonely = true});
	ft_open_ep(ep);
}

/* The child has an endpoint of its own, beside its parent's: tests/trace/test_provider.py looks at both traces. */
static void child_opens(void)
{
	struct ft_ep ep, own;
	pid_t child;
	int status;

	ft_open(&ep, &(struct ft_conf){0});
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		in_child = 1;
		open_alone(&own);
		ft_close_part(&own);
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	ft_barrier();
	ft_close(&ep);
}

/* More than a trace keeps in memory. */
static void post_many(struct ft_ep *ep)
{
	enum { N = 4000 };
	static struct ft_op op[N];
	static uint64_t in;

	for (uint64_t i = 0; i < N; i++)
		ft_trecv(ep, FT_ANY, i, 0, &in, 8, &op[i]);
}

/* The child goes on with its parent's endpoint, with and without one of its own: tests/trace/test_provider.py and
 * cli.stats look at what each of the two has written. */
static void child_uses(void)
{
	struct ft_ep ep, own;
	pid_t child;
	int status;

	open_alone(&ep);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		in_child = 1;
		post_many(&ep);
		open_alone(&own);
		post_many(&ep);
		ft_close_part(&ep);
		ft_close_part(&own);
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	ft_close_part(&ep);
}

const struct ft_case ft_cases_fork[] = {
	{"fork", 2, 60, forks},
	{"fork_opens", 1, 60, child_opens},
	{"fork_uses", 1, 60, child_uses},
	{0},
};
