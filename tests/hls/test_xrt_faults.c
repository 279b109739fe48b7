/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_xrt_faults.c - an engine and reductions on a card that fails in every way that the double of
 * XRT's library knows, and with everything that can be missing: nothing is lost, the process goes
 * on, one line says why.
 *
 *     test_xrt_faults FAKE XCLBIN FOLDER
 * FOLDER: as XILINX_XRT wants it; beside the xclbin lie some with faults, XCLBIN.<fault>.
 */
#include "qv_combine_ref.h"
#include "qv_offload.h"
#include "qv_vectors.h"
#include "qv_xrt.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define KEYS   200
#define ROUNDS 30
#define COUNT  5000

static int wrong;
static const char *what = "";
static char last_line[640];
static int lines;

#define EXPECT(x)                                                                        \
	do {                                                                             \
		if (!(x)) {                                                              \
			wrong++;                                                         \
			fprintf(stderr, "wrong: %s: line %d: %s\n", what, __LINE__, #x); \
		}                                                                        \
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
static void match(struct qv_offload *o, uint64_t seed)
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

static struct qv_offload *guard(const struct qv_offload_config *config)
{
	const struct qv_offload_settings set = {.ops = &qv_xrt_ops,
						.config = *config,
						.min_batch = 1,
						.min_bytes = 1,
						.check_every = 1000,
						.say = say};
	struct qv_offload *o;

	if (qv_offload_create(&set, &o))
		abort();
	lines = 0;
	last_line[0] = 0;
	return o;
}

/* All work, and what has become of it. text: in the one line; NULL: there is none. */
static struct qv_offload_stats work(const struct qv_offload_config *config, const char *text)
{
	struct qv_offload *o = guard(config);
	struct qv_offload_stats s;

	for (int i = 0; i < ROUNDS; i++) {
		match(o, (uint64_t)i);
		combine(o, i % 2 ? QV_TYPE_FLOAT : QV_TYPE_INT32);
	}
	qv_offload_get_stats(o, &s);
	printf("%-12s %llu batches, %llu arrays, %llu failed, %llu by the CPU instead%s%s\n", what,
	       (unsigned long long)s.batches, (unsigned long long)s.arrays,
	       (unsigned long long)s.failed, (unsigned long long)s.fallback, lines ? ": " : "",
	       last_line);
	EXPECT(lines == (text != NULL));
	EXPECT(!text || strstr(last_line, text));
	EXPECT((s.state == QV_OFFLOAD_OPEN) == !text);
	EXPECT(s.wrong == 0);
	qv_offload_destroy(o);
	return s;
}

/* ---- faults ---------------------------------------------------------------------------------- */
/* At opening there are 12 runs, 22 syncs to the card and 12 from it, 6 arrays of memory; what comes
 * after that is work. */
static const struct {
	const char *fault;
	const char *text;
	int opens;
	uint64_t failed;
} faults[] = {
	{"", NULL, 1, 0},
	{"nocard", "XRT has no card 0", 0, 0},
	{"load", "does not take", 0, 1},
	{"kernel", "a kernel cannot be opened", 0, 1},
	{"alloc", "xrtBOAlloc", 0, 1},
	{"map", "xrtBOMap", 0, 1},
	{"sync", "xrtBOSync", 0, 1},
	{"start", "xrtRunStart", 0, 1},
	{"crash", "a run failed (state 5)", 0, 1},
	{"hang", "no answer within", 0, 1},
	{"wrong", "a wrong answer", 0, 1},
	{"version", "have version 0x51560002, not 0x51560001", 0, 1},
	{"skipin", "its seal does not fit", 0, 1},
	{"skipout", "have version 0,", 0, 1},
	{"alloc:7", "xrtBOAlloc", 1, 3},
	{"sync:35", "xrtBOSync", 1, 3},
	{"start:13", "xrtRunStart", 1, 3},
	{"crash:13", "a run failed", 1, 3},
	{"hang:13", "no answer within", 1, 1},
	{"wrong:13", "a wrong answer", 1, 3},
	{"version:13", "another version", 1, 3},
	/* One sync that is not made: entries, queries, either operand, the answers. */
	{"skipin:23", NULL, 1, 1},
	{"skipin:24", NULL, 1, 1},
	{"skipin:25", NULL, 1, 1},
	{"skipin:26", NULL, 1, 1},
	{"skipout:13", NULL, 1, 1},
	{"skipout:14", NULL, 1, 1},
};

static void all_faults(const struct qv_offload_config *config, void (*set_fault)(const char *))
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct qv_offload_stats s;

		what = faults[i].fault;
		set_fault(what);
		s = work(config, faults[i].text);
		EXPECT(s.failed == faults[i].failed);
		EXPECT(s.fallback == (faults[i].opens ? faults[i].failed : 0));
		EXPECT(faults[i].opens || s.batches + s.arrays == 0);
		EXPECT(faults[i].text || s.batches + s.arrays == 2 * ROUNDS - s.failed);
	}
	set_fault("");
}

/* A card whose cores take denormals for 0 does no sums of floating-point numbers. */
static void flush(const struct qv_offload_config *config, void (*set_fault)(const char *))
{
	struct qv_offload *o = guard(config);
	struct qv_offload_stats s;

	what = "flush";
	set_fault("flush");
	combine(o, QV_TYPE_FLOAT);
	combine(o, QV_TYPE_DOUBLE);
	combine(o, QV_TYPE_INT64);
	set_fault("");
	qv_offload_get_stats(o, &s);
	EXPECT(s.arrays == 1 && s.refused == 2 && s.failed == 0 && !lines);
	qv_offload_destroy(o);
}

/* ---- what can be missing ----------------------------------------------------------------------
 */
static void missing(const char *name, const struct qv_offload_config *config, const char *text)
{
	struct qv_offload_stats s;

	what = name;
	s = work(config, text);
	EXPECT(s.failed == 0 && s.batches + s.arrays == 0);
}

static void environment(const struct qv_offload_config *config, const char *folder)
{
	unsetenv("XILINX_XRT");
	missing("no variable", config, "XILINX_XRT is not set");
	setenv("XILINX_XRT", "", 1);
	missing("empty", config, "XILINX_XRT is not set");
	setenv("XILINX_XRT", "/usr", 1);
	missing("wrong", config, "XILINX_XRT=/usr has no lib/libxrt_core.so.2");
	setenv("XILINX_XRT", folder, 1);
	setenv("XCL_EMULATION_MODE", "dream", 1);
	missing("mode", config, "XCL_EMULATION_MODE=dream is none of XRT's");
	/* The folder has a file of that name, which is no library. */
	setenv("XCL_EMULATION_MODE", "hw_emu", 1);
	missing("no library", config, "has no lib/libxrt_hwemu.so.2 that can be used");
	unsetenv("XCL_EMULATION_MODE");
}

static void settings(const struct qv_offload_config *config)
{
	static const char *const bad[][2] = {
		{"kernel", "has no kernel qv_combine_hls"},
		{"argument", "argument 5 of qv_combine_hls is not the nonce that we know"},
		{"name", "argument 4 of qv_combine_hls is not the what that we know"},
		{"more", "qv_combine_hls has more arguments than we know"},
		{"xml", "says nothing about its kernels"},
		{"short", "says nothing about its kernels"},
		{"magic", "is not an xclbin"}};
	struct qv_offload_config c = *config;
	char file[4096];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(file, sizeof(file), "%s.%s", config->bitstream, bad[i][0]);
		c.bitstream = file;
		missing(bad[i][0], &c, bad[i][1]);
	}
	c.bitstream = NULL;
	missing("none", &c, "FI_QUIVER_XCLBIN names no bitstream");
	c.bitstream = "/nowhere";
	missing("nowhere", &c, "FI_QUIVER_XCLBIN=/nowhere cannot be read");
	c = *config;
	c.library = "/nowhere/libxrt_coreutil.so.2";
	missing("no XRT", &c, "no XRT here (/nowhere");
	c.library = "libm.so.6";
	missing("not XRT", &c, "libm.so.6 has no xrtDeviceOpen");
	c = *config;
	c.device = "7";
	missing("card 7", &c, "XRT has no card 7");
	c.device = "u55c";
	missing("card u55c", &c, "'u55c' is not the number of a card");
}

int main(int argc, char **argv)
{
	void (*set_fault)(const char *);
	void *fake = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL, *address;

	if (!fake)
		return 2;
	const struct qv_offload_config config = {
		.library = argv[1], .bitstream = argv[2], .timeout_ms = 3000};
	address = dlsym(fake, "qv_fake_xrt_set");
	memcpy(&set_fault, &address, sizeof(address));
	setenv("XILINX_XRT", argv[3], 1);
	all_faults(&config, set_fault);
	flush(&config, set_fault);
	environment(&config, argv[3]);
	settings(&config);
	printf("%d wrong\n", wrong);
	return wrong ? 1 : 0;
}
