/* SPDX-License-Identifier: BSD-2-Clause */
/* dump.c - `quiver trace dump`: a trace as text, or as a JSON object a line. */
#include "commands.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <quiver/types.h>

#include "files.h"
#include "advice/names.h"
#include "options.h"

static void usage(FILE *out)
{
	fputs("usage: quiver trace dump FILE [options]\n\n"
	      "Prints the processes and lanes of a trace, then its events. A lane is one matching\n"
	      "engine. Its events come in order; those of several lanes come in blocks, as the file has\n"
	      "them. Times are since the earliest event. Node: which receive or message waits, or was\n"
	      "found; behind '=' it is the one that was matched.\n\n"
	      "  --json      one JSON object a line: processes, lanes, events, and what is missing\n"
	      "  --limit N   no more events than N\n\n"
	      "Exit status: 0, or 1 if the file is damaged. What comes before that is right.\n",
	      out);
}

struct dump {
	const char *path;
	bool json;
	uint64_t limit, first, events; /* first: ns */
};

static const char *const kinds[] = {
	[QV_TRACE_POST] = "post",   [QV_TRACE_ARRIVE] = "arrive", [QV_TRACE_QUEUE] = "queue",
	[QV_TRACE_PEEK] = "peek",   [QV_TRACE_TAKE] = "take",     [QV_TRACE_CANCEL] = "cancel",
	[QV_TRACE_SEND] = "send",   [QV_TRACE_WANT] = "want",     [QV_TRACE_PROBE] = "probe",
	[QV_TRACE_CLAIM] = "claim", [QV_TRACE_DONE] = "done",     [QV_TRACE_COMM] = "comm",
};

static bool is_receive(const struct qv_trace_event *e)
{
	return e->kind == QV_TRACE_POST || e->kind == QV_TRACE_PEEK || e->kind == QV_TRACE_WANT ||
	       e->kind == QV_TRACE_PROBE || e->kind == QV_TRACE_CLAIM;
}

static bool has_key(const struct qv_trace_event *e)
{
	return e->kind != QV_TRACE_TAKE && e->kind != QV_TRACE_CANCEL &&
	       (e->kind != QV_TRACE_DONE || e->matched);
}

/* A name of the file as JSON, which knows UTF-8 only. */
static json_t *json_name(const char *name)
{
	char text[QV_NAME_ROOM];
	json_t *string = json_string(name);

	return string ? string : json_string(qv_name_plain(name, text));
}

static void print_object(json_t *object)
{
	if (object)
		(void)json_dumpf(object, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(object);
}

static void print_process(const struct dump *d, uint32_t index, const struct qv_trace_process *p)
{
	char host[QV_NAME_ROOM], program[QV_NAME_ROOM];

	if (d->json)
		print_object(json_pack("{s:s, s:I, s:i, s:I, s:o, s:o}", "type", "process",
				       "process", (json_int_t)index, "rank", (int)p->rank, "pid",
				       (json_int_t)p->pid, "host", json_name(p->host), "program",
				       json_name(p->program)));
	else
		printf("process %" PRIu32 ": rank %" PRId32 ", pid %" PRIu32 " of %s, %s\n", index,
		       p->rank, p->pid, qv_name_plain(p->host, host),
		       qv_name_plain(p->program, program));
}

static void print_lane(const struct dump *d, uint32_t index, const struct qv_trace_lane *l)
{
	char bits[24], structure[QV_NAME_ROOM];

	snprintf(bits, sizeof(bits), "0x%" PRIx64, l->protocol_bits);
	if (d->json)
		print_object(json_pack("{s:s, s:I, s:I, s:I, s:s, s:o, s:s}", "type", "lane",
				       "lane", (json_int_t)index, "process", (json_int_t)l->process,
				       "endpoint", (json_int_t)l->endpoint, "queue",
				       qv_trace_queue_names[l->queue], "structure",
				       json_name(l->structure), "protocol_bits", bits));
	else
		printf("lane %" PRIu32 ": process %" PRIu32 ", endpoint %" PRIu32
		       ", %s, structure %s, protocol bits %s\n",
		       index, l->process, l->endpoint, qv_trace_queue_names[l->queue],
		       qv_name_plain(l->structure, structure), bits);
}

static void print_json_event(const struct dump *d, const struct qv_trace_event *e)
{
	printf("{\"type\":\"event\",\"ns\":%" PRId64 ",\"lane\":%" PRIu32 ",\"kind\":\"%s\"",
	       (int64_t)(e->ns - d->first), e->lane, kinds[e->kind]);
	if (has_key(e) && e->src == QV_SRC_ANY)
		printf(",\"src\":null,\"tag\":\"0x%" PRIx64 "\"", e->tag);
	else if (has_key(e))
		printf(",\"src\":%" PRIu32 ",\"tag\":\"0x%" PRIx64 "\"", e->src, e->tag);
	if (is_receive(e))
		printf(",\"ignore\":\"0x%" PRIx64 "\"", e->ignore);
	if (is_receive(e) || e->kind == QV_TRACE_ARRIVE || e->kind == QV_TRACE_DONE)
		printf(",\"matched\":%s", e->matched ? "true" : "false");
	if (e->kind == QV_TRACE_POST)
		printf(",\"persistent\":%s", e->persistent ? "true" : "false");
	printf(",\"node\":\"0x%" PRIx64 "\"}\n", e->node);
}

static void print_event(const struct dump *d, const struct qv_trace_event *e)
{
	char source[12] = "-", tag[24] = "-", ignore[24] = "-", node[24] = "-";

	if (d->json) {
		print_json_event(d, e);
		return;
	}
	if (has_key(e)) {
		snprintf(source, sizeof(source), "%" PRIu32, e->src);
		snprintf(tag, sizeof(tag), "0x%" PRIx64, e->tag);
	}
	if (has_key(e) && e->src == QV_SRC_ANY)
		snprintf(source, sizeof(source), "any");
	if (is_receive(e))
		snprintf(ignore, sizeof(ignore), "0x%" PRIx64, e->ignore);
	if (e->matched || e->node)
		snprintf(node, sizeof(node), "%s0x%" PRIx64, e->matched ? "= " : "", e->node);
	printf("%14.3f %5" PRIu32 " %-6s %10s %18s %18s %s%s\n",
	       (double)(int64_t)(e->ns - d->first) / 1e3, e->lane, kinds[e->kind], source, tag,
	       ignore, node, e->persistent ? " persistent" : "");
}

static void print_head(const struct dump *d, const struct qv_trace_reader *all)
{
	for (uint32_t i = 0; i < qv_trace_processes(all); i++)
		print_process(d, i, qv_trace_process_at(all, i));
	for (uint32_t i = 0; i < qv_trace_lanes(all); i++)
		if (qv_trace_lane_at(all, i))
			print_lane(d, i, qv_trace_lane_at(all, i));
	if (!d->json)
		printf("%14s %5s %-6s %10s %18s %18s %s\n", "time/us", "lane", "kind", "source",
		       "tag", "ignore", "node");
}

static void print_end(const struct dump *d, const struct qv_trace_reader *all)
{
	const bool whole = qv_trace_is_whole(all);
	const uint64_t lost = qv_trace_lost(all);

	if (d->json)
		printf("{\"type\":\"end\",\"events\":%" PRIu64 ",\"whole\":%s,\"lost\":%" PRIu64
		       "}\n",
		       d->events, whole ? "true" : "false", lost);
	else
		printf("%" PRIu64 " events; %s; %" PRIu64 " lost\n", d->events,
		       whole ? "whole"
			     : "not whole: its process did not end it, the last ones are missing",
		       lost);
}

/* The file is read twice: it tells the processes, and the earliest event, only as it goes on. */
static int dump(struct dump *d)
{
	struct qv_trace_event event;
	struct qv_trace_in all, in;
	int rc;

	if (!qv_trace_in_open_any(&all, d->path))
		return 1;
	d->first = UINT64_MAX;
	while ((rc = qv_trace_next(all.reader, &event)) == 1) {
		d->events++;
		if (event.ns < d->first)
			d->first = event.ns;
	}
	print_head(d, all.reader);
	if (qv_trace_in_open_any(&in, d->path)) {
		for (uint64_t i = 0; i < d->events && i < d->limit; i++)
			if (qv_trace_next(in.reader, &event) == 1)
				print_event(d, &event);
		qv_trace_in_close(&in);
	} else if (rc == 0) {
		rc = -2;
	}
	if (rc == 0)
		print_end(d, all.reader);
	if (rc == -1)
		qv_trace_in_damaged(&all);
	qv_trace_in_close(&all);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "quiver: cannot write what is dumped: %s\n", strerror(errno));
		rc = -1;
	}
	return rc == 0 ? 0 : 1;
}

int qv_trace_cmd_dump(int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
						{"limit", required_argument, NULL, 'l'},
						{"help", no_argument, NULL, 'h'},
						{.name = NULL}};
	struct dump d = {.limit = UINT64_MAX};

	opterr = 0;
	for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
		switch (option) {
		case 'h': return usage(stdout), 0;
		case 'j': d.json = true; break;
		case 'l':
			if (!qv_trace_parse_count("limit", optarg, &d.limit))
				return 2;
			break;
		default: return qv_trace_refuse("dump", option, argv);
		}
	}
	if (!qv_trace_files_wanted("dump", argc, 1, 1))
		return 2;
	d.path = argv[optind];
	return dump(&d);
}
