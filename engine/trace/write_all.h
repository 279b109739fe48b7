/* SPDX-License-Identifier: BSD-2-Clause */
/* write_all.h - files that are written while somebody else's program runs. */
#ifndef QV_TRACE_WRITE_ALL_H
#define QV_TRACE_WRITE_ALL_H

#include <stddef.h>

/* All of data, at once where the file takes it. 0 or an errno. What has no room (EFBIG), or no reader any more
 * (EPIPE), does not end the program by a signal. */
int qv_write_all(int fd, const void *data, size_t bytes);

#endif /* QV_TRACE_WRITE_ALL_H */
