/* SPDX-License-Identifier: BSD-2-Clause */
/* page.h - the parts of a report: one HTML file that needs nothing beside it. */
#ifndef QV_REPORT_PAGE_H
#define QV_REPORT_PAGE_H

#include <stdio.h>

#include "cost.h"
#include "figures.h"
#include "judge.h"

/* All of it. Whether it could be written is for the caller to see, by ferror(3). */
void qv_page_write(FILE *out, const struct qv_figures *f, const struct qv_cost *c);

extern const char qv_page_style[];

/* Sections. */
void qv_page_cost(FILE *out, const struct qv_cost *c);
void qv_page_depth(FILE *out, const struct qv_figures *f);
void qv_page_histograms(FILE *out, const struct qv_figures *f);
void qv_page_wildcards(FILE *out, const struct qv_figures *f);
void qv_page_heat(FILE *out, const struct qv_figures *f);
void qv_page_ranks(FILE *out, const struct qv_figures *f);
void qv_page_tables(FILE *out, const struct qv_figures *f);
void qv_page_faults(FILE *out, const struct qv_figures *f);

#endif /* QV_REPORT_PAGE_H */
