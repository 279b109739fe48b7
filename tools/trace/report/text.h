/* SPDX-License-Identifier: BSD-2-Clause */
/* text.h - numbers as people read them, and text of a trace, which is not trusted, into HTML. */
#ifndef QV_REPORT_TEXT_H
#define QV_REPORT_TEXT_H

#include <stdint.h>
#include <stdio.h>

struct qv_text {
	char s[48];
};

struct qv_text qv_text_count(uint64_t n);                 /* 53,120 */
struct qv_text qv_text_short(uint64_t n);                 /* 53k */
struct qv_text qv_text_real(double x);                    /* 2.6; 254 */
struct qv_text qv_text_share(uint64_t part, uint64_t of); /* 61 % */
struct qv_text qv_text_time(double ns);                   /* 210 ms */
/* Escaped; what is not UTF-8, or controls a terminal or the direction of text, is U+FFFD. */
void qv_text_put(FILE *out, const char *text);

#endif /* QV_REPORT_TEXT_H */
