/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats_file.c - FI_QUIVER_STATS=json:FILE: the counters of all endpoints of the process, and whose they
 * are, as one JSON object; `quiver stats` reads it.
 */
#include "fabric_glue/data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <quiver/fi_ext.h>

/* The endpoints that have ended so far, as a list without its brackets. */
static struct {
	pthread_mutex_t lock;
	char *text;
} ended = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A name of the system's, whatever is in it. */
static void put_text(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			putc(*text, out);
	putc('"', out);
}

static void put_queues(FILE *out, const char *kind, const struct qv_match_stats *m)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{"posted", m->posted},
		{"arrived", m->arrived},
		{"matched", m->matched},
		{"unexpected", m->unexpected},
		{"inspected", m->inspected},
		{"posted_now", m->posted_now},
		{"posted_max", m->posted_max},
		{"unexpected_now", m->unexpected_now},
		{"unexpected_max", m->unexpected_max},
		{"mode_changes", m->mode_flips},
	};

	fprintf(out, ",\n     \"%s\": {", kind);
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", counters[i].name,
			counters[i].value);
	putc('}', out);
}

static void put_endpoint(FILE *out, const struct qv_fi_ep *ep, const struct qv_fi_stats *s)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{"eager", s->eager},
		{"rendezvous", s->rendezvous},
		{"over_budget", s->over_budget},
		{"queued", s->queued},
		{"refused", s->refused},
		{"peers", s->peers},
		{"unexpected_bytes_max", s->unexpected_bytes_max},
		{"node_mapped", s->node_mapped},
		{"node_touched", s->node_touched},
		{"collectives", s->collectives},
		{"collectives_memory", s->collectives_memory},
		{"packets", s->packets},
		{"copied", s->copied},
		{"pieces", s->pieces},
		{"retaken", s->retaken},
	};

	fputs("\n    {\"core\": ", out);
	put_text(out, s->core);
	fprintf(out, ", \"mode\": \"%s\", \"structure\": \"%s\", \"isa\": \"%s\"",
		ep->dom->peer ? "peer" : "layered", s->structure, s->isa);
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		fprintf(out, ",%s\"%s\": %" PRIu64, i % 5 ? " " : "\n     ", counters[i].name,
			counters[i].value);
	put_queues(out, "tagged", &s->tagged);
	put_queues(out, "untagged", &s->untagged);
	putc('}', out);
}

/* One more in the list. False: no memory; it is as before. */
static bool add(const struct qv_fi_ep *ep)
{
	struct qv_fi_stats s;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return false;
	ep->mode->collect(ep, &s);
	if (ended.text)
		fprintf(out, "%s,", ended.text);
	put_endpoint(out, ep, &s);
	if (fclose(out)) {
		free(text);
		return false;
	}
	free(ended.text);
	ended.text = text;
	return true;
}

static int write_all(FILE *file)
{
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	fprintf(file,
		"{\"quiver\": \"%s\", \"rank\": %d, \"pid\": %d,\n \"host\": ", QUIVER_VERSION,
		qv_file_rank(), (int)getpid());
	put_text(file, host);
	fputs(", \"program\": ", file);
	put_text(file, program_invocation_short_name);
	fprintf(file, ",\n \"endpoints\": [%s]}\n", ended.text);
	return ferror(file);
}

void qv_fi_stats_file_add(const struct qv_fi_ep *ep, const char *pattern)
{
	char path[4096];
	const char *why = "";
	FILE *file;
	int bad;

	pthread_mutex_lock(&ended.lock);
	if (!add(ep))
		qv_fi_warn("the counters of an endpoint are not in a file: no memory");
	else if (!qv_file_name(pattern, path, sizeof path, &why))
		qv_fi_warn("no counters are written: %s", why);
	else if (!(file = fopen(path, "we")))
		qv_fi_warn("the counters cannot be written to %s: %s", path, strerror(errno));
	else {
		bad = write_all(file);
		if (fclose(file) || bad)
			qv_fi_warn("the counters in %s are not whole: %s", path, strerror(errno));
	}
	pthread_mutex_unlock(&ended.lock);
}
