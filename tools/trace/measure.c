/* SPDX-License-Identifier: BSD-2-Clause */
/* measure.c - the structures on a trace: checked, then timed in rounds. */
#include "measure.h"
#include "contest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROUNDS 3     /* that are taken even if the time is over */
#define COMPARISONS  200e6 /* of the plain list, for each second of all */
#define CHECK_SHARE  0.25  /* of the time, for checking all structures */

/* Whether a list with commas between has this name. */
static bool is_listed(const char *list, const char *name)
{
	const struct qv_bench_opts opts = {.impls = list};

	return list && qv_bench_impl_wanted(&opts, name);
}

static int find_impls(struct qv_contest *c, const struct qv_measure_options *o)
{
	char all[1024] = "";
	size_t at = 0;

	for (const char *const *s = qv_match_structures(); !o->impls && *s; s++)
		at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s", at ? "," : "", *s);
	return qv_bm_impls_find(&c->impls, o->impls ? o->impls : all, o->plugins, o->plugins_n);
}

/* All of them; if one that is needed is too slow, again with fewer operations. */
static void check_all(struct qv_contest *c, const struct qv_measure_options *o)
{
	const double ns = 1e9 * CHECK_SHARE * o->seconds / (double)c->n;
	bool again = true;

	c->share = 1;
	while (again) {
		again = false;
		for (size_t i = 0; i < c->n && !again; i++) {
			struct qv_contestant *one = &c->at[i];
			double done;

			qv_bench_progress("check %s", one->impl->name);
			done = qv_contest_check(c, one, ns);
			if (done < 1 && is_listed(o->needed, one->impl->name)) {
				c->share *= done / 2;
				again = true;
			}
		}
	}
}

static void time_all(struct qv_contest *c, const struct qv_measure_options *o, double deadline)
{
	for (uint32_t r = 0; r < o->rounds; r++) {
		if (r >= FIRST_ROUNDS && qv_bench_seconds() > deadline)
			break;
		qv_bench_progress("round %u", r + 1);
		for (size_t i = 0; i < c->n; i++)
			qv_contest_turn(c, &c->at[(i + r) % c->n]);
	}
	qv_bench_progress(NULL);
}

static struct qv_bench_interval interval(const double *a, const double *b, size_t rounds)
{
	return rounds ? qv_bench_ratio(a, b, rounds) : (struct qv_bench_interval){NAN, NAN, NAN};
}

static double median_of_process(const struct qv_contestant *one, size_t process, size_t processes)
{
	double values[QV_CONTEST_ROUNDS];

	for (size_t r = 0; r < one->rounds; r++)
		values[r] = one->process_ns[r * processes + process];
	return qv_bench_median(values, one->rounds);
}

static void sum_up(struct qv_measure_figure *f, struct qv_contestant *one,
		   const struct qv_contest *c, const struct qv_contestant *hero)
{
	const struct qv_pass_counts *n = &one->counts;
	const size_t both = hero && hero->rounds < one->rounds ? hero->rounds : one->rounds;
	double ones[QV_CONTEST_ROUNDS];

	for (size_t r = 0; r < QV_CONTEST_ROUNDS; r++)
		ones[r] = 1;
	snprintf(f->name, sizeof(f->name), "%s", one->impl->name);
	snprintf(f->answer, sizeof(f->answer), "%s", one->answer);
	f->measured = one->in && one->rounds;
	f->wrong = one->wrong;
	f->ratio = f->ns = interval(NULL, NULL, 0);
	if (!f->measured)
		return;
	f->rounds = (uint32_t)one->rounds;
	f->ns = interval(one->means, ones, one->rounds);
	f->ratio = interval(one->means, hero ? hero->means : NULL, hero ? both : 0);
	f->p50 = qv_bench_percentile(one->samples, one->samples_n, 0.5);
	f->p99 = qv_bench_percentile(one->samples, one->samples_n, 0.99);
	f->inspected_hit =
		n->hits && one->impl->own ? (double)n->inspected_hit / (double)n->hits : NAN;
	f->inspected_miss =
		n->misses && one->impl->own ? (double)n->inspected_miss / (double)n->misses : NAN;
	f->inspected = n->inspected_hit + n->inspected_miss;
	f->stats = n->stats;
	f->memory = n->memory;
	f->process_ns = qv_measure_need(calloc(c->load->processes_n + 1, sizeof(double)));
	for (size_t p = 0; p < c->load->processes_n; p++)
		f->process_ns[p] = median_of_process(one, p, c->load->processes_n);
}

static void report(struct qv_measure *m, struct qv_contest *c)
{
	const struct qv_contestant *hero = NULL;

	m->n = c->n;
	m->share = c->share;
	m->processes_n = c->load->processes_n;
	m->at = qv_measure_need(calloc(c->n, sizeof(*m->at)));
	for (size_t i = 0; i < c->load->lanes_n; i++)
		m->operations += qv_contest_ops(c, &c->load->lanes[i]);
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->at[i].impl->name, "auto") == 0 && c->at[i].in && c->at[i].rounds)
			hero = &c->at[i];
	for (size_t i = 0; i < c->n; i++)
		sum_up(&m->at[i], &c->at[i], c, hero);
}

int qv_measure(struct qv_measure *m, const struct qv_load *load,
	       const struct qv_measure_options *options)
{
	const double deadline = qv_bench_seconds() + options->seconds;
	struct qv_measure_options o = *options;
	struct qv_contest c = {.load = load};
	char why[1024];
	int status;

	*m = (struct qv_measure){.n = 0};
	o.rounds = o.rounds < QV_CONTEST_ROUNDS ? o.rounds : QV_CONTEST_ROUNDS;
	status = find_impls(&c, &o);
	if (!status &&
	    qv_plain(&m->plain, load, (uint64_t)(COMPARISONS * o.seconds), why, sizeof(why))) {
		fprintf(stderr, "quiver: %s\n", why);
		status = 1;
	}
	if (!status) {
		qv_bench_tick_ns();
		qv_contest_begin(&c, o.collective);
		check_all(&c, &o);
		time_all(&c, &o, deadline);
		report(m, &c);
		qv_contest_end(&c);
	}
	qv_bm_impls_free(&c.impls);
	return status;
}

void qv_measure_free(struct qv_measure *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->at[i].process_ns);
	free(m->at);
	*m = (struct qv_measure){.n = 0};
}

const struct qv_measure_figure *qv_measure_find(const struct qv_measure *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->at[i].name, name) == 0)
			return &m->at[i];
	return NULL;
}
