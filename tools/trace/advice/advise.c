/* SPDX-License-Identifier: BSD-2-Clause */
/* advise.c - `quiver trace advise`: measures, has it judged (advice.c) and said (advise_text.c). */
#include "advise.h"
#include "command.h"
#include "tools/trace/commands.h"

#include <math.h>
#include <stdlib.h>

#define LONG         0.5 /* of the longest process's time: shorter ones are not judged */
#define AGAIN_ROUNDS 11  /* of the structure that may be worth a setting */

struct options {
	struct qv_bench_opts common;
	struct qv_advice_choice choice;
	long seconds;
};

static void help(void)
{
	printf("usage: quiver trace advise [options] FILE...\n\n"
	       "Would quiver help this program, by how much, and with which setting? What its matching\n"
	       "costs is measured on this machine: by a plain list, as libfabric's providers have it, by\n"
	       "lists for each source, as Open MPI's ob1 has them, and by quiver's structures.\n\n"
	       "  --rank N        only this rank\n"
	       "  --lane N        only this lane, counted from 0 through all files\n"
	       "  --seconds N     measure about so long (20)\n"
	       "  --max-events N  refuse more events than these (%d)\n"
	       "  --json FILE     write the answer as JSON\n"
	       "  --help          this text\n",
	       QV_LOAD_EVENTS);
}

/* What is judged. */

static double share(const struct qv_advise_job *j, const struct qv_measure_figure *f,
		    size_t process)
{
	/* Where a part was measured, the rest is taken to cost the same. */
	return j->wall[process] > 0 ? f->process_ns[process] / j->m->share / j->wall[process] : NAN;
}

static void find_times(struct qv_advise_job *j)
{
	uint64_t *first = qv_measure_need(calloc(j->load->processes_n, sizeof(*first)));

	j->wall = qv_measure_need(calloc(j->load->processes_n, sizeof(*j->wall)));
	for (size_t p = 0; p < j->load->processes_n; p++)
		first[p] = UINT64_MAX;
	for (size_t i = 0; i < j->load->lanes_n; i++) {
		const struct qv_load_lane *lane = &j->load->lanes[i];
		uint64_t *mine = &first[lane->info.process];

		*mine = *mine < lane->first_ns ? *mine : lane->first_ns;
	}
	for (size_t i = 0; i < j->load->lanes_n; i++) {
		const struct qv_load_lane *lane = &j->load->lanes[i];
		double *wall = &j->wall[lane->info.process];

		*wall = fmax(*wall, (double)(lane->last_ns - first[lane->info.process]));
		j->posted_max = lane->posted_max > j->posted_max ? lane->posted_max : j->posted_max;
		j->unexpected_max = lane->unexpected_max > j->unexpected_max ? lane->unexpected_max
									     : j->unexpected_max;
	}
	free(first);
}

/* The program waits for its slowest process. One that was recorded for a moment only says nothing. */
static void find_judged(struct qv_advise_job *j)
{
	double longest = 0, most = -1;

	for (size_t p = 0; p < j->load->processes_n; p++)
		longest = fmax(longest, j->wall[p]);
	for (size_t p = 0; p < j->load->processes_n; p++) {
		const double mine = share(j, j->list, p);

		if (j->wall[p] < LONG * longest || !(mine > most))
			continue;
		most = mine;
		j->judged = p;
	}
}

static struct qv_advice_cost cost(const struct qv_advise_job *j, const struct qv_measure_figure *f)
{
	const double operations = (double)j->load->operations;
	const double messages = (double)(j->load->arrivals ? j->load->arrivals : 1);

	return (struct qv_advice_cost){f->ns.value * operations / messages, share(j, f, j->judged)};
}

/* Its cost in that of auto, once more and in the same way: between all others, whose turns leave the
 * caches to nobody, as a program does. */
static struct qv_bench_interval again(const struct qv_load *load, const char *name, double seconds)
{
	struct qv_bench_interval ratio = {NAN, NAN, NAN};
	char both[QV_BENCH_NAME + 8];
	const struct qv_measure_options options = {
		.needed = both, .rounds = AGAIN_ROUNDS, .seconds = seconds};
	struct qv_measure m;

	snprintf(both, sizeof(both), "auto,%s", name);
	if (qv_measure(&m, load, &options))
		return ratio;
	ratio = qv_measure_find(&m, name)->ratio;
	qv_measure_free(&m);
	return ratio;
}

static void find_cheapest(const struct qv_advise_job *j, double seconds,
			  struct qv_advice_facts *facts)
{
	const struct qv_measure *m = j->m;
	struct qv_advice_trial *trials = qv_measure_need(calloc(m->n, sizeof(*trials)));
	struct qv_bench_interval ratio;

	for (size_t i = 0; i < m->n; i++)
		trials[i] = (struct qv_advice_trial){m->at[i].name, m->at[i].ratio.value};
	facts->cheapest = qv_advice_candidate(trials, m->n);
	free(trials);
	if (!facts->cheapest)
		return;
	ratio = again(j->load, facts->cheapest, seconds);
	facts->ratio = ratio.value;
	facts->ratio_high = ratio.high;
}

static struct qv_advice_facts facts_of(const struct qv_advise_job *j, double seconds)
{
	struct qv_advice_facts f = {.list = cost(j, j->list),
				    .ob1 = cost(j, j->ob1),
				    .quiver = cost(j, j->quiver),
				    .measured = j->m->share,
				    .operations = j->load->operations,
				    .left_out = j->load->left_out,
				    .lost = j->load->lost,
				    .whole = j->load->whole};

	for (size_t i = 0; i < j->load->lanes_n; i++) {
		const struct qv_load_lane *lane = &j->load->lanes[i];

		if (lane->info.process == j->judged)
			f.messages += lane->arrivals;
		if (lane->info.queue != QV_TRACE_TAGGED)
			continue;
		f.wanted += lane->wanted;
		f.any_source += lane->any_source;
		f.any_tag += lane->any_tag;
	}
	find_cheapest(j, seconds, &f);
	return f;
}

/* The command. */

static int advise(const void *ctx, const struct qv_load *load)
{
	const struct options *o = ctx;
	/* Those that are compared are needed, and the others compete. */
	const struct qv_measure_options options = {
		.needed = "auto,ll,ompi", .rounds = 7, .seconds = 0.5 * (double)o->seconds};
	struct qv_measure m;
	struct qv_advise_job j = {.load = load, .m = &m};
	int status = qv_measure(&m, load, &options);

	if (status)
		return status;
	j.list = qv_measure_find(&m, "ll");
	j.ob1 = qv_measure_find(&m, "ompi");
	j.quiver = qv_measure_find(&m, "auto");
	if (j.list->measured && j.ob1->measured && j.quiver->measured) {
		struct qv_advice_facts facts;
		struct qv_advice advice;

		find_times(&j);
		find_judged(&j);
		facts = facts_of(&j, 0.5 * (double)o->seconds);
		advice = qv_advise(&facts);
		qv_advise_print(&j, &facts, &advice);
		status = o->common.json ? qv_advise_json(&j, &facts, &advice, &o->common) : 0;
		free(j.wall);
	} else {
		fprintf(stderr, "quiver: no advice: ll: %s; ompi: %s; auto: %s\n", j.list->answer,
			j.ob1->answer, j.quiver->answer);
		status = 1;
	}
	qv_measure_free(&m);
	return status;
}

int qv_trace_cmd_advise(int argc, char **argv)
{
	struct options o = {.choice = QV_ADVICE_ALL, .seconds = 20};
	const struct qv_bench_option all[] = {
		{"seconds", .number = &o.seconds, .low = 1, .high = 100000},
		QV_ADVICE_CHOICES(&o.choice),
		{"json", .take = qv_bench_take_json, .ctx = &o.common},
		{.name = NULL},
	};
	const int status =
		qv_advice_command("trace advise", argc, argv, all, &o.choice, help, advise, &o);

	qv_bench_opts_close(&o.common);
	return status;
}
