/* SPDX-License-Identifier: BSD-2-Clause */
/* cases.c - names of cases: which exist and what they mean. */
#include "fabric.h"

#include <stdlib.h>
#include <string.h>

const char *const qv_fb_unit[] = {"us", "Mmsg/s", "MB/s", "ns/op"};

static const struct {
	const char *name;
	bool quick;
} standard[] = {
	{"lat/8/prq0", true},         {"lat/8/prq1", false},        {"lat/8/prq16", true},
	{"lat/8/prq256", false},      {"lat/8/prq1000", true},      {"lat/8/prq10000", false},
	{"lat/8/umq1", false},        {"lat/8/umq16", true},        {"lat/8/umq256", false},
	{"lat/8/umq1000", true},      {"lat/8/umq10000", false},    {"lat/4096/prq0", true},
	{"lat/4096/prq16", false},    {"lat/4096/prq256", false},   {"lat/4096/prq1000", false},
	{"lat/4096/prq10000", false}, {"lat/4096/umq16", false},    {"lat/4096/umq256", false},
	{"lat/4096/umq1000", false},  {"lat/4096/umq10000", false}, {"rate/8/1", true},
	{"rate/8/64", true},          {"rate/8/64/prq1000", true},  {"rate/8/64/prq10000", false},
	{"bw/4096", false},           {"bw/65536", true},           {"bw/1048576", true},
	{"bw/4194304", false},        {"prq/rand/16", false},       {"prq/rand/1000", false},
	{"prq/rand/10000", false},    {"umq/rand/16", false},       {"umq/rand/1000", false},
	{"umq/rand/10000", false},
};

/* A decimal number up to high at *text, which moves behind it. */
static int number(const char **text, unsigned long high, uint32_t *out)
{
	char *end;
	unsigned long value;

	if (**text < '0' || **text > '9')
		return -1;
	value = strtoul(*text, &end, 10);
	if (value > high)
		return -1;
	*text = end;
	*out = (uint32_t)value;
	return 0;
}

/* "prq<n>" or "umq<n>" */
static int queue(const char **text, struct qv_fb_case *out)
{
	if (strncmp(*text, "prq", 3) == 0)
		out->queue = QV_FB_PRQ;
	else if (strncmp(*text, "umq", 3) == 0)
		out->queue = QV_FB_UMQ;
	else
		return -1;
	*text += 3;
	return number(text, QV_FB_DEPTH, &out->depth);
}

static int parse_rest(const char *text, struct qv_fb_case *out)
{
	if (number(&text, (unsigned long)256 << 20, &out->bytes))
		return -1;
	if (out->kind == QV_FB_BW) {
		size_t fit = out->bytes ? QV_FB_WINDOW_SIZE / out->bytes : 16;

		out->window = fit > 16 ? 16 : fit < 1 ? 1 : (uint32_t)fit;
		return *text || !out->bytes ? -1 : 0;
	}
	if (*text++ != '/')
		return -1;
	if (out->kind == QV_FB_LAT) {
		out->window = 1;
		return queue(&text, out) || *text ? -1 : 0;
	}
	if (number(&text, QV_FB_WINDOW, &out->window) || !out->window)
		return -1;
	if ((size_t)out->bytes * out->window > 16 * QV_FB_WINDOW_SIZE)
		return -1;
	if (*text == '/') {
		text++;
		if (queue(&text, out))
			return -1;
	}
	return *text ? -1 : 0;
}

/* "<position>/<depth>" of a queue, as quiver bench match names it. */
static int parse_self(const char *text, enum qv_fb_queue queue, struct qv_fb_case *out)
{
	static const char *const positions[] = {"head/", "tail/", "rand/", "miss/"};

	out->kind = QV_FB_SELF;
	out->queue = queue;
	out->bytes = sizeof(uint64_t);
	out->window = 1;
	for (int i = QV_FB_HEAD; i <= QV_FB_MISS; i++) {
		size_t n = strlen(positions[i]);

		out->position = (enum qv_fb_position)i;
		if (strncmp(text, positions[i], n) == 0) {
			text += n;
			if (number(&text, QV_FB_DEPTH, &out->depth) || *text)
				return -1;
			/* There is something to take. */
			return out->depth || i == QV_FB_MISS ? 0 : -1;
		}
	}
	return -1;
}

int qv_fb_case_parse(const char *name, struct qv_fb_case *out)
{
	static const char *const prefix[] = {"lat/", "rate/", "bw/"};

	memset(out, 0, sizeof(*out));
	if (strlen(name) >= sizeof(out->name))
		return -1;
	strcpy(out->name, name);
	if (strncmp(name, "prq/", 4) == 0)
		return parse_self(name + 4, QV_FB_PRQ, out);
	if (strncmp(name, "umq/", 4) == 0)
		return parse_self(name + 4, QV_FB_UMQ, out);
	for (int kind = QV_FB_LAT; kind <= QV_FB_BW; kind++) {
		size_t n = strlen(prefix[kind]);

		out->kind = (enum qv_fb_kind)kind;
		if (strncmp(name, prefix[kind], n) == 0)
			return parse_rest(name + n, out);
	}
	return -1;
}

size_t qv_fb_case_list(const struct qv_bench_opts *opts, struct qv_fb_case **out)
{
	const size_t all = sizeof(standard) / sizeof(standard[0]);
	size_t n = 0;

	*out = calloc(all + 1, sizeof(**out));
	if (!*out)
		abort();
	for (size_t i = 0; i < all; i++) {
		/* A filter says itself how much is to be run. */
		if (opts->filter ? !qv_bench_case_wanted(opts, standard[i].name)
				 : opts->quick && !standard[i].quick)
			continue;
		if (qv_fb_case_parse(standard[i].name, &(*out)[n]) == 0)
			n++;
	}
	/* Any other size or depth can be named in full. */
	if (!n && opts->filter && qv_fb_case_parse(opts->filter, &(*out)[0]) == 0)
		n = 1;
	return n;
}
