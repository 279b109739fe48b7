/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_stats.c - FI_QUIVER_STATS=1: what an endpoint did, on stderr when it closes. */
#include "qv_fi_data.h"

#include <stdio.h>
#include <unistd.h>

static void print_queue(const char *kind, const struct qv_match_stats *m)
{
	if (m->posted == 0 && m->arrived == 0)
		return;
	fprintf(stderr,
		"quiver: [%d]   %s: %llu receives posted, %llu messages, %llu matched, %llu "
		"unexpected, %llu entries inspected, posted queue at most %llu, unexpected at most "
		"%llu, %llu mode changes\n",
		(int)getpid(), kind, (unsigned long long)m->posted, (unsigned long long)m->arrived,
		(unsigned long long)m->matched, (unsigned long long)m->unexpected,
		(unsigned long long)m->inspected, (unsigned long long)m->posted_max,
		(unsigned long long)m->unexpected_max, (unsigned long long)m->mode_flips);
}

void qv_fi_stats_print(const struct qv_fi_ep *ep)
{
	struct qv_match *engine = qv_proto_engine(ep->proto, true);
	struct qv_proto_stats s;

	qv_proto_get_stats(ep->proto, &s);
	fprintf(stderr,
		"quiver: [%d] endpoint over %s, matching %s/%s: %llu eager and %llu rendezvous "
		"sends, %llu over budget, %llu queued, at most %llu bytes of unexpected payload, "
		"%llu packets refused\n",
		(int)getpid(), ep->dom->fabric->core_name, qv_match_structure(engine),
		qv_isa_name(qv_match_isa(engine)), (unsigned long long)s.eager,
		(unsigned long long)s.rndv, (unsigned long long)s.over_budget,
		(unsigned long long)s.queued, (unsigned long long)s.unexpected_bytes_max,
		(unsigned long long)s.refused);
	print_queue("tagged", &s.tagged);
	print_queue("untagged", &s.untagged);
}
