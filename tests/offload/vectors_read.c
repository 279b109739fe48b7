/* SPDX-License-Identifier: BSD-2-Clause */
/* vectors_read.c - the corpus from its file. */
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

static int read_all(struct qv_vectors *v, FILE *in)
{
	long size;

	if (fseek(in, 0, SEEK_END) || (size = ftell(in)) < 16 || fseek(in, 0, SEEK_SET))
		return -1;
	v->bytes = (size_t)size;
	v->data = malloc(v->bytes);
	return v->data && fread(v->data, 1, v->bytes, in) == v->bytes ? 0 : -1;
}

int qv_vec_open(struct qv_vectors *v, const char *file)
{
	FILE *in = fopen(file, "rb");
	int err;

	memset(v, 0, sizeof(*v));
	err = in ? read_all(v, in) : -1;
	if (in)
		fclose(in);
	if (err || memcmp(v->data, QV_VEC_MAGIC, 8)) {
		fprintf(stderr, "%s: not a corpus that can be read\n", file);
		free(v->data);
		return -1;
	}
	memcpy(&v->matches, v->data + 8, 4);
	memcpy(&v->combines, v->data + 12, 4);
	v->at = 16;
	v->sum = 0xcbf29ce484222325u;
	for (size_t i = 0; i < v->bytes; i++)
		v->sum = (v->sum ^ v->data[i]) * 0x100000001b3u;
	return 0;
}

void qv_vec_close(struct qv_vectors *v)
{
	free(v->data);
}

/* The next `bytes`, and zeroes up to a multiple of 8. */
static const void *take(struct qv_vectors *v, size_t bytes)
{
	const void *p = v->data + v->at;

	bytes += -bytes % 8;
	if (bytes > v->bytes - v->at) {
		fprintf(stderr, "the corpus is broken at byte %zu\n", v->at);
		exit(1);
	}
	v->at += bytes;
	return p;
}

int qv_vec_next_match(struct qv_vectors *v, struct qv_vec_match *out)
{
	uint32_t head[2];

	if (v->match_at == v->matches)
		return 0;
	v->match_at++;
	memcpy(head, take(v, sizeof(head)), sizeof(head));
	out->n = head[0];
	out->m = head[1];
	out->entries = take(v, out->n * sizeof(*out->entries));
	out->queries = take(v, out->m * sizeof(*out->queries));
	out->result = take(v, out->m * sizeof(*out->result));
	return 1;
}

int qv_vec_next_combine(struct qv_vectors *v, struct qv_vec_combine *out)
{
	struct qv_vec_match unread;
	uint32_t head[4];
	size_t bytes;

	while (qv_vec_next_match(v, &unread)) {
	}
	if (v->combine_at == v->combines)
		return 0;
	v->combine_at++;
	memcpy(head, take(v, sizeof(head)), sizeof(head));
	*out = (struct qv_vec_combine){
		.op = head[0], .type = head[1], .k = head[2], .count = head[3]};
	bytes = out->count * qv_type_size(out->type);
	if (out->k > QV_VEC_ARRAYS || !bytes) {
		fprintf(stderr, "the corpus is broken at byte %zu\n", v->at);
		exit(1);
	}
	for (uint32_t i = 0; i < out->k; i++)
		out->src[i] = take(v, bytes);
	out->result = take(v, bytes);
	return 1;
}
