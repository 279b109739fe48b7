/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_opencl_faults.c - an engine and reductions on a device that fails in every way that the fake
 * libOpenCL knows: nothing is lost, and the counters say what happened.
 *
 *     test_opencl_faults FAKE    FAKE: the fake library
 */
#include "qv_combine_ref.h"
#include "qv_offload.h"
#include "qv_opencl.h"
#include "qv_vectors.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEYS   200
#define ROUNDS 30
#define COUNT  5000

static int wrong;
static const char *fault = "";
static char last_line[640];
static int lines;

#define EXPECT(x)                                                                         \
	do {                                                                              \
		if (!(x)) {                                                               \
			wrong++;                                                          \
			fprintf(stderr, "wrong: %s: line %d: %s\n", fault, __LINE__, #x); \
		}                                                                         \
	} while (0)

static void say(void *context, int warn, const char *text)
{
	(void)context;
	if (!warn)
		return;
	lines++;
	snprintf(last_line, sizeof(last_line), "%s", text);
}

/* ---- work ------------------------------------------------------------------------------------ */
/* Messages arrive at posted receives, in batches; every answer is compared. */
static void arrivals(struct qv_offload *o, uint64_t seed)
{
	struct qv_offload_key entries[KEYS], queries[KEYS];
	struct qv_recv recvs[KEYS], *took[KEYS];
	struct qv_msg msgs[KEYS], *pmsgs[KEYS], *none;
	uint32_t expected[KEYS];
	uint8_t taken[KEYS];
	struct qv_vec_rnd rnd = {seed};
	struct qv_match *engine;

	if (qv_match_create(NULL, &engine))
		abort();
	qv_vec_draw(&rnd, seed % 4, entries, KEYS, queries, KEYS);
	qv_vec_match(entries, KEYS, queries, KEYS, taken, expected);
	for (int i = 0; i < KEYS; i++) {
		recvs[i] = (struct qv_recv){
			.tag = entries[i].tag, .ignore = entries[i].ignore, .src = entries[i].src};
		msgs[i] = (struct qv_msg){.tag = queries[i].tag, .src = queries[i].src};
		pmsgs[i] = &msgs[i];
		if (qv_match_post(engine, &recvs[i], &none) || none)
			abort();
	}
	EXPECT(qv_offload_arrive_many(o, engine, pmsgs, KEYS, took) == KEYS);
	for (int i = 0; i < KEYS; i++)
		EXPECT((took[i] ? (uint32_t)(took[i] - recvs) : QV_OFFLOAD_NONE) == expected[i]);
	qv_match_destroy(engine);
}

/* Receives are posted, in batches, to messages that have come unexpected. */
static void posts(struct qv_offload *o, uint64_t seed)
{
	struct qv_offload_key entries[KEYS], queries[KEYS];
	struct qv_recv recvs[KEYS], *precvs[KEYS];
	struct qv_msg msgs[KEYS], *took[KEYS];
	uint32_t expected[KEYS];
	uint8_t taken[KEYS];
	struct qv_vec_rnd rnd = {seed};
	struct qv_match *engine;

	if (qv_match_create(NULL, &engine))
		abort();
	qv_vec_draw(&rnd, seed % 2 ? QV_VEC_WILD_POST : seed % 3, entries, KEYS, queries, KEYS);
	qv_vec_match(entries, KEYS, queries, KEYS, taken, expected);
	for (int i = 0; i < KEYS; i++) {
		msgs[i] = (struct qv_msg){.tag = entries[i].tag, .src = entries[i].src};
		recvs[i] = (struct qv_recv){
			.tag = queries[i].tag, .ignore = queries[i].ignore, .src = queries[i].src};
		precvs[i] = &recvs[i];
		if (qv_match_queue(engine, &msgs[i]))
			abort();
	}
	EXPECT(qv_offload_post_many(o, engine, precvs, KEYS, took) == KEYS);
	for (int i = 0; i < KEYS; i++)
		EXPECT((took[i] ? (uint32_t)(took[i] - msgs) : QV_OFFLOAD_NONE) == expected[i]);
	qv_match_destroy(engine);
}

static void combine(struct qv_offload *o, enum qv_type type)
{
	static char a[COUNT * 16], b[COUNT * 16], expected[COUNT * 16];
	const size_t item = qv_type_size(type);
	const struct qv_combine *cpu;

	qv_combine_open(QV_ISA_AUTO, &cpu);
	for (size_t i = 0; i < COUNT; i++) {
		qv_ref_draw(type, a + i * item);
		qv_ref_draw(type, b + i * item);
	}
	qv_combine_to(cpu, QV_OP_SUM, type, expected, a, b, COUNT);
	EXPECT(qv_offload_combine(o, cpu, QV_OP_SUM, type, a, a, b, COUNT) == QV_OK);
	for (size_t i = 0; i < COUNT; i++)
		if (!qv_ref_same(QV_OP_SUM, type, a + i * item, expected + i * item)) {
			EXPECT(!"an element is wrong");
			return;
		}
}

static void work(struct qv_offload *o)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 3 == 2)
			posts(o, (uint64_t)i);
		else
			arrivals(o, (uint64_t)i);
		combine(o, i % 2 ? QV_TYPE_FLOAT : QV_TYPE_INT32);
	}
}

/* ---- faults ---------------------------------------------------------------------------------- */
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
	{"crash:20", "a command failed", 1, 3},
	{"hang:20", "no answer within", 1, 1},
	{"wrong:14", "wrong answer", 1, 3},
	{"stale:14", "wrong answer", 1, 3},
};

static struct qv_offload *guard(const char *library)
{
	const struct qv_offload_settings set = {
		.ops = &qv_opencl_ops,
		.config = {.library = library, .timeout_ms = 3000},
		.min_batch = 1,
		.min_bytes = 1,
		.say = say,
	};
	struct qv_offload *o;

	if (qv_offload_create(&set, &o))
		abort();
	lines = 0;
	last_line[0] = 0;
	return o;
}

static void one(const char *library, void (*set_fault)(const char *), const struct expected *e)
{
	struct qv_offload *o = guard(library);
	struct qv_offload_stats s;

	fault = e->fault;
	set_fault(fault);
	work(o);
	set_fault("");
	qv_offload_get_stats(o, &s);
	printf("%-12s %llu batches, %llu arrays, %llu failed, %llu by the CPU instead%s%s\n",
	       e->fault, (unsigned long long)s.batches, (unsigned long long)s.arrays,
	       (unsigned long long)s.failed, (unsigned long long)s.fallback, lines ? ": " : "",
	       last_line);
	EXPECT(lines == (e->text != NULL));
	EXPECT(!e->text || strstr(last_line, e->text));
	EXPECT((s.state == QV_OFFLOAD_OPEN) == !e->text);
	EXPECT(s.failed == e->failed && s.wrong == 0);
	EXPECT(e->open || s.batches + s.arrays == 0);
	EXPECT(!e->open || s.batches + s.arrays > 0 || !strcmp(e->fault, "alloc:6"));
	EXPECT(s.fallback == (e->open ? e->failed : 0));
	qv_offload_destroy(o);
}

/* A device without denormals is not asked for sums of floats. */
static void flush(const char *library, void (*set_fault)(const char *))
{
	struct qv_offload *o = guard(library);
	struct qv_offload_stats s;

	fault = "flush";
	set_fault(fault);
	combine(o, QV_TYPE_FLOAT);
	combine(o, QV_TYPE_DOUBLE);
	set_fault("");
	qv_offload_get_stats(o, &s);
	EXPECT(s.arrays == 1 && s.refused == 1 && s.failed == 0);
	qv_offload_destroy(o);
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

	fault = "chunks";
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

	fault = "fork";
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct qv_offload *o = guard(library);
		struct qv_offload_stats s;

		work(o);
		qv_offload_get_stats(o, &s);
		/* 77: without a device there is nothing to see. */
		_exit(s.state != QV_OFFLOAD_OPEN ? 77 : s.batches != ROUNDS || wrong ? 1 : 0);
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
	printf("%d wrong\n", wrong);
	return wrong ? 1 : 0;
}
