/* SPDX-License-Identifier: BSD-2-Clause */
/* auto_kit.h - what the tests of structure auto share. */
#ifndef QV_AUTO_KIT_H
#define QV_AUTO_KIT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/match/auto/auto.h"

enum { DEEP = 20000 };

/* Memory that counts, and fails when told to. */
struct heap {
	unsigned long calls;
	unsigned long fail_from; /* this call and all after it fail; 0: none */
};

static inline void *heap_get(void *ctx, size_t align, size_t size)
{
	struct heap *h = ctx;

	h->calls++;
	return h->fail_from && h->calls >= h->fail_from ? NULL : aligned_alloc(align, size);
}

static inline void heap_release(void *ctx, void *p, size_t size)
{
	free(p);
}

static inline struct qv_match *create(struct heap *h, struct qv_match_tuning *t)
{
	struct qv_match *m;

	memset(h, 0, sizeof(*h));
	t->mem.get = heap_get;
	t->mem.release = heap_release;
	t->mem.ctx = h;
	assert_int_equal(qv_match_create_tuned(NULL, t, &m), QV_OK);
	return m;
}

static inline struct qv_match *create_plain(struct heap *h)
{
	struct qv_match_tuning t = {.first_seq = 0};

	return create(h, &t);
}

static inline uint32_t draw(uint32_t below)
{
	static uint64_t s = 88172645463325252u;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (uint32_t)((s >> 32) * below >> 32);
}

static inline void post(struct qv_match *m, struct qv_recv *r, uint64_t tag, uint64_t ignore,
			uint32_t src)
{
	struct qv_msg *msg;

	*r = (struct qv_recv){.tag = tag, .ignore = ignore, .src = src};
	assert_int_equal(qv_match_post(m, r, &msg), QV_OK);
	assert_null(msg);
}

static inline struct qv_msg *post_for(struct qv_match *m, uint64_t tag, uint64_t ignore,
				      uint32_t src)
{
	static struct qv_recv r;
	struct qv_msg *msg;

	r = (struct qv_recv){.tag = tag, .ignore = ignore, .src = src};
	assert_int_equal(qv_match_post(m, &r, &msg), QV_OK);
	assert_non_null(msg);
	return msg;
}

static inline void queue(struct qv_match *m, struct qv_msg *msg, uint64_t tag, uint32_t src)
{
	*msg = (struct qv_msg){.tag = tag, .src = src};
	assert_int_equal(qv_match_queue(m, msg), QV_OK);
}

static inline uint64_t inspected(const struct qv_match *m)
{
	struct qv_match_stats s;

	qv_match_get_stats(m, &s);
	return s.inspected;
}

static inline uint64_t flips(const struct qv_match *m)
{
	struct qv_match_stats s;

	qv_match_get_stats(m, &s);
	return s.mode_flips;
}

#endif /* QV_AUTO_KIT_H */
