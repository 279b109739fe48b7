/* SPDX-License-Identifier: BSD-2-Clause */
/* stats_param.c - FI_QUIVER_STATS: where the counters go, how much is counted, and when it is written. */
#include "fabric_glue/provider.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INTERVAL_MOST 86400ul /* s */

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Options. `value` is what follows the =, `len` characters of it. */

static bool take_detail(struct qv_fi_stats_params *p, const char *value, size_t len)
{
	(void)value, (void)len;
	p->detail = true;
	return true;
}

static bool take_interval(struct qv_fi_stats_params *p, const char *value, size_t len)
{
	unsigned long seconds = 0;

	for (size_t i = 0; i < len && seconds <= INTERVAL_MOST; i++) {
		if (value[i] < '0' || value[i] > '9')
			return false;
		seconds = 10 * seconds + (unsigned long)(value[i] - '0');
	}
	p->interval = (unsigned)seconds * 1000;
	return seconds > 0 && seconds <= INTERVAL_MOST;
}

static bool take_signal(struct qv_fi_stats_params *p, const char *value, size_t len)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}};

	for (size_t i = 0; i < COUNT(signals); i++)
		if (strlen(signals[i].name) == len && !strncasecmp(signals[i].name, value, len)) {
			p->signal = signals[i].number;
			return true;
		}
	return false;
}

static const struct {
	const char *name;
	bool (*take)(struct qv_fi_stats_params *p, const char *value, size_t len);
	bool valued;
} options[] = {
	{"detail", take_detail, false},
	{"interval", take_interval, true},
	{"signal", take_signal, true},
};

static bool take_option(struct qv_fi_stats_params *p, const char *text, size_t len)
{
	for (size_t i = 0; i < COUNT(options); i++) {
		size_t name = strlen(options[i].name);

		if (len >= name && !strncmp(text, options[i].name, name) &&
		    (options[i].valued ? len > name && text[name] == '=' : len == name))
			return options[i].take(p, text + name + options[i].valued,
					       len - name - options[i].valued);
	}
	return false;
}

/* Where it goes, behind the options. */

static bool is_form(const char *text, const char *form)
{
	return !strncmp(text, form, strlen(form));
}

static bool take_switch(const char *text, bool *on)
{
	static const char *const words[] = {"0", "no", "off", "false", "1", "yes", "on", "true"};

	for (size_t i = 0; i < COUNT(words); i++)
		if (!strcasecmp(text, words[i])) {
			*on = i >= COUNT(words) / 2;
			return true;
		}
	return false;
}

static bool take_file(const char **file, const char *pattern, char *why, size_t size)
{
	char *own = qv_file_absolute(pattern);

	if (!own) {
		snprintf(why, size, "no memory");
		return false;
	}
	if (!qv_file_writable(own, ".part", why, size)) {
		free(own);
		return false;
	}
	*file = own;
	return true;
}

static bool take_form(struct qv_fi_stats_params *p, const char *text, char *why, size_t size)
{
	const bool options_set = p->detail || p->interval || p->signal;

	if (is_form(text, "json:"))
		return take_file(&p->out, text + strlen("json:"), why, size);
	if (options_set) {
		snprintf(why, size,
			 "detail, interval= and signal= are about a file: json:FILE comes behind "
			 "them");
		return false;
	}
	if (is_form(text, "profile:"))
		return take_file(&p->profile, text + strlen("profile:"), why, size);
	if (take_switch(text, &p->lines))
		return true;
	snprintf(
		why, size,
		"not known; known: 0 1 no yes off on false true json:FILE profile:FILE, and before "
		"json: detail: interval=SECONDS: signal=USR1|USR2|HUP:");
	return false;
}

bool qv_fi_stats_parse(const char *text, struct qv_fi_stats_params *stats, char *why, size_t size)
{
	struct qv_fi_stats_params p = {.lines = false};
	size_t len;

	while (!is_form(text, "json:") && !is_form(text, "profile:") &&
	       text[len = strcspn(text, ":")]) {
		if (!take_option(&p, text, len)) {
			snprintf(why, size,
				 "%.*s is no option; there are detail, interval=SECONDS from 1 to "
				 "%lu, signal=USR1, signal=USR2 and signal=HUP",
				 (int)(len < 64 ? len : 64), text, INTERVAL_MOST);
			return false;
		}
		text += len + 1;
	}
	if (!take_form(&p, text, why, size))
		return false;
	*stats = p;
	return true;
}
