/* SPDX-License-Identifier: BSD-2-Clause */
/* vlist.c - a linked list of vector blocks: upkeep. The searches are in vlist_find.c. */
#include <assert.h>

#include "vlist.h"

/* Merged blocks keep this much room, or the next append or removal would undo the work. */
#define MERGED_MAX 48
/* Blocks above this are dense enough to be left alone. */
#define THIN_MAX 32

static size_t planes_of(const struct qv_vlist *v)
{
	return v->side == QV_POSTED ? QV_PLANES_RECV : QV_PLANES_MSG;
}

static size_t block_size(const struct qv_vlist *v)
{
	return sizeof(struct qv_vblock) + planes_of(v) * sizeof(qv_plane);
}

/* Blocks are aligned to a cache line, so block and index fit one word. */
static uint64_t place(const struct qv_vblock *b, uint32_t i)
{
	return (uint64_t)(uintptr_t)b | i;
}

static struct qv_vblock *block_of(uint64_t word)
{
	return (struct qv_vblock *)(uintptr_t)(word & ~(uint64_t)(QV_VBLOCK_LEN - 1));
}

static uint32_t index_of(uint64_t word)
{
	return word & (QV_VBLOCK_LEN - 1);
}

void qv_vlist_init(struct qv_vlist *v, struct qv_match *m, enum qv_side side, uint32_t word)
{
	memset(v, 0, sizeof(*v));
	v->mem = &m->mem;
	v->kern = m->kern;
	v->side = side;
	v->word = word;
}

void qv_vlist_clear(struct qv_vlist *v)
{
	struct qv_vblock *next;

	for (struct qv_vblock *b = v->head; b; b = next) {
		next = b->next;
		qv_mem_put(v->mem, b, block_size(v));
	}
	qv_mem_put(v->mem, v->spare, block_size(v));
	v->head = v->tail = v->spare = NULL;
	v->count = 0;
	v->has_any = v->fresh = 0;
}

static struct qv_vblock *new_block(struct qv_vlist *v)
{
	struct qv_vblock *b = qv_mem_get(v->mem, block_size(v));

	/* Kernels compare whole groups; what they find in slots never used is not looked at. */
	if (b)
		memset(b->planes, 0, planes_of(v) * sizeof(qv_plane));
	return b;
}

static QV_COLD int add_block(struct qv_vlist *v)
{
	struct qv_vblock *b = v->spare ? v->spare : new_block(v);

	if (!b)
		return QV_ENOMEM;
	v->spare = NULL;
	b->next = NULL;
	b->prev = v->tail;
	b->live = 0;
	b->used = b->count = 0;
	if (v->tail)
		v->tail->next = b;
	else
		v->head = b;
	v->tail = b;
	return QV_OK;
}

static QV_COLD void drop_block(struct qv_vlist *v, struct qv_vblock *b)
{
	if (b->prev)
		b->prev->next = b->next;
	else
		v->head = b->next;
	if (b->next)
		b->next->prev = b->prev;
	else
		v->tail = b->prev;
	if (v->spare)
		qv_mem_put(v->mem, b, block_size(v));
	else
		v->spare = b;
}

QV_INLINE void write_key(struct qv_vblock *b, uint32_t i, uint64_t tag, uint32_t src)
{
	b->planes[QV_PLANE_KEY][i] = qv_kern_key((uint32_t)tag, src);
	b->planes[QV_PLANE_SRC][i] = src;
	b->planes[QV_PLANE_HIGH][i] = (uint32_t)(tag >> 32);
}

int qv_vlist_append(struct qv_vlist *v, uint64_t *e)
{
	struct qv_vblock *b = v->tail;
	uint32_t i;

	if (QV_UNLIKELY(!b || b->used == QV_VBLOCK_LEN)) {
		if (add_block(v))
			return QV_ENOMEM;
		b = v->tail;
	}
	i = b->used++;
	if (v->side == QV_POSTED) {
		const struct qv_recv *r = qv_recv_of(e);

		write_key(b, i, r->tag, r->src);
		b->planes[QV_PLANE_IGNORE][i] = (uint32_t)r->ignore;
		b->planes[QV_PLANE_IGNORE_HIGH][i] = (uint32_t)(r->ignore >> 32);
		v->has_any |= r->src == QV_SRC_ANY;
	} else {
		const struct qv_msg *msg = qv_msg_of(e);

		write_key(b, i, msg->tag, msg->src);
	}
	v->fresh++;
	b->entry[i] = e;
	b->live |= (uint64_t)1 << i;
	b->count++;
	v->count++;
	e[v->word] = place(b, i);
	return QV_OK;
}

static void move_entry(struct qv_vlist *v, struct qv_vblock *to, uint32_t t,
		       const struct qv_vblock *from, uint32_t f)
{
	for (size_t p = 0; p < planes_of(v); p++)
		to->planes[p][t] = from->planes[p][f];
	to->entry[t] = from->entry[f];
	to->entry[t][v->word] = place(to, t);
}

/* Move the live entries of `from` to the slots of `to` from t on; returns the slot after them. */
static uint32_t pack(struct qv_vlist *v, struct qv_vblock *to, uint32_t t,
		     const struct qv_vblock *from)
{
	for (uint64_t live = from->live; live; live &= live - 1) {
		uint32_t f = (uint32_t)__builtin_ctzll(live);

		if (to != from || t != f)
			move_entry(v, to, t, from, f);
		t++;
	}
	return t;
}

/* Make one block of two neighbours, a the older. */
static QV_COLD void merge(struct qv_vlist *v, struct qv_vblock *a, struct qv_vblock *b)
{
	uint32_t n = pack(v, a, pack(v, a, 0, a), b);

	assert(n == a->count + b->count && n < QV_VBLOCK_LEN);
	a->used = a->count = n;
	a->live = ((uint64_t)1 << n) - 1;
	drop_block(v, b);
}

static QV_COLD void thin_out(struct qv_vlist *v, struct qv_vblock *b)
{
	if (b->next && b->count + b->next->count <= MERGED_MAX)
		merge(v, b, b->next);
	else if (b->prev && b->count + b->prev->count <= MERGED_MAX)
		merge(v, b->prev, b);
}

static QV_COLD void now_empty(struct qv_vlist *v, struct qv_vblock *b)
{
	b->used = 0;
	if (v->head != v->tail)
		drop_block(v, b);
	else
		v->has_any = 0;
}

void qv_vlist_remove_at(struct qv_vlist *v, struct qv_vplace at)
{
	struct qv_vblock *b = at.b;

	b->live &= ~((uint64_t)1 << at.i);
	v->count--;
	if (--b->count == 0) {
		now_empty(v, b);
		return;
	}
	if (at.i == b->used - 1)
		b->used = QV_VBLOCK_LEN - (uint32_t)__builtin_clzll(b->live);
	/* Not at every removal: a pair that is too full to merge would be looked at each time. */
	if (b->count <= THIN_MAX && (b->count & 7) == 0)
		thin_out(v, b);
}

void qv_vlist_remove(struct qv_vlist *v, const uint64_t *e)
{
	const struct qv_vplace at = {block_of(e[v->word]), index_of(e[v->word])};

	qv_vlist_remove_at(v, at);
}

uint64_t *qv_vlist_next(const struct qv_vlist *v, const uint64_t *e)
{
	const struct qv_vblock *b = v->head;
	uint64_t rest = b ? b->live : 0;

	if (e) {
		b = block_of(e[v->word]);
		/* Two shifts: a shift by 64 is undefined. */
		rest = b->live >> index_of(e[v->word]) >> 1 << index_of(e[v->word]) << 1;
		if (!rest) {
			b = b->next;
			rest = b ? b->live : 0;
		}
	}
	return rest ? b->entry[__builtin_ctzll(rest)] : NULL;
}
