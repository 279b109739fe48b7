/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backend.h - what the backends of <quiver/offload.h> share: opening, the library of the runtime,
 * the reason of a failure, arrays in chunks, and by what a device is judged.
 */
#ifndef QV_BACKEND_H
#define QV_BACKEND_H

#include <quiver/offload.h>

#include <stdbool.h>

#define QV_BACKEND_SLOTS 2

struct qv_backend_job;

/* What a backend does its own way; each returns a status. */
struct qv_backend {
	size_t bytes;     /* of its struct qv_offload_dev */
	const char *noun; /* what it calls a device */
	const struct qv_offload_ops *ops;
	/* Find the device, make it ready and test it. The reason goes to head.why. */
	int (*start)(struct qv_offload_dev *dev, const struct qv_offload_config *config);
	/* Before an array is sent: find the kernel, set job->step. */
	int (*prepare)(struct qv_backend_job *job);
	/* Send a chunk by way of a slot in which nothing is under way; wait for what is under way
	 * there: where the results are; only wait. */
	int (*begin)(struct qv_backend_job *job, unsigned slot);
	int (*end)(struct qv_backend_job *job, unsigned slot, const char **results);
	int (*drop)(struct qv_offload_dev *dev, unsigned slot);
};

/* Each backend's struct qv_offload_dev begins with this. */
struct qv_backend_head {
	const struct qv_backend *backend;
	struct qv_offload_caps caps;
	const struct qv_combine *cpu; /* computes the samples */
	uint32_t timeout_ms;
	uint32_t nonce;
	bool lost; /* the device has not answered in time, or is gone */
	uint64_t kernel_ns;
	char why[256];
};

/*
 * A reduction on its way through a device in chunks: while one is computed in one slot, another
 * travels in the other.
 */
struct qv_backend_job {
	struct qv_offload_dev *dev;
	enum qv_op op;
	enum qv_type type;
	size_t item; /* bytes of an element */
	char *dst;
	const char *const *src;
	size_t k;    /* arrays */
	size_t step; /* elements of a chunk, 1 or more */
	size_t done; /* elements that have come back */
	struct {
		size_t first, count; /* elements under way; count 0: nothing is */
	} slot[QV_BACKEND_SLOTS];
};

/*
 * backend.c: opening.
 */

/* As ops->open. */
int qv_backend_open(const struct qv_backend *backend, const struct qv_offload_config *config,
		    struct qv_offload_dev **dev, char *why, size_t room);
/* For the table of calls. */
const struct qv_offload_caps *qv_backend_caps(const struct qv_offload_dev *dev);
const char *qv_backend_why(const struct qv_offload_dev *dev);
uint64_t qv_backend_kernel_ns(const struct qv_offload_dev *dev);

/*
 * Open the library of a runtime, for good, since it may have threads, and find its functions.
 *   api      out: the library, and behind it the addresses of n functions
 *   runtime  what the user knows it by
 * QV_ENOENT with the reason: no library, or one without such a function.
 */
int qv_backend_load(void *api, const char *runtime, const char *file, const char *const *names,
		    size_t n, char *why, size_t room);

/* Keep the reason and return the status; QV_EPEER: the device is lost. */
int qv_backend_wrong(struct qv_offload_dev *dev, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Of the next question, so that an answer to another one shows. */
uint32_t qv_backend_nonce(struct qv_offload_dev *dev);
/* How large memory is made that must have so many bytes. */
size_t qv_backend_grown(size_t bytes);

/*
 * combine.c: for the table of calls. Some elements of each chunk are computed on the CPU as well
 * before the caller's array is written.
 */
int qv_backend_combine(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
		       const void *a, const void *b, size_t count, size_t *done);
int qv_backend_combine_many(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
			    const void *const *src, size_t k, size_t count, size_t *done);

/*
 * match.c
 */

/* Whether a device may be asked for such a batch. */
int qv_backend_batch(struct qv_offload_dev *dev, uint32_t n, uint32_t m);
bool qv_backend_accepts(const struct qv_offload_key *entry, const struct qv_offload_key *query);

/*
 * What can be seen without matching again: each pair accepts, no entry is taken twice, the seal
 * fits.
 *   out    m answers, and the seal
 *   seal   what it is without any pair
 *   taken  room for n bits; which entries are taken
 */
int qv_backend_look(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		    const struct qv_offload_key *queries, uint32_t m, const uint32_t *out,
		    uint32_t seal, uint8_t *taken);

/* Numbers that are the same in each run; *state is where it stands. */
uint32_t qv_backend_draw(uint64_t *state);
/* A batch with so many different tags, some of them wild; whether the answer is that of a plain
 * loop. */
int qv_backend_try(struct qv_offload_dev *dev, uint32_t tags, bool wild, uint64_t *state,
		   bool *right);

#endif /* QV_BACKEND_H */
