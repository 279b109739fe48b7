/* SPDX-License-Identifier: BSD-2-Clause */
/* select_case.h - a selection for a test, and the network that it is told of. */
#ifndef QV_SELECT_CASE_H
#define QV_SELECT_CASE_H

#include <stdint.h>

#include <quiver/select.h>

/* Figures of a cluster with QDR InfiniBand. */
extern const struct qv_network qv_select_case_net;

/* The test fails if the rules are refused. */
struct qv_select *qv_select_case_open(const char *rules);

/* When the last rank leaves. */
double qv_select_case_last(const double *times, uint32_t n);

#endif /* QV_SELECT_CASE_H */
