/* SPDX-License-Identifier: BSD-2-Clause */
/* shrink.h - see shrink.c. */
#ifndef SF_SHRINK_H
#define SF_SHRINK_H

#include "sf.h"

/* True: all laws held. */
bool sf_run_apart(const struct sf_config *cfg, bool quiet);
/* It fails, and after this it is a smaller one that fails. */
void sf_shrink(struct sf_config *cfg);

#endif /* SF_SHRINK_H */
