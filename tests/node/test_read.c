/* SPDX-License-Identifier: BSD-2-Clause */
/* test_read.c - long buffers read from another process, from itself, and where that cannot be. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <quiver/types.h>

#include "engine/base/clock.h"
#include "engine/node/internal.h"
#include "rig/guest.h"
#include "rig/party.h"

#define US   0u
#define THEM 1u
#define LEN  (1u << 20)

/* The status of a read into four pieces. */
static int read_from(struct party *p, uint64_t addr, char *to, uint64_t from, size_t len)
{
	struct transfer t = {.xfer.done = transfer_done};
	struct iovec iov[4];

	for (unsigned i = 0; i < 4; i++)
		iov[i] = (struct iovec){to + len / 4 * i, len / 4};
	QV_NEED(!p->x.ops->read(&p->x, addr, iov, 4, from, 0, &t.xfer));
	QV_NEED(!t.dones);
	QV_NEED(qv_node_poll(p->node) && t.dones == 1);
	qv_node_poll(p->node);
	QV_NEED(t.dones == 1);
	return t.status;
}

static char pattern(size_t i)
{
	return (char)(i * 31 + (i >> 10));
}

static char *new_buffer(void)
{
	char *buf = malloc(LEN);

	QV_NEED(buf);
	for (size_t i = 0; i < LEN; i++)
		buf[i] = pattern(i);
	return buf;
}

static bool is_whole(const char *buf)
{
	for (size_t i = 0; i < LEN; i++)
		if (buf[i] != pattern(i))
			return false;
	return true;
}

struct owner {
	bool as_user, undumpable;
};

/* Has a buffer that others read, and lives on for a while when it has closed its endpoint. */
static void own(int fd, const void *arg)
{
	const struct owner *owner = arg;
	char *buf = new_buffer();
	struct qv_region region;
	struct party p;
	uint64_t addr;

	if (owner->as_user)
		kin_drop_root();
	if (owner->undumpable)
		QV_NEED(!prctl(PR_SET_DUMPABLE, 0));
	party_open(&p, THEM);
	addr = party_insert(&p, kin_hear(fd));
	party_send(&p, addr, US, 8);
	QV_NEED(!p.x.ops->register_mem(&p.x, buf, LEN, &region));
	kin_say(fd, region.addr);
	kin_hear(fd);
	party_close(&p);
	kin_say(fd, 0);
	kin_hear(fd);
	free(buf);
}

struct reading {
	struct party p;
	struct kin k;
	uint64_t from; /* in the other process */
	char *to;
};

/* Who has the buffer has spoken to us. */
static void meet(struct reading *r)
{
	party_open(&r->p, US);
	kin_say(r->k.fd, r->p.name);
	QV_NEED(party_hear(&r->p, THEM, 1, 20000));
	r->from = kin_hear(r->k.fd);
	r->to = calloc(1, LEN);
	QV_NEED(r->to);
}

static void begin(struct reading *r, const struct owner *owner)
{
	kin_start(&r->k, own, owner);
	meet(r);
}

static void let_close(struct reading *r)
{
	kin_say(r->k.fd, 0);
	kin_hear(r->k.fd);
}

/* As if somebody had looked just now. */
static void seen_alive(struct party *p, uint64_t addr)
{
	p->node->peers[addr]->alive_at = qv_clock_ns();
}

static struct reading *closes; /* before the next read, just when it was seen alive */

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
				const struct iovec *from, unsigned long nfrom, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
				const struct iovec *from, unsigned long nfrom, unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
				const struct iovec *from, unsigned long nfrom, unsigned long flags)
{
	if (closes) {
		let_close(closes);
		seen_alive(&closes->p, closes->p.from[THEM]);
	}
	closes = NULL;
	return __real_process_vm_readv(pid, to, nto, from, nfrom, flags);
}

static void end(struct reading *r)
{
	free(r->to);
	kin_say(r->k.fd, 0);
	kin_end(&r->k);
	party_close(&r->p);
}

static void from_another(void **state)
{
	struct reading r;

	(void)state;
	begin(&r, &(struct owner){0});
	assert_int_equal(read_from(&r.p, r.p.from[THEM], r.to, r.from, LEN), QV_OK);
	assert_true(is_whole(r.to));
	/* What is not there is not read, and harms nothing. */
	assert_int_equal(read_from(&r.p, r.p.from[THEM], r.to, 4096, LEN), QV_EIO);
	assert_int_equal(read_from(&r.p, 12345, r.to, r.from, LEN), QV_EIO);
	assert_int_equal(read_from(&r.p, r.p.from[THEM], r.to, r.from, LEN), QV_OK);
	assert_int_equal(r.p.warnings, 0);
	let_close(&r);
	end(&r);
}

static void from_itself(void **state)
{
	char *buf = new_buffer(), *to = calloc(1, LEN);
	struct party p;
	uint64_t addr;

	(void)state;
	party_open(&p, US);
	addr = party_insert(&p, p.name);
	party_send(&p, addr, US, 8);
	assert_true(party_hear(&p, US, 1, 5000));
	assert_int_equal(read_from(&p, addr, to, (uint64_t)(uintptr_t)buf, LEN), QV_OK);
	assert_true(is_whole(to));
	party_close(&p);
	free(buf);
	free(to);
}

static void from_the_dead(void **state)
{
	static const struct owner owner;
	struct reading r;
	uint64_t addr;

	(void)state;
	begin(&r, &owner);
	addr = r.p.from[THEM];
	assert_int_equal(read_from(&r.p, addr, r.to, r.from, 4096), QV_OK);
	kin_kill(&r.k);
	seen_alive(&r.p, addr);
	assert_int_equal(read_from(&r.p, addr, r.to, r.from, LEN), QV_EIO);
	party_poll(&r.p, 5);
	assert_int_equal(read_from(&r.p, addr, r.to, r.from, LEN), QV_EIO);
	free(r.to);
	party_close(&r.p);
}

/* Who has closed its endpoint has other things in its memory now. */
static void from_who_has_closed(void **state)
{
	static const struct owner owner;
	struct reading r;
	uint64_t addr;

	(void)state;
	begin(&r, &owner);
	addr = r.p.from[THEM];
	assert_int_equal(read_from(&r.p, addr, r.to, r.from, 4096), QV_OK);
	let_close(&r);
	seen_alive(&r.p, addr);
	assert_int_equal(read_from(&r.p, addr, r.to, r.from, 4096), QV_EIO);
	party_poll(&r.p, 5);
	assert_int_equal(read_from(&r.p, addr, r.to, r.from, 4096), QV_EIO);
	end(&r);
}

/* And so it has if it closes after we have found it open, and before we have read. */
static void from_who_closes_meanwhile(void **state)
{
	static const struct owner owner;
	struct reading r;
	uint64_t addr;

	(void)state;
	begin(&r, &owner);
	addr = r.p.from[THEM];
	assert_int_equal(read_from(&r.p, addr, r.to, r.from, 4096), QV_OK);
	closes = &r;
	assert_int_equal(read_from(&r.p, addr, r.to, r.from, 4096), QV_EIO);
	assert_null(closes);
	end(&r);
}

/* A process that has the number of who joined, but began at another time: it is another one. */
static void from_who_has_the_number_now(void **state)
{
	struct guest_join words = guest_words(77);
	char from[64] = "of another", to[64] = "";
	struct qv_ring *ring;
	struct party p;
	uint64_t addr;
	int fd, ring_fd;

	(void)state;
	party_open(&p, US);
	addr = party_insert(&p, 77);
	words.start--;
	ring = qv_segment_make(&ring_fd);
	fd = guest_knock(p.name);
	assert_true(ring && fd >= 0);
	assert_true(guest_say(fd, &words, sizeof words, &ring_fd, 1) > 0);
	party_poll(&p, 5);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(read_from(&p, addr, to, (uint64_t)(uintptr_t)from, 64), QV_EIO);
	close(ring_fd);
	close(fd);
	qv_segment_unmap(ring);
	party_close(&p);
}

/* Where the kernel does not allow it. */

static void forbid(int number)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof code / sizeof *code, code};

	QV_NEED(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	QV_NEED(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

/* It is tried once, and told once. */
static void cannot_read(struct reading *r)
{
	for (unsigned i = 0; i < 3; i++)
		QV_NEED(read_from(&r->p, r->p.from[THEM], r->to, r->from, LEN) == QV_EIO);
	QV_NEED(r->p.warnings == 1);
}

static void read_in_a_cage(int fd, const void *arg)
{
	const int *number = arg;
	struct reading r;
	struct party p;

	(void)fd;
	begin(&r, &(struct owner){0});
	forbid(*number);
	cannot_read(&r);
	party_open(&p, US); /* who finds it so from the start says so */
	QV_NEED(!p.x.read_max == (*number == SYS_process_vm_readv));
	party_close(&p);
	let_close(&r);
	end(&r);
}

static void read_what_is_not_ours(int fd, const void *arg)
{
	const struct owner *owner = arg;
	struct reading r;

	kin_drop_root();
	begin(&r, owner);
	cannot_read(&r);
	kin_say(fd, 0);
	let_close(&r);
	end(&r);
}

static void in_a_process(void (*body)(int fd, const void *arg), const void *arg)
{
	struct kin k;

	kin_start(&k, body, arg);
	kin_end(&k);
}

static void under_seccomp(void **state)
{
	static const int reads = SYS_process_vm_readv, opens = SYS_pidfd_open;

	(void)state;
	in_a_process(read_in_a_cage, &reads);
	in_a_process(read_in_a_cage, &opens);
}

static void read_who_has_no_number(int fd, const void *arg)
{
	struct reading r = {.k = *(const struct kin *)arg};

	(void)fd;
	meet(&r);
	cannot_read(&r);
	let_close(&r);
	free(r.to);
	kin_say(r.k.fd, 0);
	party_close(&r.p);
}

static void read_from_inside(int fd, const void *arg)
{
	static const struct owner owner;
	struct kin k;

	(void)fd;
	(void)arg;
	kin_start(&k, own, &owner);
	QV_NEED(!unshare(CLONE_NEWPID));
	in_a_process(read_who_has_no_number, &k);
	kin_end(&k);
}

/* The other is outside of our name space of processes. */
static void from_outside(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	in_a_process(read_from_inside, NULL);
}

/* As with ptrace_scope: the other may not be traced by us. */
static void where_ptrace_is_forbidden(void **state)
{
	static const struct owner owner = {.undumpable = true};

	(void)state;
	in_a_process(read_what_is_not_ours, &owner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_another),
		cmocka_unit_test(from_itself),
		cmocka_unit_test(from_the_dead),
		cmocka_unit_test(from_who_has_closed),
		cmocka_unit_test(from_who_closes_meanwhile),
		cmocka_unit_test(from_who_has_the_number_now),
		cmocka_unit_test(under_seccomp),
		cmocka_unit_test(from_outside),
		cmocka_unit_test(where_ptrace_is_forbidden),
	};
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "r");
	struct party p;
	int scope = 0;
	bool can;

	if (f) {
		if (fscanf(f, "%d", &scope) != 1)
			scope = 0;
		fclose(f);
	}
	party_open(&p, US);
	can = p.x.read_max && scope < (geteuid() ? 2 : 3); /* a parent its children */
	party_close(&p);
	if (!can) {
		printf("skipped: the kernel lets nobody read here (ptrace_scope %d)\n", scope);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
