/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.c - work for a device that fails, whose every answer must be right all the same. */
#include "faults.h"

#include "tests/kernel/combine_ref.h"
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#define KEYS  200
#define COUNT 5000

int qv_faults_wrong;
const char *qv_faults_name = "";
static char last_line[640];
static int lines;

static void say(void *context, int warn, const char *text)
{
	(void)context;
	if (!warn)
		return;
	lines++;
	snprintf(last_line, sizeof(last_line), "%s", text);
}

struct qv_offload *qv_faults_open(const struct qv_offload_ops *ops,
				  const struct qv_offload_config *config, uint32_t check_every)
{
	const struct qv_offload_settings set = {.ops = ops,
						.config = *config,
						.min_batch = 1,
						.min_bytes = 1,
						.check_every = check_every,
						.say = say};
	struct qv_offload *o;

	if (qv_offload_create(&set, &o))
		abort();
	lines = 0;
	last_line[0] = 0;
	return o;
}

/* Work. */

void qv_faults_arrivals(struct qv_offload *o, uint64_t seed)
{
	struct qv_offload_key entries[KEYS], queries[KEYS];
	struct qv_recv recvs[KEYS], *took[KEYS];
	struct qv_msg msgs[KEYS], *pmsgs[KEYS], *none;
	uint32_t expected[KEYS];
	uint8_t taken[KEYS];
	struct qv_vec_rnd rnd = {seed};
	struct qv_match *engine;

	if (qv_match_create(NULL, &engine))
		abort();
	qv_vec_draw(&rnd, seed % 4, entries, KEYS, queries, KEYS);
	qv_vec_match(entries, KEYS, queries, KEYS, taken, expected);
	for (int i = 0; i < KEYS; i++) {
		recvs[i] = (struct qv_recv){
			.tag = entries[i].tag, .ignore = entries[i].ignore, .src = entries[i].src};
		msgs[i] = (struct qv_msg){.tag = queries[i].tag, .src = queries[i].src};
		pmsgs[i] = &msgs[i];
		if (qv_match_post(engine, &recvs[i], &none) || none)
			abort();
	}
	EXPECT(qv_offload_arrive_many(o, engine, pmsgs, KEYS, took) == KEYS);
	for (int i = 0; i < KEYS; i++)
		EXPECT((took[i] ? (uint32_t)(took[i] - recvs) : QV_OFFLOAD_NONE) == expected[i]);
	qv_match_destroy(engine);
}

void qv_faults_posts(struct qv_offload *o, uint64_t seed)
{
	struct qv_offload_key entries[KEYS], queries[KEYS];
	struct qv_recv recvs[KEYS], *precvs[KEYS];
	struct qv_msg msgs[KEYS], *took[KEYS];
	uint32_t expected[KEYS];
	uint8_t taken[KEYS];
	struct qv_vec_rnd rnd = {seed};
	struct qv_match *engine;

	if (qv_match_create(NULL, &engine))
		abort();
	qv_vec_draw(&rnd, seed % 2 ? QV_VEC_WILD_POST : seed % 3, entries, KEYS, queries, KEYS);
	qv_vec_match(entries, KEYS, queries, KEYS, taken, expected);
	for (int i = 0; i < KEYS; i++) {
		msgs[i] = (struct qv_msg){.tag = entries[i].tag, .src = entries[i].src};
		recvs[i] = (struct qv_recv){
			.tag = queries[i].tag, .ignore = queries[i].ignore, .src = queries[i].src};
		precvs[i] = &recvs[i];
		if (qv_match_queue(engine, &msgs[i]))
			abort();
	}
	EXPECT(qv_offload_post_many(o, engine, precvs, KEYS, took) == KEYS);
	for (int i = 0; i < KEYS; i++)
		EXPECT((took[i] ? (uint32_t)(took[i] - msgs) : QV_OFFLOAD_NONE) == expected[i]);
	qv_match_destroy(engine);
}

void qv_faults_combine(struct qv_offload *o, enum qv_type type)
{
	static char a[COUNT * 16], b[COUNT * 16], expected[COUNT * 16];
	const size_t item = qv_type_size(type);
	const struct qv_combine *cpu;

	qv_combine_open(QV_ISA_AUTO, &cpu);
	for (size_t i = 0; i < COUNT; i++) {
		qv_ref_draw(type, a + i * item);
		qv_ref_draw(type, b + i * item);
	}
	qv_combine_to(cpu, QV_OP_SUM, type, expected, a, b, COUNT);
	EXPECT(qv_offload_combine(o, cpu, QV_OP_SUM, type, a, a, b, COUNT) == QV_OK);
	for (size_t i = 0; i < COUNT; i++)
		if (!qv_ref_same(QV_OP_SUM, type, a + i * item, expected + i * item)) {
			EXPECT(!"an element is wrong");
			return;
		}
}

struct qv_offload_stats qv_faults_end(struct qv_offload *o, const char *text)
{
	struct qv_offload_stats s;

	qv_offload_get_stats(o, &s);
	printf("%-12s %llu batches, %llu arrays, %llu failed, %llu by the CPU instead%s%s\n",
	       qv_faults_name, (unsigned long long)s.batches, (unsigned long long)s.arrays,
	       (unsigned long long)s.failed, (unsigned long long)s.fallback, lines ? ": " : "",
	       last_line);
	EXPECT(lines == (text != NULL));
	EXPECT(!text || strstr(last_line, text));
	EXPECT((s.state == QV_OFFLOAD_OPEN) == !text);
	EXPECT(s.wrong == 0);
	qv_offload_destroy(o);
	return s;
}
