/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - packets from one process to another, in memory that both have mapped. A slot is one
 * cache line; what does not fit goes through the staging area behind the slots, which fills and
 * empties in the same order. Both begin with one page, and grow when that is too little: most
 * pairs say little, and memory that nobody touches costs nothing. One sender, one receiver, no lock.
 * The other side may write what it likes at any time: each word of it is read once, and checked.
 */
#ifndef QV_NODE_RING_H
#define QV_NODE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/compiler.h"
#include "engine/base/copy.h"

#define QV_RING_LINE        64u
#define QV_RING_FIRST       60u         /* slots that it begins with: a page, with the head */
#define QV_RING_SLOTS       124u        /* that it grows to: two pages */
#define QV_RING_INLINE      40u         /* bytes that travel in the slot itself */
#define QV_RING_STAGE_FIRST (4u << 10)  /* bytes of the staging area that it begins with */
#define QV_RING_STAGE       (64u << 10) /* that it grows to when they are used */
#define QV_RING_LARGE       (2u << 20)  /* and when its owner allows; all are powers of two */
#define QV_RING_FULLS       4u          /* times that it is full before the owner is asked */
#define QV_RING_PACKET      ((16u << 10) + 256u) /* longest packet: 16 KiB behind a header */
#define QV_RING_AHEAD       4u                   /* slots ahead of the one that is written */
#define QV_RING_TELL        16u                  /* slots read before the sender is told */
#define QV_RING_TELL_BYTES  (16u << 10)          /* or bytes of the staging area */

/* What a slot holds. */
enum qv_slot_kind {
	QV_SLOT_PACKET,      /* a packet of the protocol, with its header */
	QV_SLOT_TAGGED,      /* the payload of a plain tagged message */
	QV_SLOT_TAGGED_DATA, /* and completion data */
	QV_SLOT_REQUEST,     /* of a one-sided operation (calls.h) */
	QV_SLOT_REPLY,
	QV_SLOT_KINDS
};

/* The word: number of the slot (bits 32 to 63), staged (31), more slots follow (30), kind (16 to
 * 29), length (0 to 15). */
struct qv_slot {
	_Atomic uint64_t word; /* stored last */
	uint64_t tag, data;
	char payload[QV_RING_INLINE]; /* or, staged, a uint32_t: where it begins there */
};
#define QV_SLOT_STAGED    0x80000000u
#define QV_SLOT_GROWS     0x40000000u /* of the last slot: the ring does not turn, but grows, here */
#define QV_SLOT_KIND(low) ((low) >> 16 & 0x3fff)

struct qv_ring {
	/* Written by the receiver. */
	alignas(QV_RING_LINE) _Atomic uint32_t
		consumed; /* slots that it has read; told now and then */
	alignas(QV_RING_LINE) _Atomic uint32_t asleep; /* 0: it looks; else which sleep this is */
	/* Not used; the slots end with a page. */
	alignas(QV_RING_LINE) char spare[QV_RING_LINE];
	/* Written by the sender. */
	alignas(QV_RING_LINE) _Atomic uint32_t ended; /* 1: its memory is no longer to be read */
	alignas(QV_RING_LINE) struct qv_slot slots[QV_RING_SLOTS];
	char stage[QV_RING_LARGE];
};

_Static_assert(sizeof(struct qv_slot) == QV_RING_LINE, "a slot is a line");
_Static_assert(offsetof(struct qv_ring, slots[QV_RING_FIRST]) == 4096, "the first slots do too");
_Static_assert(offsetof(struct qv_ring, stage) == 8192, "the slots end with a page");
_Static_assert(QV_RING_TELL_BYTES + 2 * QV_RING_PACKET < QV_RING_STAGE, "a sender always goes on");

/* The sender's own. */
struct qv_ring_tx {
	struct qv_ring *ring; /* NULL: not connected */
	uint32_t sent;        /* slots */
	uint32_t end;         /* there may be so many, as far as is known */
	uint32_t at;          /* the next slot */
	uint32_t slots;       /* the ring has so many */
	bool grow;            /* it is to have all, from where it would turn */
	uint32_t heard;       /* slots that had come from there at the last packet */
	uint32_t rung;        /* the sleep that it was woken from last */
	uint32_t put, freed;  /* bytes of the staging area: used ever, read by the receiver */
	uint32_t stage, base; /* its size, and `put` where it began */
	uint32_t fulls;       /* times that it was full, and not large; */
	uint32_t full_at;     /* the last time, `put` was this */
	uint32_t staged[QV_RING_SLOTS]; /* `put` behind the packet in each slot */
};

/* The receiver's own. */
struct qv_ring_rx {
	struct qv_ring *ring; /* NULL: it has not connected to us */
	uint32_t got;         /* slots read */
	uint32_t at;          /* the next one */
	uint32_t slots;       /* the ring has so many, as the sender has said */
	uint32_t told;        /* slots that the sender was told of */
	uint32_t untold;      /* bytes of the staging area since */
};

/* A ring that nothing has gone through. */
QV_INLINE struct qv_ring_tx qv_ring_tx_begin(struct qv_ring *ring)
{
	return (struct qv_ring_tx){.ring = ring,
				   .slots = QV_RING_FIRST,
				   .end = QV_RING_FIRST,
				   .stage = QV_RING_STAGE_FIRST};
}

QV_INLINE struct qv_ring_rx qv_ring_rx_begin(struct qv_ring *ring)
{
	return (struct qv_ring_rx){.ring = ring, .slots = QV_RING_FIRST};
}

/* ring.c: the sender asks how far the receiver is. False: no slot is free. */
bool qv_ring_refresh(struct qv_ring_tx *tx);
/* ring.c: room for len bytes in the staging area, in one piece; its offset there, or UINT32_MAX. */
uint32_t qv_ring_stage(struct qv_ring_tx *tx, uint32_t len);
/* ring.c: make the area large. False: there is no memory for that. */
bool qv_ring_enlarge(struct qv_ring_tx *tx);
/* ring.c: give the memory of a large one back, but for packets that may not have been read. False:
 * too much was not read. */
bool qv_ring_reduce(struct qv_ring_tx *tx);

/* ring.c: tell the sender how much has been read. */
void qv_ring_tell(struct qv_ring_rx *rx);

/* The sender gives memory back that its packets may name. What is in the ring may still be read. */
QV_INLINE void qv_ring_end(struct qv_ring_tx *tx)
{
	atomic_store_explicit(&tx->ring->ended, 1, memory_order_relaxed);
	__sync_synchronize(); /* before its owner writes there again */
}

/* Has it done so? Asked behind a read of that memory. */
QV_INLINE bool qv_ring_has_ended(const struct qv_ring_rx *rx)
{
	__sync_synchronize();
	return atomic_load_explicit(&rx->ring->ended, memory_order_relaxed);
}

/* The slot for the next packet; NULL: all are full. */
QV_INLINE struct qv_slot *qv_ring_slot(struct qv_ring_tx *tx)
{
	if (QV_UNLIKELY(tx->sent == tx->end) && !qv_ring_refresh(tx))
		return NULL;
	return &tx->ring->slots[tx->at];
}

/* Behind the last slot: the first, or those that it grows by. */
QV_INLINE void qv_ring_tx_turn(struct qv_ring_tx *tx, uint32_t *low)
{
	if (tx->slots == QV_RING_FIRST)
		qv_ring_refresh(tx);
	if (!tx->grow) {
		tx->at = 0;
		return;
	}
	tx->at++;
	tx->grow = false;
	tx->slots = QV_RING_SLOTS;
	tx->end += QV_RING_SLOTS - QV_RING_FIRST;
	*low |= QV_SLOT_GROWS;
}

/* The receiver may see it from now on. */
QV_INLINE void qv_ring_publish(struct qv_ring_tx *tx, struct qv_slot *slot, uint32_t low)
{
	tx->staged[tx->at] = tx->put;
	if (QV_UNLIKELY(tx->at + 1 == tx->slots))
		qv_ring_tx_turn(tx, &low);
	else
		tx->at++;
	atomic_store_explicit(&slot->word, (uint64_t)++tx->sent << 32 | low, memory_order_release);
}

/* Into a line that the receiver is about to read: whole words where there are some. */
QV_INLINE void qv_ring_copy(char *to, const void *from, size_t len)
{
	if (QV_LIKELY(len == sizeof(uint64_t)))
		memcpy(to, from, sizeof(uint64_t));
	else
		qv_copy(to, from, len);
}

/* Is there a packet? Its word, read once. */
QV_INLINE bool qv_ring_next(const struct qv_ring_rx *rx, uint32_t *low)
{
	uint64_t word = atomic_load_explicit(&rx->ring->slots[rx->at].word, memory_order_acquire);

	*low = (uint32_t)word;
	return (uint32_t)(word >> 32) == rx->got + 1;
}

/* Where its bytes are; NULL: nonsense. */
QV_INLINE const char *qv_ring_body(const struct qv_ring_rx *rx, uint32_t low, size_t *len)
{
	const struct qv_slot *slot = &rx->ring->slots[rx->at];
	uint32_t at;

	*len = low & 0xffff;
	if (QV_LIKELY(!(low & QV_SLOT_STAGED)))
		return QV_LIKELY(*len <= QV_RING_INLINE) ? slot->payload : NULL;
	memcpy(&at, slot->payload, sizeof at);
	return *len <= QV_RING_PACKET && at <= QV_RING_LARGE - *len ? rx->ring->stage + at : NULL;
}

/* Tag or data of a slot, read once: the other side may write it again meanwhile. */
QV_INLINE uint64_t qv_ring_word(const uint64_t *word)
{
	return *(const volatile uint64_t *)word;
}

/* It is done with, and no more than its slot was used. */
QV_INLINE void qv_ring_advance_slot(struct qv_ring_rx *rx)
{
	if (QV_UNLIKELY(++rx->at == rx->slots))
		rx->at = 0;
	if (QV_LIKELY(++rx->got - rx->told < QV_RING_TELL))
		return;
	qv_ring_tell(rx);
}

/* The same of any. */
QV_INLINE void qv_ring_advance(struct qv_ring_rx *rx, uint32_t low)
{
	if (QV_UNLIKELY(low & QV_SLOT_GROWS && rx->slots == QV_RING_FIRST &&
			rx->at + 1 == rx->slots))
		rx->slots = QV_RING_SLOTS;
	if (low & QV_SLOT_STAGED)
		rx->untold += low & 0xffff;
	qv_ring_advance_slot(rx);
	if (rx->untold >= QV_RING_TELL_BYTES)
		qv_ring_tell(rx);
}

/* Does the receiver sleep, and was not woken yet? With no fence between the packet and this look:
 * who goes to sleep makes one for everybody (sleep.c). */
QV_INLINE bool qv_ring_must_wake(struct qv_ring_tx *tx)
{
	atomic_signal_fence(memory_order_seq_cst);
	return QV_UNLIKELY(atomic_load_explicit(&tx->ring->asleep, memory_order_relaxed) !=
			   tx->rung);
}

#endif /* QV_NODE_RING_H */
