/* SPDX-License-Identifier: BSD-2-Clause */
/* onesided_bad.c - one-sided operations where the kernel forbids reading other processes, with a peer
 * that dies, and of an endpoint that closes. */
#include "onesided.h"
#include "tests/fabric/failures/kill.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* From now on the kernel answers EPERM to who reads or writes another process's memory. */
static void forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof code / sizeof *code, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		ft_skip("no filters for system calls: %s", strerror(errno));
}

static void message(struct ft_place *p, int from, int to, size_t len)
{
	struct ft_op op, in;

	ft_barrier();
	if (ft.rank == to)
		ft_guard(p->target, FT_PLACE);
	if (ft.rank == to)
		ft_trecv(&p->ep, from, 1, 0, p->target, len, &in);
	if (ft.rank == from) {
		ft_fill(p->buf, len, len);
		ft_tsend(&p->ep, to, 1, p->buf, len, &op);
		ft_wait(&op);
	}
	if (ft.rank == to) {
		ft_wait(&in);
		ft_verify(p->target, len, len, len);
	}
}

/* Rank 2 may not read the others, who may read it. */
static void unreadable(bool late)
{
	static const int pairs[][2] = {{0, 2}, {2, 0}, {2, 2}, {0, 1}};
	struct ft_place p;

	if (ft.rank == 2 && !late)
		forbid();
	ft_open_place(&p);
	if (ft.rank == 2 && late)
		forbid();
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		ft_rma_lengths(&p, pairs[i][0], pairs[i][1]);
		message(&p, pairs[i][0], pairs[i][1], (size_t)3 << 20);
	}
	ft_close_place(&p);
}

static void rma_unreadable(void)
{
	unreadable(false);
}

static void rma_unreadable_late(void)
{
	unreadable(true);
}

/* The peer dies with operations of every kind before it: all of them end. */
static void rma_kill(void)
{
	enum { N = 60 };
	static struct ft_op op[N];
	uint64_t one = 1, old;
	struct ft_place p;

	ft_open_place(&p);
	ft_handshake(&p.ep);
	if (ft.rank == VICTIM) {
		while (!ft.sh->word[READY]) /* no progress: nothing is done */
			ft_msleep(1);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&p.ep);
	} else {
		for (size_t i = 0; i < N; i++)
			if (i % 3 == 2)
				POST(fi_fetch_atomic(p.ep.ep, &one, 1, NULL, &old, NULL,
						     p.ep.peer[VICTIM], p.addr[VICTIM], 7,
						     FI_UINT64, FI_SUM, ft_fresh(&op[i])));
			else
				ft_post_rma(&p, i % 3, VICTIM, 0, i % 9 ? 32 : 100000, 1, 0,
					    &op[i]);
		ft_play(&p.ep);
		ft.sh->word[READY] = 1;
		CHECK(ft_outlive(&p.ep, &op[N - 1], 0) != 0);
		for (size_t i = 0; i < N; i++)
			CHECK(op[i].done == 1 && op[i].err);
		ft_survived(&p.ep, p.buf, 64);
	}
	ft_close_place(&p);
}

/* An endpoint closes with operations under way: none ends afterwards, and none writes into memory
 * that is the application's again. */
static void rma_close(void)
{
	enum { N = 30 };
	static struct ft_op op[N];
	struct ft_place p;

	ft_open_place(&p);
	if (ft.rank == 0) {
		for (size_t i = 0; i < N; i++)
			ft_post_rma(&p, false, 1, 0, i % 2 ? 1000 : 200000, 1, 0, &op[i]);
		OK(fi_close(&p.mr->fid));
		ft_close_part(&p.ep);
		ft_guard(p.buf, FT_PLACE);
		ft.sh->word[READY] = 1;
	} else {
		while (!ft.sh->word[READY])
			ft_msleep(1);
		ft_progress_for(0.2);
		OK(fi_close(&p.mr->fid));
		ft_close_part(&p.ep);
	}
	ft_barrier_idle();
	if (ft.rank == 0) {
		for (size_t i = 0; i < N; i++)
			CHECK_EQ(op[i].done, 0);
		ft_verify(p.buf, 0, 0, FT_PLACE);
	}
	free(p.target);
	free(p.buf);
}

const struct ft_case ft_cases_onesided_bad[] = {
	{"rma_unreadable", 3, 60, rma_unreadable},
	{"rma_unreadable_late", 3, 60, rma_unreadable_late},
	{"rma_kill", 3, 30, rma_kill},
	{"rma_close", 2, 30, rma_close},
	{0},
};
