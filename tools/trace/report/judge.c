/* SPDX-License-Identifier: BSD-2-Clause */
/* judge.c - from figures to advice. */
#include "judge.h"

#include <stdarg.h>
#include <stdio.h>

#include "text.h"

/* Entries that a list compares for a search: below the first, anything is as good; from the second
 * on, the walk is what matching costs. */
#define SHORT 8
#define LONG  32
/* What the walk over one entry costs: README.md, 256 receives before the message take 0.83 us. */
#define ENTRY_NS 3

__attribute__((format(printf, 2, 3))) static void reason(struct qv_judgement *j, const char *text,
							 ...)
{
	va_list args;

	if (j->reasons == QV_JUDGE_REASONS)
		return;
	va_start(args, text);
	vsnprintf(j->reason[j->reasons++], sizeof(j->reason[0]), text, args);
	va_end(args);
}

const char *qv_judge_name(const struct qv_figures_process *p, char *text, size_t size)
{
	if (p->info.rank >= 0)
		snprintf(text, size, "rank %d", p->info.rank);
	else
		snprintf(text, size, "process %u", p->info.pid);
	return text;
}

static uint64_t lane_steps(const struct qv_figures_lane *l)
{
	return qv_figures_steps(&l->search[0]) + qv_figures_steps(&l->search[1]);
}

/* Entries compared for a message: when it comes, when its receive is posted, and by probes. */
static double lane_mean(const struct qv_figures_lane *l)
{
	return l->messages ? (double)lane_steps(l) / (double)l->messages : 0;
}

static void find_busiest(struct qv_judgement *j, const struct qv_figures *f)
{
	j->lane = f->lanes_n;
	for (uint32_t i = 0; i < f->lanes_n; i++) {
		const uint64_t steps = lane_steps(&f->lanes[i]);

		j->all += steps;
		if (steps > j->steps) {
			j->steps = steps;
			j->lane = i;
		}
	}
}

/* Processes that have a lane with long walks. */
static uint32_t count_deep(const struct qv_figures *f, double least)
{
	uint32_t n = 0, last = UINT32_MAX;

	/* Lanes of a process come after each other, as a rule; one that is counted twice changes a
	 * word only. */
	for (uint32_t i = 0; i < f->lanes_n; i++)
		if (lane_mean(&f->lanes[i]) >= least && f->lanes[i].process != last) {
			last = f->lanes[i].process;
			n++;
		}
	return n < f->processes_n ? n : f->processes_n;
}

static const char *where(const struct qv_figures *f, const struct qv_judgement *j, double least,
			 char *text, size_t size)
{
	const uint32_t deep = count_deep(f, least);
	char name[32];

	if (f->processes_n == 1)
		*text = '\0';
	else if (deep <= 1)
		snprintf(text, size, " on %s",
			 qv_judge_name(&f->processes[f->lanes[j->lane].process], name,
				       sizeof(name)));
	else if (deep == f->processes_n)
		snprintf(text, size, " on every rank");
	else
		snprintf(text, size, " on %u of %u ranks", deep, f->processes_n);
	return text;
}

static void say_verdict(struct qv_judgement *j, const struct qv_figures *f)
{
	const double mean = j->lane < f->lanes_n ? lane_mean(&f->lanes[j->lane]) : 0;
	char place[64];

	if (!f->search[0].searches && !f->search[1].searches) {
		j->tone = QV_JUDGE_NOTHING;
		snprintf(j->verdict, sizeof(j->verdict),
			 f->events ? "Nothing can be judged: no search of this trace is whole."
				   : "Nothing can be judged: the trace has no events.");
	} else if (mean < SHORT) {
		j->tone = QV_JUDGE_NO;
		snprintf(j->verdict, sizeof(j->verdict),
			 "Queues are short: quiver would save next to nothing. Where most is "
			 "searched, a list compares %s entries for a message.",
			 qv_text_real(mean).s);
	} else if (mean < LONG) {
		j->tone = QV_JUDGE_LITTLE;
		snprintf(j->verdict, sizeof(j->verdict),
			 "Quiver would help a little%s: a list compares %s entries for a message.",
			 where(f, j, SHORT, place, sizeof(place)), qv_text_real(mean).s);
	} else {
		j->tone = QV_JUDGE_YES;
		snprintf(j->verdict, sizeof(j->verdict),
			 "Quiver would help%s: a list compares %s entries for a message.",
			 where(f, j, LONG, place, sizeof(place)), qv_text_real(mean).s);
	}
}

static void say_cost(struct qv_judgement *j, const struct qv_figures *f)
{
	const struct qv_figures_process *p = &f->processes[f->lanes[j->lane].process];
	const double ns = (double)p->steps * ENTRY_NS, all = (double)(p->last_ns - p->first_ns);
	char name[32];

	qv_judge_name(p, name, sizeof(name));
	reason(j,
	       "The deepest queue of receives held %s, the deepest queue of unexpected messages %s.",
	       qv_text_count(f->search[QV_FIGURES_POSTED].depth_most).s,
	       qv_text_count(f->search[QV_FIGURES_UNEXPECTED].depth_most).s);
	if (f->processes_n > 1)
		reason(j, "%s of all comparisons are those of %s.",
		       qv_text_share(p->steps, j->all).s, name);
	if (all > 0 && ns >= 1000)
		reason(j,
		       "At %d ns an entry, %s would spend about %s of %s on walking plain lists, as "
		       "libfabric's providers have them. Open MPI's ob1 has one for each source and "
		       "walks less: `quiver trace advise` measures both, and quiver.",
		       ENTRY_NS, name, qv_text_time(ns).s, qv_text_time(all).s);
}

static void say_promises(struct qv_judgement *j, const struct qv_figures *f)
{
	const uint64_t *r = f->receives, *p = f->probes;
	const uint64_t source = r[QV_FIGURES_ANY_SOURCE] + r[QV_FIGURES_ANY_BOTH];
	const uint64_t tag = r[QV_FIGURES_ANY_TAG] + r[QV_FIGURES_ANY_BOTH];
	const bool no_source = !source && !p[QV_FIGURES_ANY_SOURCE] && !p[QV_FIGURES_ANY_BOTH];
	const bool no_tag = !tag && !p[QV_FIGURES_ANY_TAG] && !p[QV_FIGURES_ANY_BOTH];

	if (!f->posted)
		return;
	if (no_source || no_tag)
		reason(j, "No receive or probe takes %s: the program could promise that by %s%s%s.",
		       no_source && no_tag ? "any source or any tag"
		       : no_source         ? "any source"
					   : "any tag",
		       no_source ? "mpi_assert_no_any_source" : "",
		       no_source && no_tag ? " and " : "", no_tag ? "mpi_assert_no_any_tag" : "");
	if (source || tag)
		reason(j, "%s of the receives take any source, %s any tag.",
		       qv_text_share(source, f->posted).s, qv_text_share(tag, f->posted).s);
	if (f->queued * 5 > f->arrived)
		reason(j,
		       "%s of the messages came before their receive. Receives that are posted "
		       "earlier save their copy and a search.",
		       qv_text_share(f->queued, f->arrived).s);
}

void qv_judge(struct qv_judgement *j, const struct qv_figures *f)
{
	*j = (struct qv_judgement){.reasons = 0};
	find_busiest(j, f);
	say_verdict(j, f);
	if (j->tone == QV_JUDGE_NOTHING)
		return;
	if (j->lane < f->lanes_n)
		say_cost(j, f);
	say_promises(j, f);
	if (j->tone == QV_JUDGE_YES)
		reason(j, "What to do: run it over quiver (FI_PROVIDER=quiver). No setting is "
			  "needed: FI_QUIVER_MATCH=auto costs the same at any depth.");
	else if (j->tone == QV_JUDGE_LITTLE)
		reason(j,
		       "What to do: try it over quiver (FI_PROVIDER=quiver) with more ranks, where "
		       "queues grow.");
	else
		reason(j, "What to do: nothing. For matching alone, the MPI that you have is good "
			  "enough.");
}
