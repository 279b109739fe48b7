/* SPDX-License-Identifier: BSD-2-Clause */
/* stats_process.c - the counters of one process, from its file; and the sums of several. */
#include "stats.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void larger(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

/* JSON has no more: what lies beyond stays there. */
static void add(uint64_t *sum, uint64_t value)
{
	*sum = value > INT64_MAX - *sum ? INT64_MAX : *sum + value;
}

static void add_queues(struct qv_stats_counters *c, const json_t *queues)
{
	add(&c->arrived, qv_stats_number(queues, "arrived"));
	add(&c->matched, qv_stats_number(queues, "matched"));
	add(&c->unexpected, qv_stats_number(queues, "unexpected"));
	add(&c->inspected, qv_stats_number(queues, "inspected"));
	add(&c->mode_changes, qv_stats_number(queues, "mode_changes"));
	larger(&c->posted_max, qv_stats_number(queues, "posted_max"));
	larger(&c->unexpected_max, qv_stats_number(queues, "unexpected_max"));
}

void qv_stats_add(struct qv_stats_counters *sum, const struct qv_stats_counters *c)
{
	add(&sum->arrived, c->arrived);
	add(&sum->matched, c->matched);
	add(&sum->unexpected, c->unexpected);
	add(&sum->inspected, c->inspected);
	larger(&sum->posted_max, c->posted_max);
	larger(&sum->unexpected_max, c->unexpected_max);
	larger(&sum->bytes_max, c->bytes_max);
}

static bool is_int(const json_t *value, int least)
{
	const json_int_t n = json_integer_value(value);

	return json_is_integer(value) && n >= least && n <= INT_MAX;
}

int qv_stats_process_read(const json_t *root, struct qv_stats_process *p,
			  struct qv_stats_detail *detail)
{
	const json_t *endpoints = json_object_get(root, "endpoints"), *endpoint;
	const char *host = json_string_value(json_object_get(root, "host")), *structure;
	size_t i, cut;

	if (!json_is_string(json_object_get(root, "quiver")) || !json_is_array(endpoints) ||
	    !host || !is_int(json_object_get(root, "rank"), -1) ||
	    !is_int(json_object_get(root, "pid"), 0))
		return 0;
	*p = (struct qv_stats_process){
		.automatic = true,
		.rank = (int)json_integer_value(json_object_get(root, "rank")),
		.pid = (int)json_integer_value(json_object_get(root, "pid"))};
	cut = strnlen(host, sizeof p->host);
	while (cut == sizeof p->host || (cut && (host[cut] & 0xC0) == 0x80))
		cut--; /* not within a character of UTF-8 */
	snprintf(p->host, sizeof p->host, "%.*s", (int)cut, host);
	json_array_foreach(endpoints, i, endpoint)
	{
		add_queues(&p->c, json_object_get(endpoint, "tagged"));
		add_queues(&p->c, json_object_get(endpoint, "untagged"));
		structure = json_string_value(json_object_get(endpoint, "structure"));
		p->automatic = p->automatic && structure && strcmp(structure, "auto") == 0;
		larger(&p->c.bytes_max, qv_stats_number(endpoint, "unexpected_bytes_max"));
		if (!qv_stats_detail_add(detail, json_object_get(endpoint, "tagged"), p->rank) ||
		    !qv_stats_detail_add(detail, json_object_get(endpoint, "untagged"), p->rank))
			return -1;
	}
	return 1;
}
