/* SPDX-License-Identifier: BSD-2-Clause */
/* guard_device.c - a device that is a plain loop in this process and fails when told to. */
#include "guard.h"
#include "vectors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct qv_loop qv_loop;
int qv_guard_wrong, qv_guard_said;
const char *qv_guard_now = "";
char qv_guard_line[640];

static void nap(void)
{
	if (qv_loop.nap_us)
		usleep((useconds_t)qv_loop.nap_us);
}

static int dev_open(const struct qv_offload_config *config, struct qv_offload_dev **dev, char *why,
		    size_t room)
{
	(void)config;
	snprintf(why, room, "told to");
	*dev = (void *)&qv_loop;
	qv_loop.opened += qv_loop.open_status == 0;
	return qv_loop.open_status;
}

static void dev_close(struct qv_offload_dev *dev)
{
	qv_loop.closed += dev != NULL;
}

static const struct qv_offload_caps *dev_caps(const struct qv_offload_dev *dev)
{
	(void)dev;
	return &qv_loop.caps;
}

static const char *dev_why(const struct qv_offload_dev *dev)
{
	(void)dev;
	return "told to";
}

/* The answers of two queries that could as well be the other way round. */
static void lie(const struct qv_offload_key *queries, uint32_t m, uint32_t *result)
{
	for (uint32_t i = 1; i < m; i++)
		for (uint32_t j = 0; j < i; j++) {
			const uint32_t r = result[i];

			if (queries[i].tag != queries[j].tag || queries[i].src != queries[j].src ||
			    queries[i].ignore != queries[j].ignore || result[i] == result[j])
				continue;
			result[i] = result[j];
			result[j] = r;
			return;
		}
}

static int dev_match(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		     const struct qv_offload_key *queries, uint32_t m, uint32_t *result)
{
	uint8_t taken[1024];

	(void)dev;
	EXPECT(n <= qv_loop.caps.max_keys && m <= qv_loop.caps.max_keys);
	if (qv_loop.on_match)
		qv_loop.on_match();
	nap();
	if (qv_loop.status)
		return qv_loop.status;
	qv_vec_match(entries, n, queries, m, taken, result);
	if (qv_loop.lie && ++qv_loop.calls % qv_loop.lie == 0)
		lie(queries, m, result);
	return QV_OK;
}

static int dev_combines(const struct qv_offload_dev *dev, enum qv_op op, enum qv_type type)
{
	(void)dev;
	return qv_combine_defined(op, type) && type != QV_TYPE_LONG_DOUBLE;
}

/* Two elements before it fails. */
static int dev_combine_many(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
			    const void *const *src, size_t k, size_t count, size_t *done)
{
	const struct qv_combine *cpu;

	(void)dev;
	nap();
	if (qv_loop.idle)
		return *done = count, QV_OK;
	*done = qv_loop.status ? (count < 2 ? count : 2) : count;
	qv_combine_open(QV_ISA_SCALAR, &cpu);
	if (qv_loop.status == QV_EPEER)
		*done = 0;
	else
		qv_combine_many(cpu, op, type, dst, src, k, *done);
	return qv_loop.status;
}

static int dev_combine(struct qv_offload_dev *dev, enum qv_op op, enum qv_type type, void *dst,
		       const void *a, const void *b, size_t count, size_t *done)
{
	const void *const src[2] = {a, b};

	return dev_combine_many(dev, op, type, dst, src, 2, count, done);
}

static int dev_pack(struct qv_offload_dev *dev, void *dst, const void *src,
		    const struct qv_offload_piece *pieces, size_t n)
{
	char *to = dst;

	(void)dev;
	for (size_t i = 0; !qv_loop.status && i < n; to += pieces[i++].bytes)
		memcpy(to, (const char *)src + pieces[i].offset, pieces[i].bytes);
	return qv_loop.status;
}

const struct qv_offload_ops qv_loop_ops = {
	.name = "loop",
	.open = dev_open,
	.close = dev_close,
	.caps = dev_caps,
	.why = dev_why,
	.match_batch = dev_match,
	.combines = dev_combines,
	.combine = dev_combine,
	.combine_many = dev_combine_many,
	.pack = dev_pack,
	.unpack = dev_pack, /* not called with a status of QV_OK */
};

/* What is said. */

void qv_guard_say(void *context, int warn, const char *text)
{
	(void)context;
	snprintf(qv_guard_line, sizeof(qv_guard_line), "%s", text);
	qv_guard_said += warn;
}

void qv_loop_reset(void)
{
	qv_guard_said = 0;
	qv_guard_line[0] = 0;
	qv_loop = (struct qv_loop){.caps = {.name = "loop",
					    .max_keys = QV_LOOP_MOST,
					    .max_bytes = 4096,
					    .max_pack = 4096}};
}

struct qv_offload *qv_guard_open(uint32_t check_every, uint32_t failures)
{
	const struct qv_offload_settings set = {.ops = &qv_loop_ops,
						.min_batch = 1,
						.min_bytes = 1,
						.failures = failures,
						.check_every = check_every,
						.say = qv_guard_say};
	struct qv_offload *o;

	qv_loop_reset();
	if (qv_offload_create(&set, &o))
		abort();
	return o;
}
