/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.c - see pair.h. */
#include "pair.h"

#include <stdio.h>
#include <unistd.h>

#include "engine/node/internal.h"
#include "tests/proto/rig/need.h"

static void fill(char *to, uint32_t len, uint32_t seq)
{
	for (uint32_t i = 0; i < len; i++)
		to[i] = (char)(seq * 5 + i * 11 + (i >> 8));
}

void pair_open_small(struct pair *p)
{
	struct qv_ring *first;
	int fd;

	memset(p, 0, sizeof *p);
	first = qv_segment_make(&fd);
	QV_NEED(first);
	p->ring = guest_map_guarded(fd);
	qv_segment_unmap(first);
	close(fd);
	p->tx = qv_ring_tx_begin(p->ring);
	p->rx = qv_ring_rx_begin(p->ring);
}

void pair_open(struct pair *p)
{
	pair_open_small(p);
	pair_begin_at(p, 0, 0);
}

void pair_close(struct pair *p)
{
	guest_unmap_guarded(p->ring);
}

void pair_begin_at(struct pair *p, uint32_t number, uint32_t staged)
{
	pair_begin_small(p, number, staged);
	p->tx.slots = p->rx.slots = QV_RING_SLOTS;
	p->tx.end = number + QV_RING_SLOTS;
	p->tx.stage = QV_RING_STAGE;
	p->tx.base = 0;
}

void pair_begin_small(struct pair *p, uint32_t number, uint32_t staged)
{
	p->tx = qv_ring_tx_begin(p->ring);
	p->tx.sent = number;
	p->tx.end += number;
	p->tx.put = p->tx.freed = p->tx.base = staged;
	p->rx = qv_ring_rx_begin(p->ring);
	p->rx.got = p->rx.told = number;
	atomic_store(&p->ring->consumed, number);
	p->sent = p->got = 0;
	for (uint32_t i = 0; i < QV_RING_SLOTS; i++) {
		p->tx.staged[i] = staged;
		atomic_store(&p->ring->slots[i].word, /* what was there before */
			     (uint64_t)(number - QV_RING_SLOTS + 1 + i) << 32);
	}
}

bool pair_send(struct pair *p, uint32_t len)
{
	struct qv_slot *slot = qv_ring_slot(&p->tx);
	uint32_t at, low = len;
	char *body;

	if (!slot)
		return false;
	body = slot->payload;
	if (len > QV_RING_INLINE) {
		at = qv_ring_stage(&p->tx, len);
		if (at == UINT32_MAX)
			return false;
		QV_NEED(at % QV_RING_LINE == 0 && at <= QV_RING_LARGE - len);
		memcpy(slot->payload, &at, sizeof at);
		low |= QV_SLOT_STAGED;
		body = p->ring->stage + at;
	}
	fill(body, len, p->sent);
	p->len[p->sent++ % 256] = len;
	qv_ring_publish(&p->tx, slot, low);
	return true;
}

bool pair_receive(struct pair *p)
{
	char want[QV_RING_PACKET];
	const char *body;
	uint32_t low;
	size_t len;

	if (!qv_ring_next(&p->rx, &low))
		return false;
	body = qv_ring_body(&p->rx, low, &len);
	QV_NEED(body && len == p->len[p->got % 256]);
	fill(want, (uint32_t)len, p->got++);
	QV_NEED(!memcmp(body, want, len));
	qv_ring_advance(&p->rx, low);
	return true;
}

void pair_receive_all(struct pair *p)
{
	while (pair_receive(p))
		;
	QV_NEED(p->got == p->sent);
}
