/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vectors_cpu.c - the corpus is what it was, and every instruction set of this CPU gives its
 * answers, by several structures and in both directions.
 *
 *     test_vectors_cpu FILE SUM    SUM: FNV-1a of the file, in hex
 */
#include "tests/kernel/combine_ref.h"
#include "vectors.h"

#include <quiver/match.h>

#include <stdlib.h>
#include <string.h>

static int wrong;

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

static struct qv_match *engine_of(const char *structure, enum qv_isa isa)
{
	struct qv_match_settings s;
	struct qv_match *engine;

	qv_match_settings_default(&s);
	s.structure = structure;
	s.isa = isa;
	if (qv_match_create(&s, &engine))
		abort();
	return engine;
}

static struct qv_recv recv_of(const struct qv_offload_key *k)
{
	return (struct qv_recv){.tag = k->tag, .ignore = k->ignore, .src = k->src};
}

static struct qv_msg msg_of(const struct qv_offload_key *k)
{
	return (struct qv_msg){.tag = k->tag, .src = k->src};
}

static void say(const char *what, const char *structure, enum qv_isa isa, uint32_t at)
{
	if (wrong++ < 10)
		fprintf(stderr, "wrong: %s, %s/%s, element %u\n", what, structure, qv_isa_name(isa),
			at);
}

/* The entries are posted, the queries arrive. */
static void arrivals(const struct qv_vec_match *v, const char *structure, enum qv_isa isa)
{
	struct qv_match *engine = engine_of(structure, isa);
	struct qv_recv *recvs = need(calloc(v->n, sizeof(*recvs)));
	struct qv_msg *none;

	for (uint32_t i = 0; i < v->n; i++) {
		recvs[i] = recv_of(&v->entries[i]);
		if (qv_match_post(engine, &recvs[i], &none) || none)
			abort();
	}
	for (uint32_t i = 0; i < v->m; i++) {
		struct qv_recv *r = qv_match_arrive(engine, v->queries[i].tag, v->queries[i].src);

		if ((r ? (uint32_t)(r - recvs) : QV_OFFLOAD_NONE) != v->result[i])
			say("arrival", structure, isa, i);
	}
	qv_match_destroy(engine);
	free(recvs);
}

/* The entries have arrived, the queries are posted. */
static void posts(const struct qv_vec_match *v, const char *structure, enum qv_isa isa)
{
	struct qv_match *engine = engine_of(structure, isa);
	struct qv_msg *msgs = need(calloc(v->n, sizeof(*msgs)));
	struct qv_recv *recvs = need(calloc(v->m, sizeof(*recvs)));

	for (uint32_t i = 0; i < v->n; i++) {
		msgs[i] = msg_of(&v->entries[i]);
		if (qv_match_queue(engine, &msgs[i]))
			abort();
	}
	for (uint32_t i = 0; i < v->m; i++) {
		struct qv_msg *m;

		recvs[i] = recv_of(&v->queries[i]);
		if (qv_match_post(engine, &recvs[i], &m))
			abort();
		if ((m ? (uint32_t)(m - msgs) : QV_OFFLOAD_NONE) != v->result[i])
			say("post", structure, isa, i);
	}
	qv_match_destroy(engine);
	free(recvs);
	free(msgs);
}

/* Which side are messages? Both, where no key is a wildcard. */
static int are_messages(const struct qv_offload_key *keys, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (keys[i].ignore || keys[i].src == QV_SRC_ANY)
			return 0;
	return 1;
}

static void match_one(const struct qv_vec_match *v, uint64_t *ways)
{
	static const char *const structures[] = {"auto", "llv", "ll", "hash"};
	for (int isa = QV_ISA_SCALAR; qv_isa_name(isa); isa++) {
		for (size_t s = 0; s < 4 && qv_isa_usable(isa); s++) {
			if (are_messages(v->queries, v->m)) {
				arrivals(v, structures[s], isa);
				++*ways;
			}
			if (are_messages(v->entries, v->n)) {
				posts(v, structures[s], isa);
				++*ways;
			}
		}
	}
}

static void combine_one(const struct qv_vec_combine *v)
{
	const size_t item = qv_type_size(v->type);
	char *dst = need(malloc(v->count * item));
	const struct qv_combine *combine;

	for (int isa = QV_ISA_SCALAR; qv_isa_name(isa); isa++) {
		if (qv_combine_open(isa, &combine))
			continue;
		if (qv_combine_many(combine, v->op, v->type, dst, v->src, v->k, v->count))
			abort();
		for (uint32_t i = 0; i < v->count; i++)
			if (!qv_ref_same(v->op, v->type, dst + i * item,
					 (const char *)v->result + i * item))
				say(qv_op_name(v->op), qv_type_name(v->type), isa, i);
	}
	free(dst);
}

int main(int argc, char **argv)
{
	struct qv_vectors v;
	struct qv_vec_match match;
	struct qv_vec_combine combine;
	uint64_t ways = 0;

	if (argc != 3 || qv_vec_open(&v, argv[1]))
		return 2;
	if (v.sum != strtoull(argv[2], NULL, 16)) {
		fprintf(stderr, "the corpus has changed: its sum is %016llx, not %s\n",
			(unsigned long long)v.sum, argv[2]);
		wrong++;
	}
	while (qv_vec_next_match(&v, &match))
		match_one(&match, &ways);
	while (qv_vec_next_combine(&v, &combine))
		combine_one(&combine);
	printf("%u batches (%llu runs of an engine), %u arrays: %d wrong\n", v.matches,
	       (unsigned long long)ways, v.combines, wrong);
	qv_vec_close(&v);
	return wrong || !ways ? 1 : 0;
}
