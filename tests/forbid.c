/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forbid.c - a program, and all that it starts, under a kernel that refuses some system calls, as
 * filters of containers do.
 *
 * usage: forbid [ERROR:]CALL... -- PROGRAM ARG...
 * ERROR is perm (the default) or nosys. CALL is one of the table, or read-memory: all that reads or
 * writes another process's memory, and ptrace. Exit status: that of the program; 77: no filter can
 * be had here.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RULES 64u

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	{"read-memory", SYS_process_vm_readv}, {"read-memory", SYS_process_vm_writev},
	{"read-memory", SYS_ptrace},           {"read-memory", SYS_pidfd_getfd},
	{"memfd_create", SYS_memfd_create},    {"membarrier", SYS_membarrier},
	{"pidfd_open", SYS_pidfd_open},        {"process_vm_readv", SYS_process_vm_readv},
};

struct filter {
	struct sock_filter rule[RULES];
	unsigned short count;
};

static void add(struct filter *f, struct sock_filter rule)
{
	if (f->count == RULES) {
		fprintf(stderr, "forbid: too many calls\n");
		exit(2);
	}
	f->rule[f->count++] = rule;
}

/* A word of the command line. */
static void forbid(struct filter *f, const char *word)
{
	const char *name = strchr(word, ':') ? strchr(word, ':') + 1 : word;
	unsigned error = strncmp(word, "nosys:", 6) ? EPERM : ENOSYS, found = 0;

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		if (strcmp(calls[i].name, name))
			continue;
		add(f,
		    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1));
		add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
		found++;
	}
	if (!found) {
		fprintf(stderr, "forbid: no call %s here\n", name);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct filter f = {.count = 0};
	struct sock_fprog program = {.filter = f.rule};
	int i;

	add(&f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					     offsetof(struct seccomp_data, nr)));
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		forbid(&f, argv[i]);
	add(&f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	program.len = f.count;
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: forbid [perm:|nosys:]CALL... -- PROGRAM ARG...\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("forbid: no seccomp filter can be had here");
		return 77;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 2;
}
