/* SPDX-License-Identifier: BSD-2-Clause */
/* pieces.h - memory in pieces. */
#ifndef QV_NODE_PIECES_H
#define QV_NODE_PIECES_H

#include <stddef.h>
#include <string.h>
#include <sys/uio.h>

static inline size_t qv_iov_len(const struct iovec *iov, size_t cnt)
{
	size_t len = 0;

	for (size_t i = 0; i < cnt; i++)
		len += iov[i].iov_len;
	return len;
}

/* Bytes at to at + len of it, as pieces; how many these are: as many as iov has, at most. */
static inline size_t qv_iov_cut(const struct iovec *iov, size_t cnt, size_t at, size_t len,
				struct iovec *out)
{
	size_t n = 0;

	for (size_t i = 0; i < cnt && len; i++) {
		size_t piece = iov[i].iov_len;

		if (at >= piece) {
			at -= piece;
			continue;
		}
		piece = piece - at < len ? piece - at : len;
		out[n++] = (struct iovec){(char *)iov[i].iov_base + at, piece};
		len -= piece;
		at = 0;
	}
	return n;
}

/* Returns where it ends. */
static inline char *qv_iov_gather(char *to, const struct iovec *iov, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	return to;
}

static inline void qv_iov_scatter(const struct iovec *iov, size_t cnt, const char *from)
{
	for (size_t i = 0; i < cnt; i++) {
		memcpy(iov[i].iov_base, from, iov[i].iov_len);
		from += iov[i].iov_len;
	}
}

#endif /* QV_NODE_PIECES_H */
