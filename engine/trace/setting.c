/* SPDX-License-Identifier: BSD-2-Clause */
/* setting.c - see setting.h. */
#include "setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/file_name.h"

#define MOST ((size_t)1 << 30) /* bytes, where nothing is said */

/* "key=BYTES:rest": 1, and *text is the rest; 0: another text; -1: BYTES is no number. */
static int take(const char **text, const char *key, size_t *bytes)
{
	size_t len = strlen(key), digits;
	char number[32];

	if (strncmp(*text, key, len))
		return 0;
	digits = strcspn(*text + len, ":");
	if (!(*text)[len + digits] || digits >= sizeof number)
		return -1;
	memcpy(number, *text + len, digits);
	number[digits] = 0;
	if (!qv_bytes_parse(number, bytes))
		return -1;
	*text += len + digits + 1;
	return 1;
}

/* Written where the file is named, they would be part of its name. */
static bool is_behind_file(const char *file)
{
	for (const char *at = file; (at = strpbrk(at, ",:"));)
		if (!strncmp(++at, "ring=", 5) || !strncmp(at, "max=", 4))
			return true;
	return false;
}

bool qv_trace_setting_parse(const char *text, struct qv_trace_setting *trace, char *why,
			    size_t size)
{
	struct qv_trace_setting t = {.most = MOST};
	int taken;

	do {
		taken = take(&text, "max=", &t.most);
		if (!taken)
			taken = take(&text, "ring=", &t.ring);
	} while (taken > 0);
	if (taken < 0) {
		snprintf(why, size,
			 "%.4s is followed by no number of bytes and a colon, as in ring=64M:FILE",
			 text);
		return false;
	}
	if (is_behind_file(text)) {
		snprintf(why, size, "ring= and max= stand before the file, as in ring=64M:FILE");
		return false;
	}
	t.out = qv_file_absolute(text);
	if (!t.out) {
		snprintf(why, size, "no memory");
		return false;
	}
	if (!qv_file_writable(t.out, "", why, size)) {
		free(t.out);
		return false;
	}
	*trace = t;
	return true;
}
