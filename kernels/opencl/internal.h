/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h - an open OpenCL device, and what the files of the backend do for each other. */
#ifndef QV_CL_H
#define QV_CL_H

#include "kernels/backend/backend.h"
#include "api.h"
#include "opencl.h"

#define QV_CL_MAX_KEYS 65536u
#define QV_CL_SLOTS    QV_BACKEND_SLOTS
/* Bytes of one array that a slot takes at a time. */
#define QV_CL_CHUNK ((size_t)4 << 20)
/* Launches before a wait. */
#define QV_CL_LAUNCHES 8
/* Most work-items of a group. */
#define QV_CL_GROUP 256u

/* Memory of the device, which grows as needed. */
struct qv_cl_buffer {
	qv_cl_mem mem;
	size_t bytes;
};

/*
 * A queue of its own with what goes through it. The device reads from and writes to `host` only,
 * never the caller's memory: whatever becomes of a command that is given up, nobody else is hurt.
 */
struct qv_cl_slot {
	qv_cl_queue queue;
	struct qv_cl_buffer in, out, work, bits; /* bits: or the tables of an index */
	void *host;
	size_t host_bytes;
	bool dirty;       /* commands that nobody has waited for may still read the host's memory */
	qv_cl_event last; /* of the last command under way, NULL: nothing is */
	qv_cl_event kernels[QV_CL_LAUNCHES]; /* to be timed */
	unsigned kernels_n;
};

/* The kernels of one type. */
struct qv_cl_combine {
	qv_cl_program program;
	bool failed; /* to be built: not again */
	qv_cl_kernel kernel[QV_N_OPS];
	size_t group[QV_N_OPS]; /* most work-items of a group of each */
};

struct qv_offload_dev {
	struct qv_backend_head head;
	struct qv_cl_api cl;
	qv_cl_device id;
	qv_cl_context context;
	struct qv_cl_slot slot[QV_CL_SLOTS];
	qv_cl_program match, pack;
	qv_cl_kernel small, begin, propose, settle, fill_bits, resolve, pieces;
	qv_cl_kernel empty, index, find;
	/* work-items of a group */
	size_t small_group, resolve_group, pieces_group, group;
	uint64_t local_bytes, alloc_bytes;
	bool float_ok, double_ok; /* IEEE 754 with denormals */
	struct qv_cl_combine combine[QV_N_TYPES];
	bool profile;
	bool exact;         /* no buffer is larger than it must be */
	uint64_t secret[2]; /* of the hash */
	/* So many batches are matched without an index, after one that it did not serve. */
	uint32_t unindexed, unindexed_next;
	enum qv_opencl_way force;
	struct qv_opencl_ways ways;
};

/* From find.c. */

/* The device that config asks for. QV_OK, or QV_ENOENT with the reason. */
int qv_cl_find(const struct qv_cl_api *cl, const struct qv_offload_config *config, qv_cl_device *id,
	       struct qv_offload_caps *caps, char *why, size_t room);

/* What a device says of itself. */
uint64_t qv_cl_number(const struct qv_cl_api *cl, qv_cl_device id, uint32_t what);

/* queue.c: commands. */

/* Keep the reason and return the status. err: what OpenCL said. */
int qv_cl_fail(struct qv_offload_dev *dev, int32_t err, const char *what);
/* Make a buffer, or the host's memory, at least so large. */
int qv_cl_room(struct qv_offload_dev *dev, struct qv_cl_buffer *buffer, size_t bytes);
int qv_cl_host_room(struct qv_offload_dev *dev, struct qv_cl_slot *slot, size_t bytes);
/* Commands of a slot, in order. Only read leaves an event behind: begin no other command before
 * qv_cl_wait. */
int qv_cl_write(struct qv_offload_dev *dev, struct qv_cl_slot *slot, qv_cl_mem to, size_t offset,
		const void *from, size_t bytes);
int qv_cl_launch(struct qv_offload_dev *dev, struct qv_cl_slot *slot, qv_cl_kernel kernel,
		 const size_t global[2], size_t group);
int qv_cl_read(struct qv_offload_dev *dev, struct qv_cl_slot *slot, qv_cl_mem from, void *to,
	       size_t bytes);
/* Until all commands of the slot are done. QV_EPEER: not in time, or the device is gone. */
int qv_cl_wait(struct qv_offload_dev *dev, struct qv_cl_slot *slot);
/* The same of commands of which one was given up with err. That status, but QV_EPEER before any other. */
int qv_cl_finish(struct qv_offload_dev *dev, struct qv_cl_slot *slot, int err);
/* Arguments of a kernel, from the first. */
struct qv_cl_arg {
	size_t size;
	const void *value;
};
int qv_cl_args(struct qv_offload_dev *dev, qv_cl_kernel kernel, const struct qv_cl_arg *args,
	       unsigned n);
#define QV_CL_ARG(x)       ((struct qv_cl_arg){sizeof(x), &(x)})
#define QV_CL_LOCAL(bytes) ((struct qv_cl_arg){(bytes), NULL})

/* From build.c. */

int qv_cl_build(struct qv_offload_dev *dev, const char *text, const char *options,
		qv_cl_program *program);
int qv_cl_kernel_of(struct qv_offload_dev *dev, qv_cl_program program, const char *name,
		    qv_cl_kernel *kernel, size_t *group);
/* The sources, made by qv_cl_text.cmake. */
extern const char qv_cl_text_match[], qv_cl_text_combine[], qv_cl_text_pack[];

/* What the device does. */

int qv_cl_match_batch(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		      const struct qv_offload_key *queries, uint32_t m,
		      uint32_t *result); /* match.c */

/* A batch on its way through the device. */
#define QV_CL_KINDS 8
struct qv_cl_batch {
	const struct qv_offload_key *entries, *queries;
	uint32_t n, m;
	/* Masks of the keys that have wildcards, as match.cl wants them; none: no index. */
	uint32_t kinds, posts;
	uint64_t masks[QV_CL_KINDS][2];
	uint32_t bits; /* of a table of the index */
};

/* choose.c: the way of a batch, and what its index needs. */
enum qv_opencl_way qv_cl_choose(struct qv_offload_dev *dev, struct qv_cl_batch *batch);
/* The index did not serve: the next best way; and for how long none is tried. */
enum qv_opencl_way qv_cl_choose_again(struct qv_offload_dev *dev, const struct qv_cl_batch *batch);
size_t qv_cl_bits_bytes(uint32_t n, uint32_t m);
size_t qv_cl_table_bytes(const struct qv_cl_batch *batch);
/* The secret of the hash, drawn. */
void qv_cl_draw_secret(struct qv_offload_dev *dev);

/* ways.c: the kernels and their launches. */
int qv_cl_match_open(struct qv_offload_dev *dev);
void qv_cl_match_close(struct qv_offload_dev *dev);
int qv_cl_go(struct qv_offload_dev *dev, struct qv_cl_slot *s, enum qv_opencl_way way,
	     const struct qv_cl_batch *batch);

void qv_cl_combine_close(struct qv_offload_dev *dev); /* combine.c */
int qv_cl_combines(const struct qv_offload_dev *dev, enum qv_op op, enum qv_type type);
int qv_cl_combine_prepare(struct qv_backend_job *job);
int qv_cl_combine_begin(struct qv_backend_job *job, unsigned slot);
int qv_cl_combine_end(struct qv_backend_job *job, unsigned slot, const char **results);
int qv_cl_pack(struct qv_offload_dev *dev, void *dst, const void *src,
	       const struct qv_offload_piece *pieces, size_t n); /* pack.c */
int qv_cl_unpack(struct qv_offload_dev *dev, void *dst, const void *src,
		 const struct qv_offload_piece *pieces, size_t n);

#endif /* QV_CL_H */
