/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.h - a malloc of the program's own before the C library's, that fails for the provider when a
 * test says so. */
#ifndef NOMEM_MEMORY_H
#define NOMEM_MEMORY_H

#include <rdma/fi_errno.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

extern bool watched;       /* the provider's blocks are noted */
extern unsigned countdown; /* this allocation of it fails; 0: none */
extern bool none;          /* all of them fail */

/* Blocks of the provider's that are not freed yet. */
unsigned left(void);

#define OK(call)                                                              \
	do {                                                                  \
		long ret_ = (long)(call);                                     \
		if (ret_) {                                                   \
			fprintf(stderr, "%s: %ld (%s)\n", #call, ret_,        \
				fi_strerror((int)(ret_ < 0 ? -ret_ : ret_))); \
			exit(ret_ == -FI_ENODATA ? 77 : 1);                   \
		}                                                             \
	} while (0)
#define CHECK(cond, ...)                              \
	do {                                          \
		if (!(cond)) {                        \
			fprintf(stderr, __VA_ARGS__); \
			exit(1);                      \
		}                                     \
	} while (0)

#endif /* NOMEM_MEMORY_H */
