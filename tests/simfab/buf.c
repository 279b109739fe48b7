/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buf.c - buffers of the simulated applications. One that is not in use any more is poisoned and
 * kept a while: a late write is found when it leaves, a late read arrives as nonsense. What leaves
 * is all poison, and is used again as it is.
 */
#include "app.h"

#include <string.h>

#define KEPT       2048u
#define KEPT_BYTES ((size_t)32 << 20)
#define GUARD      32u
#define SIZES      40u /* of rooms: powers of two, from 64 bytes */

struct head {
	size_t len, magic;
	struct head *next; /* of those that may be used again */
	unsigned size;
};
#define MAGIC ((size_t)0x62756666)

static struct head *kept[KEPT];
static unsigned first, nkept;
static size_t kept_bytes;
static struct head *again[SIZES];

static struct head *head_of(const char *buf)
{
	struct head *h = (struct head *)(uintptr_t)buf - 1;

	if (h->magic != MAGIC)
		sf_broken("a buffer's head was overwritten");
	return h;
}

static void check(struct head *h)
{
	const unsigned char *p = (const unsigned char *)(h + 1);
	size_t n = h->len + GUARD, i = 0;

	if (*p == SF_POISON && !memcmp(p, p + 1, n - 1))
		return;
	while (p[i] == SF_POISON)
		i++;
	sf_broken("byte %zu of a buffer of %zu was written after its operation was over", i,
		  h->len);
}

static struct head *new_head(unsigned size)
{
	size_t room = (size_t)64 << size;
	struct head *h = sf_grow(NULL, sizeof *h + room);

	memset(h + 1, SF_POISON, room);
	return h;
}

char *sf_buf_get(size_t len)
{
	struct head *h;
	unsigned size = 0;

	while ((size_t)64 << size < len + GUARD)
		size++;
	h = again[size];
	if (h)
		again[size] = h->next;
	else
		h = new_head(size);
	*h = (struct head){.len = len, .magic = MAGIC, .size = size};
	return (char *)(h + 1);
}

static void let_go(void)
{
	struct head *h = kept[first];

	check(h);
	first = (first + 1) % KEPT;
	nkept--;
	kept_bytes -= h->len;
	h->magic = 0;
	h->next = again[h->size];
	again[h->size] = h;
}

void sf_buf_put(char *buf, size_t used)
{
	struct head *h = head_of(buf);

	memset(buf, SF_POISON, used);
	while (nkept && (nkept == KEPT || kept_bytes + h->len > KEPT_BYTES))
		let_go();
	kept[(first + nkept++) % KEPT] = h;
	kept_bytes += h->len;
}

void sf_buf_check_all(void)
{
	for (unsigned i = 0; i < nkept; i++)
		check(kept[(first + i) % KEPT]);
}

/* Its first 8 bytes are the id. */
static uint64_t word(uint64_t id, size_t i)
{
	return i ? (id + i) * 0x9e3779b97f4a7c15u : id;
}

void sf_buf_fill(char *buf, size_t len, uint64_t id)
{
	size_t whole = len / 8, left = len % 8;
	uint64_t w;

	for (size_t i = 0; i < whole; i++) {
		w = word(id, i);
		memcpy(buf + 8 * i, &w, 8);
	}
	w = word(id, whole);
	memcpy(buf + 8 * whole, &w, left);
}

bool sf_buf_is(const char *buf, size_t len, uint64_t id)
{
	size_t whole = len / 8, left = len % 8;
	uint64_t w, differ = 0;

	for (size_t i = 0; i < whole; i++) {
		memcpy(&w, buf + 8 * i, 8);
		differ |= w ^ word(id, i);
	}
	w = word(id, whole);
	return !differ && !memcmp(buf + 8 * whole, &w, left);
}

bool sf_buf_is_clean(const char *buf, size_t len)
{
	const struct head *h = head_of(buf);
	size_t room = h->len + GUARD;

	for (size_t i = len; i < room && i < len + 64; i++)
		if ((unsigned char)buf[i] != SF_POISON)
			return false;
	for (size_t i = h->len; i < room; i++)
		if ((unsigned char)buf[i] != SF_POISON)
			return false;
	return true;
}
