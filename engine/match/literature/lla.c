/* SPDX-License-Identifier: BSD-2-Clause */
/* lla.c - a linked list of arrays. */
#include "lla.h"

/* entry NULL: a hole. */
struct recv_slot {
	uint64_t tag, ignore;
	uint64_t *entry;
	uint32_t src;
};

struct msg_slot {
	uint64_t tag;
	uint64_t *entry;
	uint32_t src;
};

/* Bytes of a block when nobody says how many entries it should have. */
#define BLOCK_BYTES 128

static struct recv_slot *recv_slots(struct qv_lla_block *b)
{
	return (struct recv_slot *)b->slots;
}

static struct msg_slot *msg_slots(struct qv_lla_block *b)
{
	return (struct msg_slot *)b->slots;
}

static size_t slot_size(const struct qv_lla *l)
{
	return l->side == QV_POSTED ? sizeof(struct recv_slot) : sizeof(struct msg_slot);
}

static size_t block_size(const struct qv_lla *l)
{
	return sizeof(struct qv_lla_block) + l->room * slot_size(l);
}

static uint64_t **entry_at(const struct qv_lla *l, struct qv_lla_block *b, uint32_t i)
{
	return l->side == QV_POSTED ? &recv_slots(b)[i].entry : &msg_slots(b)[i].entry;
}

void qv_lla_init(struct qv_lla *l, struct qv_mem *mem, enum qv_side side, uint32_t room)
{
	memset(l, 0, sizeof(*l));
	l->mem = mem;
	l->side = side;
	l->room = room;
	if (!room)
		l->room = (uint32_t)((BLOCK_BYTES - sizeof(struct qv_lla_block)) / slot_size(l));
}

void qv_lla_clear(struct qv_lla *l)
{
	struct qv_lla_block *next;

	for (struct qv_lla_block *b = l->first; b; b = next) {
		next = b->next;
		qv_mem_put(l->mem, b, block_size(l));
	}
	qv_mem_put(l->mem, l->spare, block_size(l));
	l->first = l->last = l->spare = NULL;
}

static QV_COLD int add_block(struct qv_lla *l)
{
	struct qv_lla_block *b = l->spare ? l->spare : qv_mem_get(l->mem, block_size(l));

	if (!b)
		return QV_ENOMEM;
	l->spare = NULL;
	b->head = b->tail = 0;
	b->next = NULL;
	b->prev = l->last;
	if (l->last)
		l->last->next = b;
	else
		l->first = b;
	l->last = b;
	return QV_OK;
}

static void drop_block(struct qv_lla *l, struct qv_lla_block *b)
{
	if (b->prev)
		b->prev->next = b->next;
	else
		l->first = b->next;
	if (b->next)
		b->next->prev = b->prev;
	else
		l->last = b->prev;
	if (l->spare)
		qv_mem_put(l->mem, b, block_size(l));
	else
		l->spare = b;
}

int qv_lla_append(struct qv_lla *l, uint64_t *e)
{
	struct qv_lla_block *b = l->last;
	uint32_t i;

	if (!b || b->tail == l->room) {
		if (add_block(l))
			return QV_ENOMEM;
		b = l->last;
	}
	i = b->tail++;
	if (l->side == QV_POSTED) {
		const struct qv_recv *r = qv_recv_of(e);

		recv_slots(b)[i] = (struct recv_slot){r->tag, r->ignore, e, r->src};
	} else {
		const struct qv_msg *msg = qv_msg_of(e);

		msg_slots(b)[i] = (struct msg_slot){msg->tag, e, msg->src};
	}
	e[QV_E_LINK] = (uintptr_t)b;
	e[QV_E_LINK + 1] = i;
	return QV_OK;
}

void qv_lla_remove(struct qv_lla *l, const uint64_t *e)
{
	struct qv_lla_block *b = (struct qv_lla_block *)qv_entry(e[QV_E_LINK]);
	uint32_t i = (uint32_t)e[QV_E_LINK + 1];

	*entry_at(l, b, i) = NULL;
	while (b->head < b->tail && !*entry_at(l, b, b->head))
		b->head++;
	while (b->head < b->tail && !*entry_at(l, b, b->tail - 1))
		b->tail--;
	if (b->head < b->tail)
		return;
	if (l->first == l->last)
		b->head = b->tail = 0;
	else
		drop_block(l, b);
}

/* Holes keep their keys, and are told from entries when a key fits: that is the rare case. */
uint64_t *qv_lla_find_recv(const struct qv_lla *l, uint64_t tag, uint32_t src, uint64_t *seen)
{
	uint64_t n = 0;

	for (struct qv_lla_block *b = l->first; b; b = b->next) {
		const struct recv_slot *s = recv_slots(b);

		for (uint32_t i = b->head; i < b->tail; i++) {
			if (qv_accepts(s[i].tag, s[i].ignore, s[i].src, tag, src) && s[i].entry) {
				*seen += n + i - b->head + 1;
				return s[i].entry;
			}
		}
		n += b->tail - b->head;
	}
	*seen += n;
	return NULL;
}

uint64_t *qv_lla_find_msg(const struct qv_lla *l, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *seen)
{
	uint64_t n = 0;

	for (struct qv_lla_block *b = l->first; b; b = b->next) {
		const struct msg_slot *s = msg_slots(b);

		for (uint32_t i = b->head; i < b->tail; i++) {
			if (qv_accepts(tag, ignore, src, s[i].tag, s[i].src) && s[i].entry) {
				*seen += n + i - b->head + 1;
				return s[i].entry;
			}
		}
		n += b->tail - b->head;
	}
	*seen += n;
	return NULL;
}

void qv_lla_each(const struct qv_lla *l, qv_each_fn *fn, void *ctx)
{
	for (struct qv_lla_block *b = l->first; b; b = b->next)
		for (uint32_t i = b->head; i < b->tail; i++)
			if (*entry_at(l, b, i))
				fn(ctx, *entry_at(l, b, i));
}

uint64_t *qv_lla_first(const struct qv_lla *l)
{
	if (!l->first || l->first->head == l->first->tail)
		return NULL;
	return *entry_at(l, l->first, l->first->head);
}
