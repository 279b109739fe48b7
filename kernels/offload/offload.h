/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offload.h - the way from an engine to a device: when it is asked, what becomes of its answers,
 * and the CPU instead of it whenever there is any doubt. The same for every backend.
 *
 * A device is opened when it is needed first. It is asked for batches and arrays that are large
 * enough. What it refuses, fails to do or does wrongly is done by the CPU and counted; after some
 * failures it is not asked any more, which is said once. A forked child does not use the device of
 * its parent. No locks: the caller serialises.
 */
#ifndef QV_OFFLOAD_GUARD_H
#define QV_OFFLOAD_GUARD_H

#include <quiver/match.h>
#include <quiver/offload.h>

struct qv_offload;

/* As a limit: the device is not asked for that, and with `calibrate` not tried either. */
#define QV_OFFLOAD_NEVER (SIZE_MAX - 1)

struct qv_offload_settings {
	const struct qv_offload_ops *ops;
	struct qv_offload_config config; /* its strings must live as long as the object */
	size_t min_batch;                /* messages from which on the device is asked, 1 or more */
	size_t min_bytes;                /* bytes of an array, likewise */
	/* Not 0: those of the two that are SIZE_MAX are found by measuring device and CPU, at the
	 * first batch or array that might gain; where none gains, the device is closed again. */
	int calibrate;
	uint32_t failures;    /* after so many the device is given up; 0: 3 */
	uint32_t check_every; /* so many batches after the first 16, one is matched by the CPU
				 as well; 0: 64; 1: all are */
	/* For tests, instead of measuring: how long `size` messages (bytes 0) or bytes (1) take, in
	 * us. NULL: it is measured. */
	void (*measure)(void *context, int bytes, size_t size, double *cpu, double *device);
	/* One line for the user. warn: not as asked for; else it says what was chosen. */
	void (*say)(void *context, int warn, const char *text);
	void *context;
};

enum qv_offload_state {
	QV_OFFLOAD_UNUSED = 0, /* not needed yet */
	QV_OFFLOAD_OPEN = 1,
	QV_OFFLOAD_OFF = 2, /* cannot be opened, or given up */
};

struct qv_offload_stats {
	enum qv_offload_state state;
	uint64_t batches;  /* matched by the device */
	uint64_t keys;     /* messages and receives in them */
	uint64_t checked;  /* batches that the CPU has matched as well */
	uint64_t arrays;   /* combined by the device */
	uint64_t bytes;    /* of these */
	uint64_t packs;    /* pack and unpack */
	uint64_t refused;  /* what the device cannot do: not a failure */
	uint64_t failed;   /* errors, time-outs, answers that looked wrong */
	uint64_t wrong;    /* of these: answers that the CPU has proved wrong */
	uint64_t fallback; /* calls done by the CPU after a failure */
};

/*
 * What a user may choose: "off", "opencl", "auto" (an OpenCL device where calibration shows a
 * gain).
 *   text           the setting
 *   on, calibrate  out: whether a device is asked at all, and whether it is measured first
 *   why, room      out, on QV_EINVAL: what is wrong with the text, to be put behind it
 */
int qv_offload_parse(const char *text, int *on, int *calibrate, char *why, size_t room);

/* QV_ENOMEM. Opens nothing. */
int qv_offload_create(const struct qv_offload_settings *settings, struct qv_offload **offload);
void qv_offload_destroy(struct qv_offload *offload);
void qv_offload_get_stats(const struct qv_offload *offload, struct qv_offload_stats *stats);
/* The device, once it is open: its name, else NULL. And the limits that hold. */
const char *qv_offload_device(const struct qv_offload *offload);
void qv_offload_limits(const struct qv_offload *offload, size_t *min_batch, size_t *min_bytes);
/* Open the device now, if it has not been tried yet. QV_OK: it can be used. */
int qv_offload_open(struct qv_offload *offload);

/* Whether to ask it for so many messages. Cheap. */
int qv_offload_wants(const struct qv_offload *offload, size_t messages);

/*
 * Let the device match the next m arrivals at an engine (only tag and src of msgs are looked at)
 * and tell the engine (qv_match_foresee). The arrivals themselves are then made by the caller;
 * qv_offload_done ends it. Between the two, no other call of this object.
 */
void qv_offload_arrivals(struct qv_offload *offload, struct qv_match *engine,
			 const struct qv_offload_key *msgs, size_t m);
void qv_offload_done(struct qv_offload *offload, struct qv_match *engine);

/* As qv_match_arrive_many and qv_match_post_many. */
size_t qv_offload_arrive_many(struct qv_offload *offload, struct qv_match *engine,
			      struct qv_msg *const *msgs, size_t n, struct qv_recv **recvs);
size_t qv_offload_post_many(struct qv_offload *offload, struct qv_match *engine,
			    struct qv_recv *const *recvs, size_t n, struct qv_msg **msgs);

/* As qv_combine_to and qv_combine_many; `combine` is what the CPU does it with. */
int qv_offload_combine(struct qv_offload *offload, const struct qv_combine *combine, enum qv_op op,
		       enum qv_type type, void *dst, const void *a, const void *b, size_t count);
int qv_offload_combine_many(struct qv_offload *offload, const struct qv_combine *combine,
			    enum qv_op op, enum qv_type type, void *dst, const void *const *src,
			    size_t n, size_t count);

/* Gather and scatter, as in <quiver/offload.h>. QV_EINVAL: pieces that reach beyond memory. */
int qv_offload_pack(struct qv_offload *offload, void *dst, const void *src,
		    const struct qv_offload_piece *pieces, size_t n);
int qv_offload_unpack(struct qv_offload *offload, void *dst, const void *src,
		      const struct qv_offload_piece *pieces, size_t n);

#endif /* QV_OFFLOAD_GUARD_H */
