/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xclbin_main.c - qv-xclbin: an xclbin that describes our kernels and has no bitstream, for XRT
 * without a card, and such files with a fault.
 *
 *     qv-xclbin FILE [FAULT]
 * FAULT: kernel (one is not there), argument (one has another size), name (one has another name),
 * more (one argument more), xml (says nothing), short (ends early), magic.
 */
#include "hls/qv_hls.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The container, as XRT's reference of the format has it. */

enum kind { BITSTREAM = 0, METADATA = 2, MEMORIES = 6, CONNECTIONS = 7, UNITS = 8 };

#define SECTIONS 5
#define ARGS     6
#define ARRAYS   3

struct header {
	char magic[8];
	int32_t signature;
	unsigned char reserved[28], key[256];
	uint64_t id, bytes, time, platform_time;
	uint16_t patch;
	uint8_t major, minor;
	uint16_t mode, actions;
	unsigned char platform_uuid[16], platform[64], uuid[16], debug[16];
	uint32_t sections, padding;
};

struct section {
	uint32_t kind;
	char name[16];
	uint32_t padding;
	uint64_t offset, bytes;
};

struct unit {
	uint32_t type, properties;
	uint64_t base;
	char name[64];
};

struct memory {
	uint8_t type, used, padding[6];
	uint64_t kilobytes, base;
	char name[16];
};

struct connection {
	int32_t argument, unit, memory;
};

_Static_assert(sizeof(struct header) == 456 && sizeof(struct section) == 40 &&
		       sizeof(struct unit) == 80 && sizeof(struct memory) == 40 &&
		       sizeof(struct connection) == 12,
	       "as they lie in a file");

/* Contents. */

static struct {
	int32_t n, padding;
	struct unit unit[2];
} units = {2,
	   0,
	   {{1, 0, 0x1800000, QV_HLS_MATCH ":" QV_HLS_MATCH "_1"},
	    {1, 0, 0x1810000, QV_HLS_COMBINE ":" QV_HLS_COMBINE "_1"}}};

static struct {
	int32_t n, padding;
	struct memory memory[1];
} memories = {1, 0, {{1, 1, {0}, 1 << 20, 0, "bank0"}}};

static struct {
	int32_t n;
	struct connection connection[2 * ARRAYS];
} connections = {2 * ARRAYS, {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {0, 1, 0}, {1, 1, 0}, {2, 1, 0}}};

static char xml[16384];
static size_t xml_bytes;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	xml_bytes += (size_t)vsnprintf(xml + xml_bytes, sizeof(xml) - xml_bytes, format, args);
	va_end(args);
}

static void add_argument(int i, const char *name, int offset, const char *size)
{
	add("<arg name=\"%s\" addressQualifier=\"%d\" id=\"%d\" port=\"%s\" size=\"%s\" "
	    "offset=\"0x%x\" hostOffset=\"0x0\" hostSize=\"%s\" type=\"%s\"/>",
	    name, i < ARRAYS, i, i < ARRAYS ? "M_AXI_GMEM0" : "S_AXI_CONTROL", size,
	    (unsigned)offset, size, i < ARRAYS ? "void*" : "unsigned int");
}

static void add_kernel(const char *name, const char *const args[ARGS], unsigned base,
		       const char *fault)
{
	add("<kernel name=\"%s\" language=\"c\" vlnv=\"quiver:hls:%s:1.0\" attributes=\"\" "
	    "preferredWorkGroupSizeMultiple=\"0\" workGroupSize=\"1\" interrupt=\"true\" "
	    "hwControlProtocol=\"ap_ctrl_hs\">",
	    strcmp(fault, "kernel") ? name : "something_else", name);
	add("<port name=\"M_AXI_GMEM0\" mode=\"master\" range=\"0xFFFFFFFF\" dataWidth=\"512\" "
	    "portType=\"addressable\" base=\"0x0\"/>"
	    "<port name=\"S_AXI_CONTROL\" mode=\"slave\" range=\"0x1000\" dataWidth=\"32\" "
	    "portType=\"addressable\" base=\"0x0\"/>");
	for (int i = 0; i < ARGS; i++)
		add_argument(i, i == 4 && !strcmp(fault, "name") ? "other" : args[i],
			     i < ARRAYS ? 0x10 + 12 * i : 0x34 + 8 * (i - ARRAYS),
			     i < ARRAYS                             ? "0x8"
			     : i == 5 && !strcmp(fault, "argument") ? "0x2"
								    : "0x4");
	if (!strcmp(fault, "more"))
		add_argument(ARGS, "more", 0x4c, "0x4");
	add("<instance name=\"%s_1\"><addrRemap base=\"0x%x\" range=\"0x10000\" "
	    "port=\"S_AXI_CONTROL\"/></instance></kernel>",
	    name, base);
}

static void write_xml(const char *fault)
{
	static const char *const match[ARGS] = {"entries", "queries", "out", "n", "m", "nonce"};
	static const char *const combine[ARGS] = {"a", "b", "out", "beats", "what", "nonce"};

	add("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<project name=\"quiver\">"
	    "<platform vendor=\"xilinx\" boardid=\"none\" name=\"none\" featureRomTime=\"0\">"
	    "<version major=\"0\" minor=\"1\"/><description></description>"
	    "<device name=\"fpga0\" fpgaDevice=\"virtexuplusHBM:xcu55c\" addrWidth=\"0\">"
	    "<systemClocks></systemClocks><core name=\"OCL_REGION_0\" target=\"hw\" "
	    "type=\"clc_region\" clockFreq=\"0MHz\" numComputeUnits=\"60\"><kernelClocks>"
	    "</kernelClocks>");
	add_kernel(QV_HLS_MATCH, match, 0x1800000, "");
	add_kernel(QV_HLS_COMBINE, combine, 0x1810000, fault);
	add("</core></device></platform></project>\n");
}

/* The file. */

struct content {
	enum kind kind;
	const char *name;
	const void *data;
	size_t bytes;
};

static int write_file(FILE *out, const struct content *all, const char *fault)
{
	static const char zeroes[8];
	struct header h = {.magic = "xclbin2",
			   .signature = -1,
			   .id = 1,
			   .time = 1,
			   .major = 2,
			   .minor = 13,
			   .platform = "xilinx_u55c_gen3x16_xdma_base_3",
			   .uuid = "quiver-no-bits!",
			   .sections = SECTIONS};
	struct section table[SECTIONS] = {{0}};
	size_t at = sizeof(h) + sizeof(table);

	memset(h.reserved, 0xff, sizeof(h.reserved));
	if (!strcmp(fault, "magic"))
		h.magic[0] = 'y';
	for (int i = 0; i < SECTIONS; i++) {
		table[i].kind = all[i].kind;
		snprintf(table[i].name, sizeof(table[i].name), "%s", all[i].name);
		table[i].offset = at;
		table[i].bytes = all[i].bytes;
		at += all[i].bytes + -all[i].bytes % 8;
	}
	h.bytes = at;
	fwrite(&h, 1, sizeof(h), out);
	fwrite(table, 1, !strcmp(fault, "short") ? 100 : sizeof(table), out);
	for (int i = 0; i < SECTIONS && strcmp(fault, "short"); i++) {
		fwrite(all[i].data, 1, all[i].bytes, out);
		fwrite(zeroes, 1, -all[i].bytes % 8, out);
	}
	return ferror(out);
}

int main(int argc, char **argv)
{
	static const char bits[16] = "no bitstream";
	const char *fault = argc > 2 ? argv[2] : "";
	FILE *out;
	int err;

	if (argc < 2 || argc > 3 || argv[1][0] == '-') {
		const int asked = argc == 2 && !strcmp(argv[1], "--help");

		fprintf(asked ? stdout : stderr,
			"usage: qv-xclbin FILE [FAULT]\n\nWrites an xclbin that describes quiver's "
			"kernels and has no bitstream, for tests of XRT.\n");
		return asked ? 0 : 2;
	}
	write_xml(fault);
	const struct content all[SECTIONS] = {
		{BITSTREAM, "bits", bits, sizeof(bits)},
		{strcmp(fault, "xml") ? METADATA : BITSTREAM, "xml", xml, xml_bytes},
		{UNITS, "units", &units, sizeof(units)},
		{MEMORIES, "memories", &memories, sizeof(memories)},
		{CONNECTIONS, "connections", &connections, sizeof(connections)},
	};
	out = fopen(argv[1], "wb");
	err = out ? write_file(out, all, fault) : -1;
	if (out && fclose(out))
		err = -1;
	if (err)
		fprintf(stderr, "qv-xclbin: cannot write %s\n", argv[1]);
	return err ? 1 : 0;
}
