/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * remote.h - reading, writing and updating memory of another endpoint's owner: what an operation is,
 * how it is cut into requests, and what the owner of the memory does with one. Each operation is done
 * by the endpoint that has the memory, in its poll: its owner knows what may be reached. Who carries
 * requests and answers is another's matter: engine/node, engine/proto.
 */
#ifndef QV_REMOTE_H
#define QV_REMOTE_H

#include "engine/base/iov.h"

#include <stdbool.h>
#include <stdint.h>

#define QV_SPANS QV_IOV_MAX /* pieces of memory in one operation, on each side */

enum qv_mem_access {
	QV_MEM_READ = 1,
	QV_MEM_WRITE = 2,
};

/* Memory there, as its owner calls it. */
struct qv_span {
	uint64_t addr, key;
	size_t len;
};

enum qv_remote_kind {
	QV_REMOTE_GET,
	QV_REMOTE_PUT,
	QV_REMOTE_UPDATE, /* put together with what is there */
	QV_REMOTE_OVER,   /* of engine/node: what was granted has been read */
};

/* All lists have as many bytes as there are there, or none at all. */
struct qv_remote_op {
	enum qv_remote_kind kind;
	uint16_t what; /* an update: which, in the words of the owners */
	bool inject;   /* the memory here may be reused at once */
	bool has_data; /* `data` is told there */
	uint64_t data;
	const struct qv_span *there;
	/* Where it goes (get) or comes from; the other operand of an update; where what was there
	 * before an update goes. */
	const struct iovec *here, *other, *before;
	size_t nthere, nhere, nother, nbefore;
};

/* What another has done. */
struct qv_touch {
	uint64_t from;
	unsigned access;      /* one of enum qv_mem_access */
	size_t len;           /* of a write, what the writer says; of a read that is not known, 0 */
	const uint64_t *data; /* what it tells, or NULL */
};

/* The owner's part: its memory. */
struct qv_memory_ops {
	/* The memory that others call so, at most QV_SPANS pieces of len bytes in all. QV_OK, or
	 * what the other side is told: it may not have it. */
	int (*find)(void *owner, const struct qv_span *span, unsigned access, struct iovec *iov,
		    size_t *cnt);
	/* Is there such an update, of len bytes with so many operands, in any order of calls? */
	bool (*can_update)(void *owner, uint16_t what, size_t len, size_t operands, bool before);
	/* Do it. Operands are one behind the other. before: NULL, or where the old bytes go. */
	void (*update)(void *owner, uint16_t what, const struct iovec *iov, size_t cnt,
		       const void *operands, size_t len, void *before);
	/* Are reads counted? */
	bool (*counts_reads)(void *owner);
	/* Another has written to memory of this key, or updated it. */
	void (*written)(void *owner, uint64_t key);
	/* Another has read or written: told of each operation once. */
	void (*touched)(void *owner, const struct qv_touch *touch);
};

/* A request, as it travels; what it sends is behind it. */
struct qv_ask {
	uint8_t kind;  /* enum qv_remote_kind */
	uint8_t flags; /* QV_ASK_* */
	uint16_t what;
	uint32_t len; /* of the memory */
	uint64_t addr, key;
};
#define QV_ASK_DATA   1u  /* it tells data */
#define QV_ASK_LAST   2u  /* of its operation */
#define QV_ASK_DIRECT 4u  /* of engine/node: get: tell where it is; put: the payload says so */
#define QV_ASK_BEFORE 8u  /* update: the old bytes are wanted */
#define QV_ASK_TOTAL  16u /* put, the last of several: 8 bytes behind say how long all is */
#define QV_ASK_KEY    32u /* no other of its operation with this key comes */

/* Who asks: op.c. */

/* The bytes of an operation; false: its lists do not fit each other. */
bool qv_remote_is_sound(const struct qv_remote_op *op, size_t *len);
/* What one request is about: bytes `at` to at + span.len of the operation. */
struct qv_part {
	struct qv_span span;
	size_t at;
};
/* The one that begins at `at`, of at most `most` bytes. */
struct qv_part qv_part_at(const struct qv_span *there, size_t nthere, size_t at, size_t most);
/* Is it all of an operation of len bytes that goes to memory of its key? */
bool qv_part_ends_key(const struct qv_part *part, const struct qv_span *there, size_t len);
/* Its part of a list, copied out of it. */
void qv_part_get(const struct qv_part *part, const struct iovec *list, size_t n, char *to);
/* len bytes into it; false: it has another length. */
bool qv_part_put(const struct qv_part *part, const struct iovec *list, size_t n, const char *from,
		 size_t len);

/* Who has the memory: asked.c. */

struct qv_asked {
	struct qv_ask ask;
	const char *payload;
	size_t len;      /* of the payload */
	size_t operands; /* of an update */
	uint64_t total;  /* bytes of the operation, if this is its last request */
	/* Our memory. */
	struct iovec iov[QV_SPANS];
	size_t niov;
};

/* How long all of it is, taken off the payload if it says so; false: it cannot be. */
bool qv_asked_take_total(struct qv_asked *a);
/* Does it make sense, as a request of at most `most` bytes of memory that has all in its payload? */
bool qv_asked_is_sound(struct qv_asked *a, size_t most);
unsigned qv_asked_access(const struct qv_asked *a);
/* Find the memory: QV_OK, or what the other side is told. */
int qv_asked_find(struct qv_asked *a, const struct qv_memory_ops *ops, void *owner);
/* Bytes of the answer. */
size_t qv_asked_answer_len(const struct qv_asked *a);
/* Do it; out: room for the answer, NULL: nobody wants it. */
void qv_asked_do(const struct qv_asked *a, const struct qv_memory_ops *ops, void *owner, char *out);
/* The owner is told of an operation by its last request. */
void qv_asked_tell(const struct qv_asked *a, const struct qv_memory_ops *ops, void *owner,
		   uint64_t from, uint64_t data);

#endif /* QV_REMOTE_H */
