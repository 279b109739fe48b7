/* SPDX-License-Identifier: BSD-2-Clause */
/* rig_memory.c - see rig_memory.h. */
#include "rig_memory.h"

#include <string.h>

struct rig_memory rig_memory[QV_LOOP_MAX];

static struct rig_memory *of(void *owner)
{
	return &rig_memory[((struct rig_node *)owner)->index];
}

/* In two pieces, where it is long enough. */
static int find(void *owner, const struct qv_span *span, unsigned access, struct iovec *iov,
		size_t *cnt)
{
	const size_t all = sizeof rig_memory->words, cut = span->len / 24 * 8;
	char *at = (char *)of(owner)->words + span->addr;

	(void)access;
	if (span->key != RIG_KEY || span->addr > all || span->len > all - span->addr)
		return QV_EINVAL;
	iov[0] = (struct iovec){at, cut};
	iov[1] = (struct iovec){at + cut, span->len - cut};
	*cnt = 2;
	return QV_OK;
}

static bool can_update(void *owner, uint16_t what, size_t len, size_t operands, bool before)
{
	(void)owner;
	(void)before;
	return what == RIG_ADD && len % 8 == 0 && operands <= 2;
}

static void update(void *owner, uint16_t what, const struct iovec *iov, size_t cnt,
		   const void *operands, size_t len, void *before)
{
	const size_t all = qv_iov_len(iov, cnt);
	const char *operand = operands;
	uint64_t word, add;

	(void)what;
	of(owner)->updates++;
	assert_int_equal(all, len);
	if (before)
		qv_iov_get(iov, cnt, before);
	for (size_t at = 0; operand && at < len; at += 8) {
		struct iovec one[QV_SPANS];
		size_t n = qv_iov_slice(iov, cnt, at, 8, one);

		qv_iov_get(one, n, &word);
		memcpy(&add, operand + at, 8);
		word += add;
		qv_iov_put(one, n, 0, &word, 8);
	}
}

static bool counts_reads(void *owner)
{
	(void)owner;
	return true;
}

static void written(void *owner, uint64_t key)
{
	assert_int_equal(key, RIG_KEY);
	of(owner)->written++;
}

static void touched(void *owner, const struct qv_touch *touch)
{
	(void)touch;
	of(owner)->told++;
}

void rig_memory_open(struct rig *rig, unsigned at)
{
	static const struct qv_memory_ops ops = {.find = find,
						 .can_update = can_update,
						 .update = update,
						 .counts_reads = counts_reads,
						 .written = written,
						 .touched = touched};

	memset(&rig_memory[at], 0, sizeof rig_memory[at]);
	qv_proto_open_memory(rig->node[at].p, &ops);
}
