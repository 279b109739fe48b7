/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_opencl_faults.c - an engine and reductions on a device that fails in every way that the fake
 * libOpenCL knows: nothing is lost, and the counters say what happened.
 *
 *     test_opencl_faults FAKE    FAKE: the fake library
 */
#include "faults.h"
#include "kernels/opencl/opencl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 30

static void work(struct qv_offload *o)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 3 == 2)
			qv_faults_posts(o, (uint64_t)i);
		else
			qv_faults_arrivals(o, (uint64_t)i);
		qv_faults_combine(o, i % 2 ? QV_TYPE_FLOAT : QV_TYPE_INT32);
	}
}

/* Faults. */

struct expected {
	const char *fault;
	const char *text; /* in the line that is written; NULL: none is */
	int open;         /* whether the device can be opened */
	uint64_t failed;
};

static const struct expected all[] = {
	{"", NULL, 1, 0},
	{"build", "a fault was asked for", 0, 1},
	{"context", "clCreateContext", 0, 1},
	{"alloc", "clCreateBuffer", 0, 1},
	{"crash", "a command failed", 0, 1},
	{"hang", "no answer within", 0, 1},
	{"wrong", "wrong answer", 0, 1},
	{"stale", "wrong answer", 0, 1},
	{"xilinx", "no device", 0, 0},
	{"old", "OpenCL 1.2", 0, 0},
	/* Later: the device has passed its tests, 8 batches: about 10
	 * waits, 30 launches, 5 buffers. */
	{"build:2", NULL, 1, 2}, /* int32 and float: these two are left to the CPU */
	{"alloc:6", "clCreateBuffer", 1, 3},
	{"lost:30", "clEnqueueNDRangeKernel", 1, 3},
	{"gone:30", "clEnqueueNDRangeKernel", 1, 1},
	{"crash:20", "a command failed", 1, 3},
	{"hang:20", "no answer within", 1, 1},
	{"wrong:14", "wrong answer", 1, 3},
	{"stale:14", "wrong answer", 1, 3},
};

static struct qv_offload *guard(const char *library)
{
	const struct qv_offload_config config = {.library = library, .timeout_ms = 3000};

	return qv_faults_open(&qv_opencl_ops, &config, 0);
}

static void one(const char *library, void (*set_fault)(const char *), const struct expected *e)
{
	struct qv_offload *o = guard(library);
	struct qv_offload_stats s;

	qv_faults_name = e->fault;
	set_fault(e->fault);
	work(o);
	set_fault("");
	s = qv_faults_end(o, e->text);
	EXPECT(s.failed == e->failed);
	EXPECT(e->open || s.batches + s.arrays == 0);
	EXPECT(!e->open || s.batches + s.arrays > 0 || !strcmp(e->fault, "alloc:6"));
	EXPECT(s.fallback == (e->open ? e->failed : 0));
}

/* A device without denormals is not asked for sums of floats. */
static void flush(const char *library, void (*set_fault)(const char *))
{
	struct qv_offload *o = guard(library);
	struct qv_offload_stats s;

	qv_faults_name = "flush";
	set_fault("flush");
	qv_faults_combine(o, QV_TYPE_FLOAT);
	qv_faults_combine(o, QV_TYPE_DOUBLE);
	set_fault("");
	s = qv_faults_end(o, NULL);
	EXPECT(s.arrays == 1 && s.refused == 1 && s.failed == 0);
}

/* Long arrays: while one chunk is computed, the next is on its way. Programs are built once. */
static void chunks(const char *library, void (*set_fault)(const char *),
		   void (*count)(int *, int *))
{
	enum { BYTES = 24 << 20 };
	char *a = malloc(BYTES), *b = malloc(BYTES);
	struct qv_offload *o = guard(library);
	const struct qv_combine *cpu;
	struct qv_offload_stats s;
	int reads, programs;

	qv_faults_name = "chunks";
	if (!a || !b)
		abort();
	memset(a, 1, BYTES);
	memset(b, 2, BYTES);
	qv_combine_open(QV_ISA_AUTO, &cpu);
	set_fault("");
	EXPECT(!qv_offload_combine(o, cpu, QV_OP_BOR, QV_TYPE_UINT8, a, a, b, BYTES));
	EXPECT(a[0] == 3 && !memcmp(a, a + 1, BYTES - 1));
	count(&reads, &programs);
	EXPECT(reads == 2 && programs == 2);
	work(o);
	count(&reads, &programs);
	EXPECT(reads == 2 && programs == 4);
	qv_offload_get_stats(o, &s);
	EXPECT(s.batches == ROUNDS && s.arrays == ROUNDS + 1 && !s.failed);
	printf("chunks       %d reads under way at once, %d programs built\n", reads, programs);
	qv_offload_destroy(o);
	free(a);
	free(b);
}

/* In a child of a process that has opened nothing yet: the device serves as in any process. */
static void before_fork(const char *library)
{
	int status = 1;
	pid_t child;

	qv_faults_name = "fork";
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct qv_offload *o = guard(library);
		struct qv_offload_stats s;

		work(o);
		qv_offload_get_stats(o, &s);
		/* 77: without a device there is nothing to see. */
		_exit(s.state != QV_OFFLOAD_OPEN               ? 77
		      : s.batches != ROUNDS || qv_faults_wrong ? 1
							       : 0);
	}
	EXPECT(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	EXPECT(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
	printf("fork         a child that opens the device first: status %d\n",
	       WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	const struct qv_offload_config config = {.library = argc > 1 ? argv[1] : NULL};
	struct qv_offload_caps caps;
	void (*set_fault)(const char *);
	void (*count)(int *, int *);
	char why[256];
	void *fake = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *address;

	if (!fake)
		return 2;
	address = dlsym(fake, "qv_fake_set");
	memcpy(&set_fault, &address, sizeof(address));
	address = dlsym(fake, "qv_fake_count");
	memcpy(&count, &address, sizeof(address));
	before_fork(argv[1]);
	if (qv_opencl_ops.probe(&config, &caps, why, sizeof(why))) {
		printf("skipped: %s\n", why);
		return 77;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		one(argv[1], set_fault, &all[i]);
	flush(argv[1], set_fault);
	chunks(argv[1], set_fault, count);
	printf("%d wrong\n", qv_faults_wrong);
	return qv_faults_wrong ? 1 : 0;
}
