/* SPDX-License-Identifier: BSD-2-Clause */
/* life.c - what a vrank of a test does: it counts what it says and hears, and takes that along. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "group.h"

#define MANY 12

static uint32_t length_of(uint32_t from, uint32_t to, uint32_t i)
{
	return 4 + (from * 7 + to * 13 + i * 31) % (qv_vrank_longest - 3);
}

int qv_vrank_talk(struct member *m, uint32_t from, uint32_t to)
{
	struct being *b = &m->beings[from];
	char data[512];
	const struct qv_vrank_item item = {to, from, from % 3, data,
					   length_of(from, to, b->sent[to])};
	int rc;

	memset(data, (int)(from + to), sizeof(data));
	memcpy(data, &b->sent[to], 4);
	b->sent[to]++; /* it may be answered before this is over */
	rc = qv_vranks_insert(m->v, &item, qv_vrank_now);
	if (rc)
		b->sent[to]--;
	assert_true(!rc || rc == QV_EAGAIN);
	return rc;
}

/* Whom, and which item it is for each, is said in it. */
int qv_vrank_talk_to_many(struct member *m, uint32_t from)
{
	const enum qv_section by = (enum qv_section)draw(QV_N_SECTIONS);
	struct being *b = &m->beings[from];
	uint32_t *const sent = by ? b->passed : b->sent;
	uint32_t to[MANY], data[2 * MANY], n = 0;
	struct qv_vrank_item item = {.from = from, .entry = by ? 4 : 3, .data = data};
	int rc;

	for (uint32_t i = 0; i < MANY; i++) {
		bool known = false;

		to[n] = draw(qv_vrank_group.vranks);
		for (uint32_t k = 0; k < n; k++)
			known |= to[k] == to[n];
		data[2 * n] = to[n];
		data[2 * n + 1] = sent[to[n]];
		n += !known;
	}
	for (uint32_t i = 0; i < n; i++)
		sent[to[i]]++;
	item.bytes = 8 * n;
	rc = qv_vranks_multicast(m->v, &item, by, to, n, qv_vrank_now);
	for (uint32_t i = 0; i < n && rc; i++)
		sent[to[i]]--;
	assert_true(!rc || rc == QV_EAGAIN);
	return rc;
}

static void come_to_many(struct being *b, const struct qv_vrank_item *item)
{
	uint32_t *const got = item->entry == 4 ? b->received : b->got;
	uint32_t data[2];

	for (size_t at = 0; at + sizeof(data) <= item->bytes; at += sizeof(data)) {
		memcpy(data, (const char *)item->data + at, sizeof(data));
		if (data[0] != item->to)
			continue;
		assert_int_equal(data[1], got[item->from]++);
		return;
	}
	fail_msg("vrank %u is not one of them", item->to);
}

static void come_alone(struct being *b, const struct qv_vrank_item *item)
{
	const char *data = item->data;
	uint32_t number;

	memcpy(&number, data, 4);
	assert_int_equal(number, b->got[item->from]++);
	assert_int_equal(item->bytes, length_of(item->from, item->to, number));
	assert_int_equal(item->entry, item->from % 3);
	for (size_t i = 4; i < item->bytes; i++)
		assert_int_equal((uint8_t)data[i], (uint8_t)(item->from + item->to));
}

void qv_vrank_hear(void *port, const struct qv_vrank_item *item)
{
	struct member *m = port;
	struct being *b = &m->beings[item->to];
	assert_true(b->alive && qv_vranks_here(m->v, item->to));
	if (item->entry >= 3)
		come_to_many(b, item);
	else
		come_alone(b, item);
	if (qv_vrank_lively && !draw(20)) /* who is given an item never has to wait */
		assert_int_equal(qv_vrank_talk_to_many(m, item->to), QV_OK);
	if (qv_vrank_lively && !draw(3))
		assert_int_equal(qv_vrank_talk(m, item->to,
					       draw(2) ? item->from : draw(qv_vrank_group.vranks)),
				 QV_OK);
	if (qv_vrank_lively && !draw(9))
		qv_vranks_move(m->v, item->to, draw(qv_vrank_group.stream.ranks), qv_vrank_now);
}

int qv_vrank_go(void *port, uint32_t vrank, struct qv_vrank_state *state)
{
	struct member *m = port;
	struct being *b = &m->beings[vrank];
	char *load = malloc(b->load + 1);

	assert_int_equal(b->alive, 1);
	memset(load, (int)vrank, b->load);
	assert_int_equal(qv_vrank_add(state, b, sizeof(*b)), QV_OK);
	assert_int_equal(qv_vrank_add(state, load, b->load), QV_OK);
	free(load);
	memset(b, 0, sizeof(*b));
	if (qv_vrank_lively && !draw(4))
		for (uint32_t e = 0; e < qv_vrank_group.vranks; e++)
			if (qv_vranks_here(m->v, e)) {
				assert_int_equal(qv_vrank_talk(m, e, vrank), QV_OK); /* behind it */
				break;
			}
	return QV_OK;
}

int qv_vrank_settle(void *port, uint32_t vrank, const void *state, size_t bytes)
{
	struct member *m = port;
	struct being *b = &m->beings[vrank];
	const uint8_t *load = (const uint8_t *)state + sizeof(*b);

	assert_int_equal(b->alive, 0);
	assert_true(bytes >= sizeof(*b));
	memcpy(b, state, sizeof(*b));
	assert_int_equal(bytes, sizeof(*b) + b->load);
	for (uint32_t i = 0; i < b->load; i++)
		assert_int_equal(load[i], (uint8_t)vrank);
	b->load = draw(1500);
	if (qv_vrank_lively && !draw(3))
		assert_int_equal(qv_vrank_talk(m, vrank, draw(qv_vrank_group.vranks)), QV_OK);
	if (qv_vrank_lively && !draw(6))
		qv_vranks_move(m->v, vrank, draw(qv_vrank_group.stream.ranks), qv_vrank_now);
	return QV_OK;
}
