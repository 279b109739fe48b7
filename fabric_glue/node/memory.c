/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - regions by key, and updates of what is in them. */
#include "memory.h"
#include "node.h"

#include "fabric_glue/data.h"

#include <search.h>
#include <string.h>

static int by_key(const void *a, const void *b)
{
	const uint64_t x = ((const struct qv_fi_region *)a)->key,
		       y = ((const struct qv_fi_region *)b)->key;

	return x < y ? -1 : x > y;
}

int qv_fi_region_init(struct qv_fi_region *region, const struct fi_mr_attr *attr, bool virt)
{
	if (!attr->iov_count || attr->iov_count > QV_SPANS)
		return -FI_EINVAL;
	region->counter = NULL;
	region->next = NULL;
	region->key = attr->requested_key;
	region->access = attr->access;
	region->base = virt ? (uintptr_t)attr->mr_iov->iov_base : 0;
	region->count = attr->iov_count;
	memcpy(region->iov, attr->mr_iov, region->count * sizeof *region->iov);
	region->len = qv_iov_len(region->iov, region->count);
	return 0;
}

void qv_fi_memory_init(struct qv_fi_memory *memory)
{
	memory->regions = NULL;
	memory->same_keys = false;
	if (qv_combine_open(qv_fi_params.isa, &memory->combine))
		memory->combine = NULL;
}

int qv_fi_memory_add(struct qv_fi_memory *memory, struct qv_fi_region *region)
{
	struct qv_fi_region **first = tsearch(region, &memory->regions, by_key);

	if (!first)
		return -FI_ENOMEM;
	if (*first == region)
		return 0;
	if (!memory->same_keys)
		return -FI_ENOKEY;
	region->next = (*first)->next;
	(*first)->next = region;
	return 0;
}

void qv_fi_memory_remove(struct qv_fi_memory *memory, struct qv_fi_region *region)
{
	struct qv_fi_region **at = tfind(region, &memory->regions, by_key);

	if (*at == region && !region->next) {
		tdelete(region, &memory->regions, by_key);
		return;
	}
	while (*at != region)
		at = &(*at)->next;
	*at = region->next;
	region->next = NULL;
}

/* The first of those with this key. */
static const struct qv_fi_region *regions_at(const struct qv_fi_memory *memory, uint64_t number)
{
	const struct qv_fi_region key = {.key = number};
	struct qv_fi_region **found = tfind(&key, &memory->regions, by_key);

	return found ? *found : NULL;
}

void *qv_fi_memory_counter(const struct qv_fi_memory *memory, uint64_t key)
{
	const struct qv_fi_region *region = regions_at(memory, key);

	while (region && !region->counter)
		region = region->next;
	return region ? region->counter : NULL;
}

static bool has(const struct qv_fi_region *region, const struct qv_span *span, uint64_t need)
{
	const uint64_t at = span->addr - region->base;

	return !(need & ~region->access) && at <= region->len && span->len <= region->len - at;
}

int qv_fi_memory_find(const struct qv_fi_memory *memory, const struct qv_span *span,
		      unsigned access, struct iovec *iov, size_t *cnt)
{
	const struct qv_fi_region *region = regions_at(memory, span->key);
	const uint64_t need = (access & QV_MEM_READ ? FI_REMOTE_READ : 0) |
			      (access & QV_MEM_WRITE ? FI_REMOTE_WRITE : 0);

	while (region && !has(region, span, need))
		region = region->next;
	if (!region)
		return QV_EINVAL;
	*cnt = qv_iov_slice(region->iov, region->count, span->addr - region->base, span->len, iov);
	return QV_OK;
}

bool qv_fi_memory_can_update(const struct qv_fi_memory *memory, uint16_t what, size_t len,
			     size_t operands, bool before)
{
	enum qv_type type;

	return memory->combine && qv_fi_node_can_update(what, operands, before) &&
	       qv_fi_type(what >> 8, &type) && len <= QV_FI_ATOMIC_MAX &&
	       len % qv_type_size(type) == 0;
}

void qv_fi_memory_update(const struct qv_fi_memory *memory, uint16_t what, const struct iovec *iov,
			 size_t cnt, const void *operands, size_t len, void *before)
{
	_Alignas(64) char copy[QV_FI_ATOMIC_MAX];
	char *at = cnt == 1 ? iov->iov_base : copy;

	if (cnt != 1) /* an element may be in two pieces */
		qv_iov_get(iov, cnt, copy);
	if (before)
		memcpy(before, at, len);
	qv_fi_node_update(memory->combine, what, at, operands, len);
	if (cnt != 1)
		qv_iov_put(iov, cnt, 0, copy, len);
}

/* Calls. */

/* Is there such an update? The bytes of an element. */
static bool is_known(const struct qv_fi_memory *memory, enum fi_datatype type, enum fi_op op,
		     size_t operands, bool result, size_t *size)
{
	enum qv_type t;

	if (!memory->combine || (unsigned)op > UINT8_MAX || !qv_fi_type(type, &t) ||
	    !qv_fi_node_can_update(QV_FI_NODE_UPDATE(op, type), operands, result))
		return false;
	*size = qv_type_size(t);
	return true;
}

static void bytes_of(struct iovec *to, const struct fi_ioc *from, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (struct iovec){from[i].addr, from[i].count * size};
}

int qv_fi_update_init(struct qv_fi_update *u, const struct qv_fi_memory *memory,
		      const struct fi_msg_atomic *msg, const struct fi_ioc *compare,
		      size_t ncompare, const struct fi_ioc *result, size_t nresult, uint64_t flags)
{
	const size_t operands = msg->op == FI_ATOMIC_READ ? 0 : msg->iov_count;
	size_t size;

	if (!is_known(memory, msg->datatype, msg->op, (operands != 0) + (ncompare != 0), nresult,
		      &size))
		return -FI_EOPNOTSUPP;
	if (msg->rma_iov_count > QV_SPANS || operands > QV_SPANS || ncompare > QV_SPANS ||
	    nresult > QV_SPANS)
		return -FI_EINVAL;
	bytes_of(u->operand, msg->msg_iov, operands, size);
	bytes_of(u->compare, compare, ncompare, size);
	bytes_of(u->result, result, nresult, size);
	for (size_t i = 0; i < msg->rma_iov_count; i++)
		u->there[i] = (struct qv_span){.addr = msg->rma_iov[i].addr,
					       .key = msg->rma_iov[i].key,
					       .len = msg->rma_iov[i].count * size};
	u->op = (struct qv_remote_op){
		.kind = QV_REMOTE_UPDATE,
		.what = QV_FI_NODE_UPDATE(msg->op, msg->datatype),
		.inject = flags & FI_INJECT,
		.there = u->there,
		.nthere = msg->rma_iov_count,
		.here = u->operand,
		.nhere = operands,
		.other = u->compare,
		.nother = ncompare,
		.before = u->result,
		.nbefore = nresult,
	};
	return 0;
}

int qv_fi_update_query(const struct qv_fi_memory *memory, enum fi_datatype type, enum fi_op op,
		       struct fi_atomic_attr *attr, uint64_t flags)
{
	const bool compare = flags & FI_COMPARE_ATOMIC;
	const bool fetch = compare || flags & FI_FETCH_ATOMIC;
	const size_t operands = compare ? 2 : !fetch || op != FI_ATOMIC_READ;

	if (!is_known(memory, type, op, operands, fetch, &attr->size))
		return -FI_EOPNOTSUPP;
	attr->count = QV_FI_ATOMIC_MAX / (operands > 1 ? 2 : 1) / attr->size;
	return 0;
}
