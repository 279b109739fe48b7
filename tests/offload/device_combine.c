/* SPDX-License-Identifier: BSD-2-Clause */
/* device_combine.c - combine, pack and unpack on a device against the CPU. */
#include "tests/kernel/combine_ref.h"
#include "device.h"

#include <stdlib.h>
#include <string.h>

#define ops qv_device_ops

static void *need(size_t bytes)
{
	void *p = malloc(bytes + !bytes);

	if (!p)
		abort();
	return p;
}

static int differ(enum qv_op op, enum qv_type type, const char *got, const char *expected,
		  size_t count, const char *what)
{
	const size_t item = qv_type_size(type);

	for (size_t i = 0; i < count; i++) {
		if (qv_ref_same(op, type, got + i * item, expected + i * item))
			continue;
		fprintf(stderr, "wrong: %s of %s, %s: element %zu of %zu\n", qv_op_name(op),
			qv_type_name(type), what, i, count);
		return 1;
	}
	return 0;
}

static int corpus_array(struct qv_offload_dev *dev, const struct qv_vec_combine *v)
{
	const size_t bytes = v->count * qv_type_size(v->type);
	char *dst = need(bytes);
	size_t done = 0;
	int wrong;

	if (ops->combine_many(dev, v->op, v->type, dst, v->src, v->k, v->count, &done)) {
		fprintf(stderr, "wrong: %s of %s: %s\n", qv_op_name(v->op), qv_type_name(v->type),
			ops->why(dev));
		wrong = 1;
	} else {
		wrong = done != v->count ||
			differ(v->op, v->type, dst, v->result, v->count, "corpus");
	}
	free(dst);
	return wrong;
}

int qv_device_corpus_combine(struct qv_offload_dev *dev, const char *file)
{
	unsigned run = 0, cpu = 0;
	struct qv_vec_combine v;
	struct qv_vectors all;
	int wrong = 0;

	if (qv_vec_open(&all, file))
		exit(1);
	while (qv_vec_next_combine(&all, &v)) {
		if (!ops->combines(dev, v.op, v.type)) {
			cpu++;
			continue;
		}
		run++;
		wrong += corpus_array(dev, &v);
	}
	printf("combine: %u arrays of the corpus, %u for the CPU: %d wrong\n", run, cpu, wrong);
	qv_vec_close(&all);
	return wrong + !run;
}

/* Every pair, long arrays. */

static void fill(enum qv_type type, char *p, size_t count)
{
	const size_t item = qv_type_size(type), drawn = count < 5000 ? count : 5000;

	for (size_t i = 0; i < drawn; i++)
		qv_ref_draw(type, p + i * item);
	for (size_t i = drawn; i < count; i++)
		memcpy(p + i * item, p + i % 4999 * item, item);
}

/* dst is a, b, both or neither. */
static int one(struct qv_offload_dev *dev, const struct qv_combine *cpu, enum qv_op op,
	       enum qv_type type, char *const array[4], size_t count, int shape)
{
	static const char *const names[] = {"dst apart", "dst = a", "dst = b", "all the same"};
	char *a = array[0], *b = shape == 3 ? a : array[1];
	char *dst = shape == 1 || shape == 3 ? a : shape == 2 ? b : array[2];
	size_t done = 0;

	fill(type, a, count);
	if (b != a)
		fill(type, b, count);
	if (qv_combine_to(cpu, op, type, array[3], a, b, count))
		abort();
	if (ops->combine(dev, op, type, dst, a, b, count, &done) || done != count) {
		fprintf(stderr, "wrong: %s of %s, %s: %s\n", qv_op_name(op), qv_type_name(type),
			names[shape], ops->why(dev));
		return 1;
	}
	return differ(op, type, dst, array[3], count, names[shape]);
}

static int many(struct qv_offload_dev *dev, const struct qv_combine *cpu, enum qv_op op,
		enum qv_type type, char *const array[4], size_t count)
{
	const void *src[5] = {array[0], array[1], array[0], array[1], array[1]};
	size_t done = 0;

	fill(type, array[0], count);
	fill(type, array[1], count);
	if (qv_combine_many(cpu, op, type, array[3], src, 5, count))
		abort();
	if (ops->combine_many(dev, op, type, array[0], src, 5, count, &done) || done != count) {
		fprintf(stderr, "wrong: %s of %s, five: %s\n", qv_op_name(op), qv_type_name(type),
			ops->why(dev));
		return 1;
	}
	return differ(op, type, array[0], array[3], count, "five");
}

int qv_device_combine(struct qv_offload_dev *dev, int thin)
{
	/* Bytes: below and above a work-item, a work-group, and three chunks of a slot. */
	static const size_t bytes[] = {16, 48, 1040, 4096 + 48, 3 * ((size_t)4 << 20) + 80};
	const size_t most = bytes[4] + 64;
	char *array[4] = {need(most), need(most), need(most), need(most)};
	const struct qv_combine *cpu;
	int wrong = 0, run = 0;

	qv_combine_open(QV_ISA_AUTO, &cpu);
	for (int type = 0; type < QV_N_TYPES; type++) {
		for (int op = 0; op < QV_N_OPS; op++) {
			const int lengths = (op + type) % thin ? 4 : 5;

			if (!ops->combines(dev, op, type))
				continue;
			for (int i = 0; i < lengths; i++) {
				const size_t count = bytes[i] / qv_type_size(type);

				/* Long ones for one shape in turn. */
				for (int shape = 0; shape < 4; shape++)
					if (i < 4 || shape == (op + type) % 4)
						wrong += one(dev, cpu, op, type, array, count,
							     shape);
				if (i < 4 || (op + type) % 4 == 0)
					wrong += many(dev, cpu, op, type, array, count);
				run++;
			}
		}
	}
	printf("combine: %d pairs and lengths: %d wrong\n", run, wrong);
	for (int i = 0; i < 4; i++)
		free(array[i]);
	return wrong + !run;
}

/* Pack. */

#define PIECES 40
#define SPAN   200000

static int pack_round(struct qv_offload_dev *dev, struct qv_vec_rnd *rnd, char *src, char *packed,
		      char *back)
{
	struct qv_offload_piece pieces[PIECES];
	const size_t n = 1 + qv_vec_random(rnd) % PIECES;
	size_t at = 0, bytes = 0;

	for (size_t i = 0; i < n; i++) {
		at += qv_vec_random(rnd) % 300;
		pieces[i].offset = at;
		pieces[i].bytes = qv_vec_random(rnd) % (i % 8 ? 500 : 20000);
		at += pieces[i].bytes;
		bytes += pieces[i].bytes;
	}
	for (size_t i = 0; i < at; i++)
		src[i] = (char)(qv_vec_random(rnd) >> 11);
	memset(packed, 0x55, SPAN);
	memset(back, 0x55, SPAN);
	if (ops->pack(dev, packed, src, pieces, n) || ops->unpack(dev, back, packed, pieces, n)) {
		fprintf(stderr, "wrong: pack: %s\n", ops->why(dev));
		return 1;
	}
	at = 0;
	for (size_t i = 0, end = 0; i < n; i++) {
		const struct qv_offload_piece *p = &pieces[i];

		for (; end < p->offset; end++)
			if (back[end] != 0x55)
				return 1;
		if (memcmp(packed + at, src + p->offset, p->bytes) ||
		    memcmp(back + p->offset, src + p->offset, p->bytes))
			return 1;
		at += p->bytes;
		end += p->bytes;
	}
	return packed[bytes] != 0x55;
}

int qv_device_pack(struct qv_offload_dev *dev, long rounds)
{
	char *src = need(SPAN), *packed = need(SPAN), *back = need(SPAN);
	const struct qv_offload_piece far = {UINT64_MAX, 1};
	struct qv_vec_rnd rnd = {7};
	int wrong = 0;

	for (long i = 0; i < rounds; i++)
		wrong += pack_round(dev, &rnd, src, packed, back);
	if (ops->pack(dev, packed, src, &far, 1) != QV_EINVAL)
		wrong++;
	printf("pack: %ld messages there and back: %d wrong\n", rounds, wrong);
	free(src);
	free(packed);
	free(back);
	return wrong;
}
