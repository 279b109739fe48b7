/* SPDX-License-Identifier: BSD-2-Clause */
/* need.h - what must hold in code that may run outside a cmocka test. */
#ifndef QV_NEED_H
#define QV_NEED_H

#include <stdio.h>
#include <stdlib.h>

#define QV_NEED(cond)                                                                            \
	do {                                                                                     \
		if (!(cond)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
			abort();                                                                 \
		}                                                                                \
	} while (0)

#endif /* QV_NEED_H */
