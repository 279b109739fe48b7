/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offload.h - what a device must be able to do for quiver: match a batch, combine arrays, gather
 * and scatter pieces of a message. One struct qv_offload_ops per kind of device (OpenCL, XRT).
 *
 * A device keeps nothing between calls: all that a call needs is in its arguments, and what it
 * gives is written only when it is complete and looks right. So the caller can always do the
 * same work on the CPU instead. A backend never writes to the caller's arrays from behind: when a
 * call has returned, whatever its status, the arrays are the caller's alone.
 *
 * No locks: the caller serialises the calls on one device. No state outside struct qv_offload_dev.
 */
#ifndef QUIVER_OFFLOAD_H
#define QUIVER_OFFLOAD_H

#include <quiver/combine.h>
#include <quiver/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A query that takes no entry. */
#define QV_OFFLOAD_NONE UINT32_MAX

/*
 * A receive or a message in a batch. Entry e accepts query q when
 *     ((e.tag ^ q.tag) & ~(e.ignore | q.ignore)) == 0 && (e.src == q.src || e.src or q.src is any)
 * which is the rule of match.h whichever side has the receives.
 */
struct qv_offload_key {
	uint64_t tag;
	uint64_t ignore; /* bits of the tag that are not compared; of a message 0 */
	uint32_t src;    /* QV_SRC_ANY: any source; of a receive only */
	uint32_t flags;  /* reserved, 0 */
};

/* A piece of memory, `bytes` long, `offset` bytes behind some base. */
struct qv_offload_piece {
	uint64_t offset, bytes;
};

/* How to find and use a device. All zero is a valid configuration; all fields may be left so. */
struct qv_offload_config {
	size_t size; /* of this structure, see types.h; 0: the fields of version 0.1, all below */
	/* Which runtime library to open; NULL: the backend's own, libOpenCL.so.1 (FI_QUIVER_XRT_LIB
	 * for xrt). */
	const char *library;
	/* FI_QUIVER_OFFLOAD_DEVICE: a part of the name of a platform or a device, in any case, or
	 * the number of the device among those that can be used, from 0; NULL: the first; GPUs
	 * come first, CPUs last. */
	const char *device;
	const char *bitstream; /* xrt only: FI_QUIVER_XCLBIN; opencl: not looked at */
	uint32_t timeout_ms;   /* a call whose device work takes longer is given up; 0: 2000 */
	uint32_t profile;      /* not 0: kernel_ns is wanted, which costs some time per call */
};

/* What was found. */
struct qv_offload_caps {
	char name[128];     /* "platform: device", as the runtime calls them */
	char version[64];   /* of the device's driver */
	uint32_t is_cpu;    /* 1: the "device" is this computer's CPU, as PoCL's */
	uint32_t max_keys;  /* at most so many entries, and so many queries, in a batch */
	uint64_t max_bytes; /* at most so long an array in one call of combine */
	uint64_t max_pack;  /* at most so long a message, and so far a piece, in pack and unpack */
};

struct qv_offload_dev; /* an open device, the backend's own */

/*
 * One backend. Statuses: QV_OK; QV_EINVAL: an argument is not as documented; QV_ENOSYS: this device
 * cannot do that (op, type, size), another call may do; QV_ENOMEM: no memory, on the host or on the
 * device; QV_EIO: the device reported an error, or its answer failed the backend's check; QV_EPEER:
 * it did not answer within timeout_ms or is gone: nothing but close() may be called any more.
 * Results are written with QV_OK only.
 */
struct qv_offload_ops {
	const char *name; /* "opencl", "xrt" */

	/*
	 * Is there a usable device? Opens the runtime library and asks it; compiles nothing. May
	 * start threads of the runtime's, so it is called after the user has opted in and never
	 * before a fork.
	 *   config     what is looked for; read during the call only
	 *   caps       out: what was found
	 *   why, room  out, on an error: the reason, as text in room bytes; may be NULL, 0
	 * QV_ENOENT: no runtime library, no device, or none that `device` names. QV_EINVAL: config
	 * sets fields that this backend does not know.
	 */
	int (*probe)(const struct qv_offload_config *config, struct qv_offload_caps *caps,
		     char *why, size_t room);

	/*
	 * Open that device, build what it needs and let it solve a few small batches whose
	 * answers are known.
	 *   config     as for probe; read during the call only
	 *   dev        out: to be given to close
	 *   why, room  as for probe
	 * QV_ENOENT and QV_EINVAL as probe; QV_ENOMEM; QV_EIO: the device reported an error or gave
	 * a wrong answer; QV_EPEER: it did not answer in time, or is gone. Then nothing is open.
	 */
	int (*open)(const struct qv_offload_config *config, struct qv_offload_dev **dev, char *why,
		    size_t room);

	/*
	 * Give the device up. After QV_EPEER, what the device might still write to is left to it.
	 *   dev  from open; NULL is allowed
	 */
	void (*close)(struct qv_offload_dev *dev);

	/* What was opened: of dev, from open; lives as long as it. */
	const struct qv_offload_caps *(*caps)(const struct qv_offload_dev *dev);

	/* The reason of the last call that did not return QV_OK, as text; lives until the next
	 * call. Never NULL. */
	const char *(*why)(const struct qv_offload_dev *dev);

	/* Time in ns that the device computed in the last call, without transfers; 0: not known
	 * (config.profile was 0, or the device cannot tell). */
	uint64_t (*kernel_ns)(const struct qv_offload_dev *dev);

	/*
	 * Match: query 0 takes the first entry that accepts it, query 1 the first of the others,
	 * and so on, each entry is taken once. With posted receives as entries and messages as
	 * queries this is a run of arrivals, the other way round a run of posts.
	 *   dev      from open
	 *   entries  the queue, oldest first
	 *   n        how many, 1 .. caps.max_keys
	 *   queries  in the order in which they come
	 *   m        how many, 1 .. caps.max_keys
	 *   result   out: m indexes of entries, or QV_OFFLOAD_NONE
	 */
	int (*match_batch)(struct qv_offload_dev *dev, const struct qv_offload_key *entries,
			   uint32_t n, const struct qv_offload_key *queries, uint32_t m,
			   uint32_t *result);

	/*
	 * Whether the device computes with the same bits as qv_combine. Asks nothing of the device.
	 *   dev       from open
	 *   op, type  what, on elements of what; any numbers
	 * Returns 1 or 0.
	 */
	int (*combines)(const struct qv_offload_dev *dev, enum qv_op op, enum qv_type type);

	/*
	 * dst[i] = a[i] op b[i], as qv_combine_to.
	 *   dev       from open
	 *   op, type  what is done, on elements of what; a pair that combines() accepts
	 *   dst       out; may be a, b or both, and overlaps them in no other way. Written piece by
	 *             piece from the front, so that after an error a part may hold its result:
	 *             *done says which.
	 *   a, b      left and right operand
	 *   count     elements, at least 1; count * qv_type_size(type) <= caps.max_bytes
	 *   done      out, with any status: so many elements of dst, from the first, are right, the
	 *             others as they were
	 */
	int (*combine)(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
		       const void *a, const void *b, size_t count, size_t *done);

	/*
	 * dst[i] = ((src[0][i] op src[1][i]) op src[2][i]) op ..., from left to right, as
	 * qv_combine_many.
	 *   dev       from open
	 *   op, type  what is done, on elements of what; a pair that combines() accepts
	 *   dst       out, as for combine; may be any of the sources
	 *   src       k arrays of count elements, read during the call
	 *   k         2 or more
	 *   count     elements of each array, as for combine
	 *   done      out, as for combine
	 */
	int (*combine_many)(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
			    const void *const *src, size_t k, size_t count, size_t *done);

	/*
	 * Gather: the pieces of src, one behind the other, become dst.
	 *   dev     from open
	 *   dst     out: as many bytes as the pieces have together; does not overlap src
	 *   src     base of the pieces
	 *   pieces  may overlap, in any order
	 *   n       how many, at least 1; the largest offset + bytes <= caps.max_pack, and so is
	 *           the sum of all bytes
	 */
	int (*pack)(struct qv_offload_dev *dev, void *dst, const void *src,
		    const struct qv_offload_piece *pieces, size_t n);

	/*
	 * Scatter: the bytes of src become the pieces of dst; nothing else of dst is written.
	 *   dev     from open
	 *   dst     out: base of the pieces; does not overlap src
	 *   src     as many bytes as the pieces have together
	 *   pieces  in any order, may not overlap
	 *   n       how many, as for pack
	 */
	int (*unpack)(struct qv_offload_dev *dev, void *dst, const void *src,
		      const struct qv_offload_piece *pieces, size_t n);
};

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_OFFLOAD_H */
