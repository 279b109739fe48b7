/* SPDX-License-Identifier: BSD-2-Clause */
/* iov.c - buffers in pieces. */
#include "iov.h"
#include "copy.h"

size_t qv_iov_len(const struct iovec *iov, size_t cnt)
{
	size_t len = 0;

	for (size_t i = 0; i < cnt; i++)
		len += iov[i].iov_len;
	return len;
}

size_t qv_iov_slice(const struct iovec *iov, size_t cnt, size_t offset, size_t len,
		    struct iovec *out)
{
	size_t n = 0;

	for (size_t i = 0; i < cnt && len; i++) {
		size_t part = iov[i].iov_len;

		if (offset >= part) {
			offset -= part;
			continue;
		}
		part -= offset;
		if (part > len)
			part = len;
		out[n].iov_base = (char *)iov[i].iov_base + offset;
		out[n++].iov_len = part;
		len -= part;
		offset = 0;
	}
	return n;
}

size_t qv_iov_put(const struct iovec *iov, size_t cnt, size_t offset, const void *src, size_t len)
{
	struct iovec parts[QV_IOV_MAX];
	size_t n, done = 0;

	if (len == 0)
		return 0;
	if (QV_LIKELY(cnt == 1 && offset + len <= iov->iov_len)) {
		qv_copy((char *)iov->iov_base + offset, src, len);
		return len;
	}
	n = qv_iov_slice(iov, cnt, offset, len, parts);
	for (size_t i = 0; i < n; i++) {
		qv_copy(parts[i].iov_base, (const char *)src + done, parts[i].iov_len);
		done += parts[i].iov_len;
	}
	return done;
}

void qv_iov_get(const struct iovec *iov, size_t cnt, void *dst)
{
	char *at = dst;

	for (size_t i = 0; i < cnt; i++) {
		qv_copy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
}
