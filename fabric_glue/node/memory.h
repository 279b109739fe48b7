/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - memory of the application that peers reach by operations which we do for them: in a
 * domain, by key. For engine/node, and for engine/proto where a core has no atomic operations.
 */
#ifndef QV_FI_MEMORY_H
#define QV_FI_MEMORY_H

#include <quiver/combine.h>

#include "engine/remote/remote.h"
#include "fabric_glue/provider.h"

/* Most bytes of an atomic operation. */
#define QV_FI_ATOMIC_MAX ((size_t)8128)

struct qv_fi_memory {
	void *regions;  /* by key, for tsearch(3) */
	bool same_keys; /* a core chooses the keys, and verbs gives parts of memory the same one */
	const struct qv_combine *combine; /* NULL: this CPU has no kernels, so no atomics */
};

/* In up to four pieces that are one behind the other for peers. */
struct qv_fi_region {
	uint64_t key, access, base; /* base: what the first byte is called */
	size_t len, count;
	struct iovec iov[QV_SPANS];
	void *counter;             /* of writes by others, its owner's; NULL: nobody counts */
	struct qv_fi_region *next; /* another of this key */
};

/* -FI_EINVAL: too many pieces. virt: peers name memory by its address, else from 0 on. */
int qv_fi_region_init(struct qv_fi_region *region, const struct fi_mr_attr *attr, bool virt);

void qv_fi_memory_init(struct qv_fi_memory *memory);
/* -FI_ENOKEY: there is one of that key, and not same_keys; -FI_ENOMEM. It stays where it is until it
 * is removed. */
int qv_fi_memory_add(struct qv_fi_memory *memory, struct qv_fi_region *region);
void qv_fi_memory_remove(struct qv_fi_memory *memory, struct qv_fi_region *region);

/* That of a region of this key; NULL: there is none. */
void *qv_fi_memory_counter(const struct qv_fi_memory *memory, uint64_t key);

/* As in struct qv_memory_ops. */
int qv_fi_memory_find(const struct qv_fi_memory *memory, const struct qv_span *span,
		      unsigned access, struct iovec *iov, size_t *cnt);
bool qv_fi_memory_can_update(const struct qv_fi_memory *memory, uint16_t what, size_t len,
			     size_t operands, bool before);
void qv_fi_memory_update(const struct qv_fi_memory *memory, uint16_t what, const struct iovec *iov,
			 size_t cnt, const void *operands, size_t len, void *before);

/* A call of fi_atomic(3), its lists in bytes. */
struct qv_fi_update {
	struct qv_remote_op op;
	struct iovec operand[QV_SPANS], compare[QV_SPANS], result[QV_SPANS];
	struct qv_span there[QV_SPANS];
};
/* 0; -FI_EOPNOTSUPP: there is no such operation; -FI_EINVAL: too many pieces. */
int qv_fi_update_init(struct qv_fi_update *update, const struct qv_fi_memory *memory,
		      const struct fi_msg_atomic *msg, const struct fi_ioc *compare,
		      size_t ncompare, const struct fi_ioc *result, size_t nresult, uint64_t flags);
/* As fi_query_atomic. */
int qv_fi_update_query(const struct qv_fi_memory *memory, enum fi_datatype type, enum fi_op op,
		       struct fi_atomic_attr *attr, uint64_t flags);

#endif /* QV_FI_MEMORY_H */
