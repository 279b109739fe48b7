/* SPDX-License-Identifier: BSD-2-Clause */
/* diagnostics.c - lines for the user. */
#include "fabric_glue/provider.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * The ranks of a job share one stderr, and newer C libraries write a long line that was formatted
 * into an unbuffered stream in several pieces: lines of two ranks would mix. A text that is
 * complete goes out in one call.
 */
void qv_fi_print(const char *format, ...)
{
	char text[1024];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (len >= (int)sizeof text)
		strcpy(text + sizeof text - 5, "...\n");
	fputs(text, stderr);
}

static bool said_before(const char *text)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char *said[32]; /* when it is full, texts are repeated: no harm */
	bool found = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof said / sizeof *said && !found; i++) {
		if (!said[i]) {
			said[i] = strdup(text);
			break;
		}
		found = !strcmp(said[i], text);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void qv_fi_warn(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	QV_FI_WARN(CORE, "%s\n", text);
	if (!qv_fi_params.quiet && !said_before(text))
		qv_fi_print("quiver: %s\n", text);
}
