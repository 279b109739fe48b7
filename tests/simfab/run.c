/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.c - one life of the world: rounds of storm, in which the applications work and faults
 * happen, and of rest, in which all that is under way must come to its end.
 */
#include "app.h"
#include "fab.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fabric_glue/cores/core.h"

#define REST_LIMIT (90 * SF_S) /* of simulated time: all is over by then */
#define STEP_MAX   (2 * SF_MS)

static uint64_t step; /* ns that pass while everybody looks once */

void sf_say(const char *format, ...)
{
	va_list args;

	printf("%12.6f  ", (double)sf.now / 1e9);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void print_config(void)
{
	const struct sf_config *c = &sf.cfg;
	bool first = true;

	printf("--seed %llu --core '%s' --version %u.%u --procs %u --hosts %u --ops %u --large %u "
	       "--rounds %llu --packets %llu --faults ",
	       (unsigned long long)c->seed, c->core, FI_MAJOR(c->version), FI_MINOR(c->version),
	       c->procs, c->hosts, c->ops, c->large, (unsigned long long)c->rounds,
	       (unsigned long long)c->packets);
	for (unsigned f = 0; f < SF_FAULTS; f++)
		if (c->faults >> f & 1) {
			printf("%s%s", first ? "" : ",", sf_fault_names[f]);
			first = false;
		}
	printf("%s\n", first ? "none" : "");
}

void sf_broken(const char *format, ...)
{
	va_list args;

	printf("BROKEN at %.6f s after %llu packets: ", (double)sf.now / 1e9,
	       (unsigned long long)sf.carried);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n  replay: ");
	print_config();
	fflush(stdout);
	_Exit(1);
}

/* Storm. */

static void strike_app(struct sf_app *a)
{
	if (sf_strikes(SF_NOPOLL, 3000))
		a->asleep_until = sf.now + qv_random_below(&sf.rnd_fault, SF_S);
	if (sf_strikes(SF_CHURN, 500))
		sf_app_churn(a, (unsigned)qv_random_below(&sf.rnd_fault, sf.cfg.procs));
	if (sf_strikes(SF_CLOCK, 2000))
		a->proc->ahead += qv_random_below(&sf.rnd_fault, 20 * SF_S);
	if (sf_strikes(SF_KILL, 4000))
		sf_app_kill(a, false);
	else if (sf_strikes(SF_POWER, 8000))
		sf_app_kill(a, true);
	else if (sf_strikes(SF_REOPEN, 2000))
		sf_app_close(a);
}

/* Everybody's turn. */

static void turn(struct sf_app *a)
{
	switch (a->state) {
	case SF_DOWN:
		if (sf.now >= a->down_until || !sf.storm)
			sf_app_open(a);
		return;
	case SF_CLOSING: sf_app_go_on(a); return;
	case SF_UP: break;
	}
	if (sf.storm)
		strike_app(a);
	if (a->state != SF_UP || (sf.storm && sf.now < a->asleep_until))
		return;
	while (sf_poll(a) && qv_random_percent(&sf.rnd_sched, 80))
		;
	if (sf.storm)
		sf_work_some(a);
	else
		sf_work_drain(a);
}

/* Time goes faster while nothing happens. */
static void everybody(void)
{
	uint64_t before = sf.activity;
	unsigned n = sf.cfg.procs, first = (unsigned)qv_random_below(&sf.rnd_sched, n);

	for (unsigned i = 0; i < n; i++) {
		unsigned slot = qv_random_percent(&sf.rnd_sched, 30)
					? (unsigned)qv_random_below(&sf.rnd_sched, n)
					: (first + i) % n;

		turn(&sf_apps[slot]);
		sf.now += step / n + 1;
	}
	if (sf.activity != before)
		step = 2 * SF_US;
	else if (step < STEP_MAX)
		step *= 2;
}

/* Rounds. */

static bool is_busy(void)
{
	for (unsigned s = 0; s < sf.cfg.procs; s++)
		if (sf_apps[s].state == SF_UP && sf_apps[s].todo)
			return true;
	return false;
}

static void storm(void)
{
	uint64_t end = sf.now + 60 * SF_S;

	sf.storm = true;
	sf.nomem = 300;
	for (unsigned s = 0; s < sf.cfg.procs; s++)
		sf_apps[s].todo = 1 + (unsigned)qv_random_below(&sf.rnd_work, sf.cfg.ops);
	while (is_busy() && sf.now < end && sf.carried < sf.cfg.packets)
		everybody();
	sf.storm = false;
}

/* Memory of an application at rest does not depend on how long it has run. */
static void check_memory(struct sf_app *a)
{
	a->rests++;
	if (a->rests == 3)
		a->rest_bytes = a->proc->bytes;
	if (a->rests > 3 && a->proc->bytes > 2 * a->rest_bytes + (256u << 10))
		sf_broken("%u.%u holds %zu bytes at rest, and held %zu before", a->slot, a->life,
			  a->proc->bytes, a->rest_bytes);
}

/* Once to each that somebody has lost something to. */
static bool is_probed(const struct sf_msg *m)
{
	const struct sf_msg *o = sf_apps[m->to].coming;

	while (o != m &&
	       (o->from != m->from || o->from_life != m->from_life || !o->done || o->orphan))
		o = o->next;
	return o != m;
}

/* Who has lost something and was told nothing must hear of it when he sends again. */
static void probe(void)
{
	for (unsigned s = 0; s < sf.cfg.procs; s++)
		for (struct sf_msg *m = sf_apps[s].coming, *next; m; m = next) {
			struct sf_app *from = &sf_apps[m->from];

			next = m->next;
			if (m->done && !m->orphan && from->life == m->from_life &&
			    from->state == SF_UP && !is_probed(m))
				sf_work_send(from, s, true);
		}
}

static void rest(void)
{
	uint64_t end = sf.now + REST_LIMIT, probed = sf.now + REST_LIMIT / 2;

	while (!sf_law_at_rest() && sf.now < end) {
		everybody();
		if (sf.now >= probed) {
			probe();
			probed = end;
		}
	}
	sf_law_judge();
	for (unsigned s = 0; s < sf.cfg.procs; s++) {
		sf_work_cancel_all(&sf_apps[s]);
		check_memory(&sf_apps[s]);
	}
}

static void end(void)
{
	bool open = true;

	for (unsigned s = 0; s < sf.cfg.procs; s++)
		sf_app_close(&sf_apps[s]);
	while (open) {
		open = false;
		for (unsigned s = 0; s < sf.cfg.procs; s++) {
			if (sf_apps[s].state == SF_CLOSING)
				sf_app_go_on(&sf_apps[s]);
			open |= sf_apps[s].state == SF_CLOSING;
		}
		sf.now += 50 * SF_US;
	}
	sf_buf_check_all();
}

static void summary(void)
{
	printf("ok: %llu packets, %.3f s, trace %016llx;", (unsigned long long)sf.carried,
	       (double)sf.now / 1e9, (unsigned long long)sf.trace);
	for (unsigned f = 0; f < SF_FAULTS; f++)
		if (sf.happened[f])
			printf(" %s %llu", sf_fault_names[f], (unsigned long long)sf.happened[f]);
	printf("\n  was: ");
	print_config();
}

void sf_run(const struct sf_config *cfg)
{
	uint64_t seed = cfg->seed;

	sf.cfg = *cfg;
	sf.now = SF_S;
	sf.rnd_net = qv_random(&seed);
	sf.rnd_work = qv_random(&seed);
	sf.rnd_fault = qv_random(&seed);
	sf.rnd_sched = qv_random(&seed);
	sf.rnd_id = qv_random(&seed);
	step = 2 * SF_US;
	sf_host_init();
	qv_fi_params_init();
	sf_app_init(cfg->procs);
	/* What is chosen once for a whole process belongs to nobody. */
	if (!qv_fi_params.valid || !qv_fi_core_named("quiver"))
		sf_broken("the core %s is not taken", cfg->core);
	for (unsigned s = 0; s < cfg->procs; s++)
		sf_app_open(&sf_apps[s]);
	for (uint64_t r = 0; r < cfg->rounds && sf.carried < cfg->packets; r++) {
		storm();
		rest();
	}
	end();
	summary();
	fflush(stdout);
	_Exit(0);
}
