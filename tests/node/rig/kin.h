/* SPDX-License-Identifier: BSD-2-Clause */
/* kin.h - processes of a test, and words between each and who started it. */
#ifndef QV_KIN_H
#define QV_KIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/proto/rig/need.h"

/* A process that lives longer is killed: the test fails. */
#define KIN_SECONDS (100 * kin_patience())

struct kin {
	pid_t pid;
	int fd; /* words */
};

/* body in a process of its own, which ends when it returns. */
void kin_start(struct kin *k, void (*body)(int fd, const void *arg), const void *arg);
/* It has ended well. */
void kin_end(struct kin *k);
void kin_kill(struct kin *k);

void kin_say(int fd, uint64_t word);
uint64_t kin_hear(int fd);

/* Where the test may be another user: one that nobody else is, with ptrace allowed. */
void kin_drop_root(void);

uint64_t kin_now_us(void);
/* By how much longer than elsewhere to wait for what must come: QV_TEST_PATIENCE, for emulated CPUs; 1. */
unsigned kin_patience(void);

/* Does madvise(2) what it says? qemu-user answers 0 and does nothing; then a line says so. */
bool kin_madvise_works(void);

/* Lines of a file of /proc, with this in them. */
unsigned kin_count_lines(const char *path, const char *text);
unsigned kin_count_fds(void);

#endif /* QV_KIN_H */
