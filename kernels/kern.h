/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kern.h - the contract of the compare kernels: a block of keys in, a bitmap of entries out.
 *
 * A block is up to 64 entries, oldest first, whose keys lie side by side in planes of 32-bit words,
 * so that one 512-bit vector compares sixteen entries. The first plane, low half of the tag and
 * source in one word, rejects nearly all that do not fit; the others are read for the rest only.
 *
 *   KEY          [k0 k1 ... k63]   qv_kern_key(low half of the tag, source)
 *   SRC          [s0 s1 ... s63]   source, UINT32_MAX: any (receives only)
 *   HIGH         [h0 h1 ... h63]   high half of the tag
 *   IGNORE       [i0 i1 ... i63]   low half of the ignore mask    } blocks of
 *   IGNORE_HIGH  [j0 j1 ... j63]   high half                      } receives only
 */
#ifndef QV_KERN_H
#define QV_KERN_H

#include <stdint.h>

/* Entries of one block, so that a bitmap is one word. */
#define QV_KERN_MAX 64
/* Entries that the widest kernels compare at once. */
#define QV_KERN_GROUP 16

enum {
	QV_PLANE_KEY,
	QV_PLANE_SRC,
	QV_PLANE_HIGH,
	QV_PLANES_MSG,
	QV_PLANE_IGNORE = QV_PLANES_MSG,
	QV_PLANE_IGNORE_HIGH,
	QV_PLANES_RECV,
};

typedef uint32_t qv_plane[QV_KERN_MAX];

/*
 * The first word compared. Turned by half a word, small sources and small tags do not meet; and as
 * the source drops out where sources are equal, an ignore mask of the tag applies to the key as it
 * does to the tag.
 */
static inline uint32_t qv_kern_key(uint32_t low, uint32_t src)
{
	return low ^ (src << 16 | src >> 16);
}

/*
 * Both calls look at the entries whose bit is set in `lanes` and return a bitmap of those accepted.
 * Its lowest bit, the oldest, is exact; bits of later groups of QV_KERN_GROUP entries may be
 * missing. 0: none is accepted. Planes are aligned to 64 bytes; groups before the first and after
 * the last that have a bit in `lanes` are not read. `any` is UINT32_MAX.
 */
struct qv_kern_ops {
	const char *name;

	/* Receives that accept message (tag, src):
	 * ((tags[i] ^ tag) & ~ignores[i]) == 0 && (srcs[i] == src || srcs[i] == any)
	 * has_any: whether one of them may have any source. */
	uint64_t (*posted)(const qv_plane *planes, uint64_t lanes, uint64_t tag, uint32_t src,
			   int has_any);

	/* Messages that receive (tag, ignore, src) accepts:
	 * ((tags[i] ^ tag) & ~ignore) == 0 && (srcs[i] == src || src == any) */
	uint64_t (*unexpected)(const qv_plane *planes, uint64_t lanes, uint64_t tag,
			       uint64_t ignore, uint32_t src);
};

extern const struct qv_kern_ops qv_kern_scalar;
extern const struct qv_kern_ops qv_kern_avx2;
extern const struct qv_kern_ops qv_kern_avx512f;
extern const struct qv_kern_ops qv_kern_avx512;
extern const struct qv_kern_ops qv_kern_neon;

#endif /* QV_KERN_H */
