/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_info.c - `quiver info`: what was built, what this machine has, what would be chosen. */
#include "cmd.h"
#include "info.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/isa.h>
#include <quiver/match.h>

#include "bench/common/bench.h"
#include "engine/node/ring.h"
#include "kernels/offload/offload.h"
#include "kernels/opencl/opencl.h"

static void usage(FILE *out)
{
	fputs("usage: quiver info [--json]\n\n"
	      "Prints the version and how it was built, the instruction sets and match structures,\n"
	      "the libfabric found, what the present environment leads to, and for each core\n"
	      "provider of this libfabric the environment that puts quiver over it, or why that\n"
	      "cannot be.\n\n"
	      "  --json   the same as one JSON object\n\n"
	      "Exit status: 0 if the present environment leads to a usable core, else 1.\n",
	      out);
}

/* FI_PROVIDER, which looking for cores changes. */
static char provider_now[256];

/* What FI_QUIVER_ISA and FI_QUIVER_MATCH lead to; NULL if they lead nowhere, the latter for a reason. */
static const char *isa_now, *structure_now, *no_structure;

static const char *choose_isa(void)
{
	enum qv_isa isa;

	if (qv_isa_parse(qv_info_setting("FI_QUIVER_ISA", "auto"), &isa) || !qv_isa_usable(isa))
		return NULL;
	return qv_isa_name(isa == QV_ISA_AUTO ? qv_isa_best() : isa);
}

/* What FI_QUIVER_OFFLOAD leads to. Devices are looked for only if it says so. */
static const char *offload_now;

static const char *choose_offload(void)
{
	const char *text = qv_info_setting("FI_QUIVER_OFFLOAD", "off");
	const struct qv_offload_config config = {
		.device = qv_info_setting("FI_QUIVER_OFFLOAD_DEVICE", NULL)};
	struct qv_offload_caps caps;
	static char line[768];
	char why[512] = "";
	int on, calibrate;

	/* A card is looked for when it is used, with its bitstream. */
	if (!strcmp(text, "xrt") ||
	    (!strcmp(text, "auto") && qv_info_setting("FI_QUIVER_XCLBIN", NULL)))
		return text;
	if (qv_offload_parse(text, &on, &calibrate, why, sizeof(why)))
		return NULL;
	if (!on)
		return "off";
	if (qv_opencl_ops.probe(&config, &caps, why, sizeof(why)))
		snprintf(line, sizeof(line), "%s, but the CPU does it: %s", text, why);
	else
		snprintf(line, sizeof(line), "%s: %s (%s)", text, caps.name, caps.version);
	return line;
}

/* The benches also note what changes from run to run, and the version, which has its own line. */
static bool is_of_build(const char *key)
{
	return strcmp(key, "load") && strcmp(key, "quiver");
}

/* What a peer costs over core node, once both have spoken: both directions. */
enum {
	NODE_MAPPED = 2 * sizeof(struct qv_ring) >> 10,
	NODE_SHORT = 2 * offsetof(struct qv_ring, slots[QV_RING_FIRST]) >> 10,
	NODE_DESCRIPTORS = 2
};

/* Text. */

static void print_build(const struct qv_bench *bench)
{
	printf("quiver %s\n", QUIVER_VERSION);
	for (size_t i = 0; i < bench->facts_n; i++)
		if (is_of_build(bench->facts[i].key))
			printf("  %-11s %s\n", bench->facts[i].key, bench->facts[i].value);
	printf("  %-11s", "isa");
	for (int i = QV_ISA_SCALAR; qv_isa_name(i); i++)
		if (qv_isa_usable(i))
			printf(" %s", qv_isa_name(i));
	printf("; chosen: %s\n", isa_now ? isa_now : "none, FI_QUIVER_ISA is wrong");
	printf("  %-11s", "matching");
	for (const char *const *name = qv_match_structures(); *name; name++)
		printf(" %s", *name);
	printf("; chosen: %s%s\n", structure_now ? "" : "none, ",
	       structure_now ? structure_now : no_structure);
	printf("  %-11s opencl xrt; chosen: %s\n", "offload",
	       offload_now ? offload_now : "none, FI_QUIVER_OFFLOAD is wrong");
	printf("  %-11s a peer has %d KiB mapped, %d of them used by few messages of up to %u bytes, "
	       "and %d descriptors\n",
	       "core node", NODE_MAPPED, NODE_SHORT, QV_RING_INLINE, NODE_DESCRIPTORS);
}

/* Why quiver is not offered. FI_PROVIDER=^a,b is everything but a and b. */
static void print_nothing(void)
{
	const bool named = strstr(provider_now, "quiver") != NULL;

	printf("  %-11s nothing: quiver is not offered; ", "now");
	if (named == (*provider_now == '^'))
		printf("FI_PROVIDER=%s leaves it out, FI_PROVIDER=quiver asks for it\n",
		       provider_now);
	else
		printf("FI_LOG_LEVEL=warn says why\n");
}

/* What this command takes for granted, and programs do not. */
static void print_missing(const struct qv_info_fabric *f)
{
	if (*f->plugin && !f->placed)
		printf("  %-11s FI_PROVIDER_PATH is not set; programs need FI_PROVIDER_PATH=%.*s\n",
		       "but", (int)(strrchr(f->plugin, '/') - f->plugin), f->plugin);
	if (!f->named)
		printf("  %-11s FI_PROVIDER is not set; programs need FI_PROVIDER=quiver\n", "but");
}

static void print_fabric(const struct qv_info_fabric *f)
{
	int width = 4;

	if (!*f->version) {
		printf("  %-11s not in this build\n", "libfabric");
		return;
	}
	printf("  %-11s %s (API %s) %s\n", "libfabric", f->version, f->api, f->path);
	printf("  %-11s %s%s\n", "provider", *f->plugin ? f->plugin : "libquiver-fi.so not found",
	       f->loaded ? "" : "; libfabric has not loaded it");
	if (*f->core)
		printf("  %-11s %s over core %s, interface %s\n", "now", f->provider, f->core,
		       f->domain);
	else
		print_nothing();
	print_missing(f);
	for (size_t i = 0; i < f->ncores; i++)
		if ((int)strlen(f->cores[i].name) > width)
			width = (int)strlen(f->cores[i].name);
	printf("\n%-*s  usable  long messages  how\n", width, "core");
	for (size_t i = 0; i < f->ncores; i++) {
		const struct qv_info_core *c = &f->cores[i];

		printf("%-*s  %-6s  %-13s  %s%s%s%s\n", width, c->name, c->usable ? "yes" : "no",
		       !c->usable ? "-"
		       : c->rma   ? "RMA read"
				  : "send",
		       c->how, *c->note ? " (" : "", c->note, *c->note ? ")" : "");
	}
}

/* JSON. */

static json_t *json_text(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *json_build(const struct qv_bench *bench)
{
	json_t *isas = json_array(), *structures = json_array(), *build = json_object();

	for (size_t i = 0; i < bench->facts_n; i++)
		if (is_of_build(bench->facts[i].key))
			json_object_set_new(build, bench->facts[i].key,
					    json_string(bench->facts[i].value));
	for (int i = QV_ISA_SCALAR; qv_isa_name(i); i++)
		if (qv_isa_usable(i))
			json_array_append_new(isas, json_string(qv_isa_name(i)));
	for (const char *const *name = qv_match_structures(); *name; name++)
		json_array_append_new(structures, json_string(*name));
	return json_pack("{s:s, s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:{s:[ss], s:o}}", "version",
			 QUIVER_VERSION, "build", build, "isa", "usable", isas, "chosen",
			 json_text(isa_now), "matching", "structures", structures, "chosen",
			 json_text(structure_now), "offload", "backends", "opencl", "xrt", "chosen",
			 json_text(offload_now));
}

static json_t *json_core(const struct qv_info_core *c)
{
	json_t *core = json_pack("{s:s, s:b, s:s}", "name", c->name, "usable", c->usable,
				 c->usable ? "environment" : "reason", c->how);

	if (c->usable)
		json_object_set_new(core, "long_messages", json_string(c->rma ? "rma" : "send"));
	if (*c->note)
		json_object_set_new(core, "note", json_string(c->note));
	return core;
}

static int print_json(const struct qv_bench *bench, const struct qv_info_fabric *f)
{
	json_t *all = json_build(bench), *now = json_null(), *cores = json_array();
	int ret;

	if (*f->core)
		now = json_pack("{s:s, s:s, s:o, s:o}", "provider", f->provider, "core", f->core,
				"fabric", json_text(f->fabric), "domain", json_text(f->domain));
	for (size_t i = 0; i < f->ncores; i++)
		json_array_append_new(cores, json_core(&f->cores[i]));
	json_object_set_new(all, "libfabric",
			    *f->version ? json_pack("{s:s, s:s, s:o}", "version", f->version, "api",
						    f->api, "path", json_text(f->path))
					: json_null());
	json_object_set_new(all, "provider", json_text(f->plugin));
	json_object_set_new(all, "loaded", json_boolean(f->loaded));
	json_object_set_new(all, "now", now);
	json_object_set_new(all, "node",
			    json_pack("{s:i, s:i, s:i}", "peer_kib", NODE_MAPPED, "peer_kib_short",
				      NODE_SHORT, "peer_descriptors", NODE_DESCRIPTORS));
	json_object_set_new(all, "cores", cores);
	ret = json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
	return ret;
}

static int wrong_option(const char *arg)
{
	fprintf(stderr, "quiver: info has no option '%s'; see --help\n", arg);
	return 2;
}

int qv_cmd_info(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {.name = NULL}};
	static struct qv_info_fabric fabric;
	static struct qv_bench bench;
	bool json = false;

	opterr = 0;
	for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
		if (option == 'j')
			json = true;
		else if (option == 'h')
			return usage(stdout), 0;
		else
			return wrong_option(argv[optind - 1]);
	}
	if (optind < argc)
		return wrong_option(argv[optind]);
	isa_now = choose_isa();
	offload_now = choose_offload();
	structure_now = qv_info_structure(&no_structure);
	snprintf(provider_now, sizeof(provider_now), "%s",
		 qv_info_setting("FI_PROVIDER", "quiver"));
	qv_bench_machine(&bench, NULL);
#ifdef QV_HAVE_FABRIC
	qv_info_fabric_collect(&fabric);
#endif
	if (json && print_json(&bench, &fabric))
		return 1;
	if (!json) {
		print_build(&bench);
		print_fabric(&fabric);
	}
	return *fabric.core ? 0 : 1;
}
