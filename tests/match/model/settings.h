/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.h - settings with which any structure can be created: what tests of all share. */
#ifndef QV_SETTINGS_H
#define QV_SETTINGS_H

#include <quiver/match.h>

/*
 * The defaults, with this structure (it may have options) and what it needs: for col* two bits of
 * the tag that say collective and four that tell operations apart; for pnp-static and clu a profile
 * of sources 0 to 9, of which 2 and 3 send most. The file goes when the program ends.
 */
void qv_settings_for(struct qv_match_settings *s, const char *structure);

/* 1 if this structure, whatever its options, is `name`. */
int qv_settings_is(const struct qv_match_settings *s, const char *name);

/* Write a profile that goes when the program ends; returns its path, static storage. */
const char *qv_settings_profile(const char *text);

#endif /* QV_SETTINGS_H */
