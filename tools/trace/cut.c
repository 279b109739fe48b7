/* SPDX-License-Identifier: BSD-2-Clause */
/* cut.c - `quiver trace cut`: some lanes of a trace, for some time, such that it can be replayed. */
#include "commands.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "options.h"
#include "waiting.h"

static void usage(FILE *out)
{
	fputs("usage: quiver trace cut FILE -o OUT [options]\n\n"
	      "Writes a part of a trace. What waits in the queues when it begins is written first, as posts\n"
	      "and arrivals, oldest first: matches of the part are those of the whole. An arrival and the\n"
	      "queueing of its message stay together.\n\n"
	      "  -o OUT         the new file; one that is there is replaced when the new one is whole\n"
	      "  --from S       from so many seconds after the earliest event on\n"
	      "  --to S         until, and without, so many seconds after it\n"
	      "  --lane N,...   of these lanes only, as `quiver trace dump` numbers them\n"
	      "  --rank N,...   of these ranks only; -1: of processes whose rank is not known\n"
	      "  --queue NAME   of one kind of queue only: tagged, untagged or collective\n"
	      "  --first N      of each lane, no more than its first N events in this time; an arrival and the\n"
	      "                 queueing of its message are one\n",
	      out);
}

struct lane {
	struct qv_trace_waiting *waiting; /* before the part begins */
	enum { BEFORE, INSIDE, AFTER } place;
	bool pending; /* its last event was an arrival without match */
	uint64_t events;
};

struct cut {
	struct qv_trace_copy copy;
	struct qv_trace_out out;
	struct qv_trace_list wanted_lanes, wanted_ranks;
	int queue;                /* enum qv_trace_queue, -1: any */
	uint64_t from, to, first; /* ns since the first event, until all is read; events */
	struct lane *lanes;       /* of the input */
	uint32_t lanes_n, lanes_room;
	uint64_t seen, waited[2], unseen;
};

static bool wants(void *ctx, uint32_t index, const struct qv_trace_lane *lane,
		  const struct qv_trace_process *process)
{
	struct cut *c = ctx;
	const bool lane_wanted = qv_trace_has(&c->wanted_lanes, index);

	return qv_trace_has(&c->wanted_ranks, process->rank) && lane_wanted &&
	       (c->queue < 0 || lane->queue == (enum qv_trace_queue)c->queue);
}

static struct lane *lane_of(struct cut *c, uint32_t index)
{
	if (!qv_trace_grow(&c->lanes, &c->lanes_room, index + 1, sizeof(*c->lanes)))
		return NULL;
	while (c->lanes_n <= index)
		c->lanes[c->lanes_n++] = (struct lane){.place = BEFORE};
	return &c->lanes[index];
}

static bool keep(struct lane *l, const struct qv_trace_event *event)
{
	if (!l->waiting) {
		l->waiting = malloc(sizeof(*l->waiting));
		if (!l->waiting)
			return qv_trace_no_memory();
		qv_trace_waiting_init(l->waiting);
	}
	return qv_trace_waiting_event(l->waiting, event);
}

static void forget(struct lane *l)
{
	if (l->waiting)
		qv_trace_waiting_free(l->waiting);
	free(l->waiting);
	l->waiting = NULL;
}

/* An entry as it came, but at the begin of the part. */
static bool write_entry(struct cut *c, uint32_t lane, const struct qv_trace_entry *entry)
{
	struct qv_trace_event event = entry->event, arrival;

	event.lane = c->copy.lane[lane];
	event.ns = c->from;
	c->waited[entry->queue]++;
	if (entry->queue == QV_TRACE_MESSAGES) {
		arrival = event;
		arrival.kind = QV_TRACE_ARRIVE;
		arrival.matched = false;
		arrival.node = 0;
		if (!qv_trace_out_put(&c->out, arrival))
			return false;
	}
	return qv_trace_out_put(&c->out, event);
}

/* The part begins in this lane. */
static bool begin(struct cut *c, uint32_t index)
{
	struct lane *l = &c->lanes[index];
	const struct qv_trace_waiting *w = l->waiting;

	l->place = INSIDE;
	for (int queue = 0; w && queue < 2; queue++)
		for (uint32_t at = w->oldest[queue]; at != QV_TRACE_NOBODY;
		     at = w->entries[at].younger)
			if (!write_entry(c, index, &w->entries[at]))
				return false;
	c->unseen += w ? w->unseen : 0;
	forget(l);
	return true;
}

static bool take(struct cut *c, struct qv_trace_event *event)
{
	const uint32_t index = event->lane;
	struct lane *l = lane_of(c, index);

	if (!l)
		return false;
	/* What is queued goes where its arrival went. */
	if (event->kind != QV_TRACE_QUEUE || !l->pending) {
		if (l->place == BEFORE && event->ns >= c->from && !begin(c, index))
			return false;
		if (l->place == INSIDE && (event->ns >= c->to || l->events == c->first))
			l->place = AFTER;
		l->events += l->place == INSIDE;
	}
	l->pending = event->kind == QV_TRACE_ARRIVE && !event->matched;
	if (l->place == BEFORE)
		return keep(l, event);
	if (l->place == AFTER)
		return true;
	c->seen++;
	event->lane = c->copy.lane[index];
	return qv_trace_out_put(&c->out, *event);
}

/* Names that the trace does not have are mistakes. */
static bool all_seen(const struct cut *c, const struct qv_trace_list *list, const char *what)
{
	for (size_t i = 0; i < list->n; i++)
		if (!list->seen[i]) {
			fprintf(stderr, "quiver: %s has no %s %" PRId64 "\n", c->copy.in.path, what,
				list->numbers[i]);
			return false;
		}
	return true;
}

static bool copy_all(struct cut *c)
{
	struct qv_trace_event event;
	int rc;

	while ((rc = qv_trace_copy_next(&c->copy, &event)) == 1)
		if (c->copy.lane[event.lane] != QV_TRACE_LEFT_OUT && !take(c, &event))
			return false;
	/* Where nothing happens any more, the entries wait all the same. */
	for (uint32_t i = 0; rc == 0 && i < c->lanes_n; i++)
		if (c->lanes[i].place == BEFORE && !begin(c, i))
			return false;
	return rc == 0 && all_seen(c, &c->wanted_lanes, "lane") &&
	       all_seen(c, &c->wanted_ranks, "rank");
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Events that the part lacks, as far as is known. A file that was not ended does not say of which lanes
 * they are. */
static uint64_t lost(const struct cut *c)
{
	const struct qv_trace_reader *reader = c->copy.in.reader;
	uint64_t n = qv_trace_lost(reader);

	if (!qv_trace_is_whole(reader))
		return n;
	for (uint32_t i = 0; i < c->copy.lanes; i++)
		if (c->copy.lane[i] == QV_TRACE_LEFT_OUT)
			n -= qv_trace_lane_lost(reader, i);
	return n;
}

static bool cut(struct cut *c, const char *path, const char *output)
{
	uint64_t first;

	if (!qv_trace_in_first(path, &first))
		return false;
	c->from = plus(first, c->from);
	c->to = plus(first, c->to);
	if (!qv_trace_in_open(&c->copy.in, path) || !qv_trace_out_open(&c->out, output) ||
	    !copy_all(c))
		return false;
	qv_trace_in_warn(&c->copy.in);
	if (!qv_trace_out_finish(&c->out, lost(c), qv_trace_is_whole(c->copy.in.reader)))
		return false;
	printf("%s: %" PRIu64 " events in %" PRIu32 " lanes; before them %" PRIu64
	       " receives and %" PRIu64 " messages that wait when it begins\n",
	       output, c->seen, c->out.lanes, c->waited[QV_TRACE_RECEIVES],
	       c->waited[QV_TRACE_MESSAGES]);
	if (c->unseen)
		fprintf(stderr,
			"quiver: warning: %llu events before the part are of entries that %s does not "
			"have\n",
			(unsigned long long)c->unseen, path);
	return true;
}

static bool parse_queue(const char *name, int *queue)
{
	for (*queue = 0; *queue < QV_TRACE_QUEUES; ++*queue)
		if (!strcmp(name, qv_trace_queue_names[*queue]))
			return true;
	fprintf(stderr, "quiver: --queue is tagged, untagged or collective, not '%s'\n", name);
	return false;
}

int qv_trace_cmd_cut(int argc, char **argv)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"from", required_argument, NULL, 'f'},
						{"to", required_argument, NULL, 't'},
						{"lane", required_argument, NULL, 'l'},
						{"rank", required_argument, NULL, 'r'},
						{"queue", required_argument, NULL, 'q'},
						{"first", required_argument, NULL, 'n'},
						{"help", no_argument, NULL, 'h'},
						{.name = NULL}};
	struct cut c = {.queue = -1, .to = UINT64_MAX, .first = UINT64_MAX};
	const char *output = NULL;
	bool fine = true;

	opterr = 0;
	for (int option; fine && (option = getopt_long(argc, argv, ":ho:", options, NULL)) != -1;) {
		switch (option) {
		case 'h': return usage(stdout), 0;
		case 'o': output = optarg; break;
		case 'f': fine = qv_trace_parse_seconds("from", optarg, &c.from); break;
		case 't': fine = qv_trace_parse_seconds("to", optarg, &c.to); break;
		case 'l': fine = qv_trace_parse_list("lane", optarg, 0, &c.wanted_lanes); break;
		case 'r': fine = qv_trace_parse_list("rank", optarg, -1, &c.wanted_ranks); break;
		case 'q': fine = parse_queue(optarg, &c.queue); break;
		case 'n': fine = qv_trace_parse_count("first", optarg, &c.first); break;
		default: return qv_trace_refuse("cut", option, argv);
		}
	}
	if (!fine || !qv_trace_files_wanted("cut", argc, 1, 1) ||
	    !qv_trace_output_wanted("cut", output))
		return 2;
	c.copy.wants = wants;
	c.copy.ctx = &c;
	c.copy.out = &c.out;
	fine = cut(&c, argv[optind], output);
	for (uint32_t i = 0; i < c.lanes_n; i++)
		forget(&c.lanes[i]);
	free(c.lanes);
	qv_trace_copy_close(&c.copy);
	qv_trace_out_close(&c.out);
	return fine ? 0 : 1;
}
