/* SPDX-License-Identifier: BSD-2-Clause */
/* iov.h - buffers in pieces. */
#ifndef QV_IOV_H
#define QV_IOV_H

#include <stddef.h>
#include <sys/uio.h>

#define QV_IOV_MAX 4u /* pieces of a user's buffer */

size_t qv_iov_len(const struct iovec *iov, size_t cnt);
/* The part of iov from offset on, len bytes of it, into out (room for QV_IOV_MAX); returns pieces. */
size_t qv_iov_slice(const struct iovec *iov, size_t cnt, size_t offset, size_t len,
		    struct iovec *out);
/* Copy into iov at offset; returns what fitted. Copy out of iov, all of it. */
size_t qv_iov_put(const struct iovec *iov, size_t cnt, size_t offset, const void *src, size_t len);
void qv_iov_get(const struct iovec *iov, size_t cnt, void *dst);

#endif /* QV_IOV_H */
