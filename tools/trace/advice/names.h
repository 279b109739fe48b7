/* SPDX-License-Identifier: BSD-2-Clause */
/* names.h - what files and processes of others call themselves, for people. */
#ifndef QV_ADVICE_NAMES_H
#define QV_ADVICE_NAMES_H

#include <stdio.h>

enum { QV_NAME_ROOM = 64 };

/* A name for a terminal: nothing that could steer it. Of a long one, the begin. */
static inline const char *qv_name_plain(const char *name, char text[QV_NAME_ROOM])
{
	size_t n = 0;

	for (; name[n] && n < QV_NAME_ROOM - 1; n++)
		text[n] = name[n] < ' ' || name[n] > '~' ? '?' : name[n];
	text[n] = 0;
	return n ? text : "?";
}

/* "rank 3", or that it is not known. */
static inline const char *qv_name_rank(int rank, char text[QV_NAME_ROOM])
{
	if (rank < 0)
		return "a rank that is not known";
	snprintf(text, QV_NAME_ROOM, "rank %d", rank);
	return text;
}

#endif /* QV_ADVICE_NAMES_H */
