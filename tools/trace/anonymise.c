/* SPDX-License-Identifier: BSD-2-Clause */
/* anonymise.c - `quiver trace anonymise`: a trace without names, with the same matches. */
#include "commands.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <quiver/types.h>

#include "engine/base/hash.h"
#include "files.h"
#include "options.h"
#include "table.h"

static void usage(FILE *out)
{
	fputs("usage: quiver trace anonymise FILE -o OUT [--ranks]\n\n"
	      "Replaces hosts, programs, process ids, sources, tags and nodes by numbers, the same by the\n"
	      "same, in the order in which they come up. The earliest event is at time 0.\n\n"
	      "Matches stay as they are. Bits of tags that every mask of the trace compares together, or\n"
	      "ignores together, make one group; a receive compares whole groups. In each group values get\n"
	      "numbers, which are written into the bits of this group: two values are equal after that if\n"
	      "they were before. Masks stay, and what a receive ignores becomes 0.\n\n"
	      "What can still be seen: when messages came and how often, how many hosts, sources and tags\n"
	      "there are, which bits of tags belong together, and the structure of the queues. Hashes of\n"
	      "keys differ, so structures that hash may take other times.\n\n"
	      "  -o OUT    the new file; one that is there is replaced when the new one is whole\n"
	      "  --ranks   ranks are replaced, too\n",
	      out);
}

/* Bits of tags that all masks treat alike. */
struct group {
	uint64_t bits;
	struct qv_table values;
};

enum { GROUPS = 64 };

struct anonymous {
	struct qv_trace_copy copy;
	struct qv_trace_out out;
	bool replaces_ranks;
	uint64_t first; /* ns */
	struct group groups[GROUPS];
	size_t groups_n;
	struct qv_table sources, nodes, ranks, hosts, programs, pids;
};

/* No group is half in a mask. */
static void split_groups(struct anonymous *a, uint64_t mask)
{
	for (size_t i = 0, n = a->groups_n; i < n; i++) {
		const uint64_t inside = a->groups[i].bits & mask;

		if (inside && inside != a->groups[i].bits) {
			a->groups[i].bits &= ~mask;
			a->groups[a->groups_n++].bits = inside;
		}
	}
}

/* The groups, and the time of the earliest event. */
static bool look_through(struct anonymous *a, const char *path)
{
	struct qv_trace_event event;
	struct qv_trace_in in;
	uint64_t mask = 0;
	int rc;

	if (!qv_trace_in_open(&in, path))
		return false;
	a->first = UINT64_MAX;
	a->groups[0].bits = UINT64_MAX;
	a->groups_n = 1;
	while ((rc = qv_trace_in_next(&in, &event)) == 1) {
		if (event.ns < a->first)
			a->first = event.ns;
		if (event.ignore != mask)
			split_groups(a, mask = event.ignore);
	}
	/* What is the MPI's own stays apart from what the program says. */
	for (uint32_t i = 0; i < qv_trace_lanes(in.reader); i++)
		if (qv_trace_lane_at(in.reader, i))
			split_groups(a, qv_trace_lane_at(in.reader, i)->protocol_bits);
	qv_trace_in_close(&in);
	return rc == 0;
}

/* The bits of a number, one by one into those of a group, which has enough: no more values were
 * met than it can have. */
static uint64_t spread(uint64_t number, uint64_t bits)
{
	uint64_t tag = 0;

	for (; number; number >>= 1) {
		const uint64_t lowest = bits & -bits;

		if (number & 1)
			tag |= lowest;
		bits &= ~lowest;
	}
	return tag;
}

static bool number_of(struct qv_table *numbers, uint64_t value, uint64_t *number)
{
	return qv_table_number(numbers, value, number) || qv_trace_no_memory();
}

static bool change_tag(struct anonymous *a, struct qv_trace_event *e)
{
	const uint64_t before = e->tag;

	e->tag = 0;
	for (size_t i = 0; i < a->groups_n; i++) {
		struct group *group = &a->groups[i];
		const uint64_t ignored = group->bits & e->ignore;
		uint64_t number;

		if (ignored && ignored != group->bits) {
			fprintf(stderr, "quiver: %s has changed while it was read\n",
				a->copy.in.path);
			return false;
		}
		if (ignored)
			continue;
		if (!number_of(&group->values, before & group->bits, &number))
			return false;
		e->tag |= spread(number, group->bits);
	}
	return true;
}

static bool change_event(struct anonymous *a, struct qv_trace_event *e)
{
	const bool has_key = e->kind != QV_TRACE_TAKE && e->kind != QV_TRACE_CANCEL;
	uint64_t number;

	e->ns -= e->ns < a->first ? e->ns : a->first;
	if (has_key && e->src != QV_SRC_ANY) {
		if (!number_of(&a->sources, e->src, &number))
			return false;
		e->src = (uint32_t)number;
	}
	if (e->node) {
		if (!number_of(&a->nodes, e->node, &number))
			return false;
		e->node = number + 1;
	}
	if (has_key)
		return change_tag(a, e);
	e->tag = e->ignore = 0;
	e->src = 0;
	return true;
}

static bool change_name(struct qv_table *numbers, const char *what, char *name)
{
	uint64_t number;

	if (!number_of(numbers, qv_fnv(QV_FNV_START, name, strlen(name)), &number))
		return false;
	snprintf(name, QV_TRACE_NAME, "%s%" PRIu64, what, number);
	return true;
}

static bool change_process(void *ctx, struct qv_trace_process *process)
{
	struct anonymous *a = ctx;
	uint64_t host = qv_fnv(QV_FNV_START, process->host, strlen(process->host)), number;

	if (!change_name(&a->hosts, "host", process->host) ||
	    !change_name(&a->programs, "program", process->program) ||
	    !number_of(&a->pids, qv_fnv(host, &process->pid, sizeof(process->pid)), &number))
		return false;
	process->pid = (uint32_t)number + 1;
	if (!a->replaces_ranks || process->rank < 0)
		return true;
	if (!number_of(&a->ranks, (uint64_t)process->rank, &number))
		return false;
	process->rank = (int32_t)number;
	return true;
}

static bool anonymise(struct anonymous *a, const char *path, const char *output)
{
	struct qv_trace_event event;
	int rc;

	if (!look_through(a, path) || !qv_trace_in_open(&a->copy.in, path) ||
	    !qv_trace_out_open(&a->out, output))
		return false;
	while ((rc = qv_trace_copy_next(&a->copy, &event)) == 1) {
		event.lane = a->copy.lane[event.lane];
		if (!change_event(a, &event) || !qv_trace_out_put(&a->out, event))
			return false;
	}
	if (rc < 0)
		return false;
	qv_trace_in_warn(&a->copy.in);
	if (!qv_trace_out_finish(&a->out, qv_trace_lost(a->copy.in.reader),
				 qv_trace_is_whole(a->copy.in.reader)))
		return false;
	printf("%s: %" PRIu64 " events; %" PRIu64 " hosts, %" PRIu64 " programs, %" PRIu64
	       " sources, %" PRIu64 " nodes, and tags in %zu groups of bits\n",
	       output, a->out.events, a->hosts.n, a->programs.n, a->sources.n, a->nodes.n,
	       a->groups_n);
	return true;
}

static void release(struct anonymous *a)
{
	struct qv_table *const all[] = {&a->sources, &a->nodes,    &a->ranks,
					&a->hosts,   &a->programs, &a->pids};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		qv_table_free(all[i]);
	for (size_t i = 0; i < a->groups_n; i++)
		qv_table_free(&a->groups[i].values);
	qv_trace_copy_close(&a->copy);
	qv_trace_out_close(&a->out);
}

int qv_trace_cmd_anonymise(int argc, char **argv)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"ranks", no_argument, NULL, 'r'},
						{"help", no_argument, NULL, 'h'},
						{.name = NULL}};
	struct anonymous a = {.replaces_ranks = false};
	const char *output = NULL;
	bool done;

	opterr = 0;
	for (int option; (option = getopt_long(argc, argv, ":ho:", options, NULL)) != -1;) {
		switch (option) {
		case 'h': return usage(stdout), 0;
		case 'o': output = optarg; break;
		case 'r': a.replaces_ranks = true; break;
		default: return qv_trace_refuse("anonymise", option, argv);
		}
	}
	if (!qv_trace_files_wanted("anonymise", argc, 1, 1) ||
	    !qv_trace_output_wanted("anonymise", output))
		return 2;
	a.copy.change = change_process;
	a.copy.ctx = &a;
	a.copy.out = &a.out;
	done = anonymise(&a, argv[optind], output);
	release(&a);
	return done ? 0 : 1;
}
