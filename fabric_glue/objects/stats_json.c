/* SPDX-License-Identifier: BSD-2-Clause */
/* stats_json.c - the counters of an endpoint as JSON. */
#include "stats.h"

#include <inttypes.h>
#include <stdlib.h>

#include <quiver/fi_ext.h>

/* A name of the system's, whatever is in it. */
void qv_fi_json_text(FILE *out, const char *text)
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

static void put_queues(FILE *out, const char *kind, const struct qv_match_stats *m,
		       const struct qv_fi_ep *ep, unsigned which)
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
	qv_fi_detail_json(out, ep, which);
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
		{"combine_units", s->combine_units},
		{"packets", s->packets},
		{"copied", s->copied},
		{"pieces", s->pieces},
		{"retaken", s->retaken},
		{"collectives_by_arrival", s->collectives_by_arrival},
	};

	fputs("\n    {\"core\": ", out);
	qv_fi_json_text(out, s->core);
	fprintf(out, ", \"mode\": \"%s\", \"structure\": \"%s\", \"isa\": \"%s\"",
		ep->dom->peer ? "peer" : "layered", s->structure, s->isa);
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		fprintf(out, ",%s\"%s\": %" PRIu64, i % 5 ? " " : "\n     ", counters[i].name,
			counters[i].value);
	put_queues(out, "tagged", &s->tagged, ep, QV_REQ_TAGGED);
	put_queues(out, "untagged", &s->untagged, ep, 0);
	putc('}', out);
}

char *qv_fi_stats_json(const struct qv_fi_ep *ep)
{
	struct qv_fi_stats s;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	ep->mode->collect(ep, &s);
	put_endpoint(out, ep, &s);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}
