/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_xrt_faults.c - an engine and reductions on a card that fails in every way that the double of
 * XRT's library knows, and with everything that can be missing: nothing is lost, the process goes
 * on, one line says why.
 *
 *     test_xrt_faults FAKE XCLBIN FOLDER
 * FOLDER: as XILINX_XRT wants it; beside the xclbin lie some with faults, XCLBIN.<fault>.
 */
#include "tests/offload/faults.h"
#include "hls/host/xrt.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 30

/* All work, and what has become of it. text: in the one line; NULL: there is none. */
static struct qv_offload_stats work(const struct qv_offload_config *config, const char *text)
{
	struct qv_offload *o = qv_faults_open(&qv_xrt_ops, config, 1000);

	for (int i = 0; i < ROUNDS; i++) {
		qv_faults_arrivals(o, (uint64_t)i);
		qv_faults_combine(o, i % 2 ? QV_TYPE_FLOAT : QV_TYPE_INT32);
	}
	return qv_faults_end(o, text);
}

/* Faults. */

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

		qv_faults_name = faults[i].fault;
		set_fault(qv_faults_name);
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
	struct qv_offload *o = qv_faults_open(&qv_xrt_ops, config, 1000);
	struct qv_offload_stats s;

	qv_faults_name = "flush";
	set_fault("flush");
	qv_faults_combine(o, QV_TYPE_FLOAT);
	qv_faults_combine(o, QV_TYPE_DOUBLE);
	qv_faults_combine(o, QV_TYPE_INT64);
	set_fault("");
	s = qv_faults_end(o, NULL);
	EXPECT(s.arrays == 1 && s.refused == 2 && s.failed == 0);
}

/* What can be missing. */

static void missing(const char *name, const struct qv_offload_config *config, const char *text)
{
	struct qv_offload_stats s;

	qv_faults_name = name;
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
	c.size = 1;
	EXPECT(qv_xrt_ops.probe(&c, &(struct qv_offload_caps){0}, file, sizeof(file)) == QV_EINVAL);
	EXPECT(qv_xrt_ops.open(&c, &(struct qv_offload_dev *){NULL}, file, sizeof(file)) ==
	       QV_EINVAL);
	c.size = sizeof(c);
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
	printf("%d wrong\n", qv_faults_wrong);
	return qv_faults_wrong ? 1 : 0;
}
