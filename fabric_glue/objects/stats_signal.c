/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats_signal.c - FI_QUIVER_STATS=signal=NAME: the handler only notes that the signal has come, and
 * calls the one that was there before. A handler that the program sets later takes our place.
 */
#include "stats.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_uint came, answered;
static int ours; /* the signal, 0: none */
static struct sigaction before;

static void on_signal(int number, siginfo_t *info, void *context)
{
	atomic_fetch_add(&came, 1);
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(number);
}

/* Who puts a handler before ours may call it for as long as the process lives. */
static void stay_loaded(void)
{
	Dl_info me;

	if (dladdr(&ours, &me))
		dlopen(me.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void qv_fi_stats_signal_begin(int number)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	if (!number || ours || sigaction(number, NULL, &before))
		return;
	stay_loaded();
	action.sa_mask = before.sa_mask;
	if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)
		action.sa_flags |= SA_RESTART;
	else
		action.sa_flags |= before.sa_flags & (SA_RESTART | SA_ONSTACK | SA_NODEFER);
	if (sigaction(number, &action, NULL) == 0)
		ours = number;
}

bool qv_fi_stats_asked(void)
{
	return atomic_load(&came) != atomic_load(&answered);
}

bool qv_fi_stats_signal_came(void)
{
	unsigned now = atomic_load(&came);

	return atomic_exchange(&answered, now) != now;
}

void qv_fi_stats_signal_end(void)
{
	struct sigaction now;

	if (!ours || sigaction(ours, NULL, &now) || !(now.sa_flags & SA_SIGINFO) ||
	    now.sa_sigaction != on_signal)
		return;
	sigaction(ours, &before, NULL);
	ours = 0;
}
