/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.h - the files of FI_QUIVER_STATS. */
#ifndef QV_FI_STATS_FILES_H
#define QV_FI_STATS_FILES_H

#include <stdio.h>

#include "fabric_glue/data.h"

/* From stats_json.c. */

/* A name of the system's, whatever is in it. */
void qv_fi_json_text(FILE *out, const char *text);
/* The endpoint as it is now, to be freed; NULL: no memory. Lock of its domain held, or nobody else
 * calls. */
char *qv_fi_stats_json(const struct qv_fi_ep *ep);

/* From stats_detail.c. */

void qv_fi_detail_begin(struct qv_fi_ep *ep);
void qv_fi_detail_end(struct qv_fi_ep *ep);
/* Another member of the object of a queue, QV_REQ_TAGGED or 0; nothing, if there is none. */
void qv_fi_detail_json(FILE *out, const struct qv_fi_ep *ep, unsigned which);

/* From stats_file.c. */

/* What the endpoint did so far, or has done, for the next writing. Last: see qv_fi_lock_at_end; false: not
 * noted. */
void qv_fi_stats_file_note(const struct qv_fi_ep *ep);
bool qv_fi_stats_file_end(const struct qv_fi_ep *ep, bool last);
/* All that was noted, into FI_QUIVER_STATS=json:FILE. False: it was the last time, and who writes just now does not
 * end. */
bool qv_fi_stats_file_write(bool last);

/* From stats_signal.c. */

/* From now on the user's signal asks for a writing. */
void qv_fi_stats_signal_begin(int number);
/* Has it, since the last call? */
bool qv_fi_stats_signal_came(void);
/* The signal means again what it did, if nobody else has taken it since. */
void qv_fi_stats_signal_end(void);

#endif /* QV_FI_STATS_FILES_H */
