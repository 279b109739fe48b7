/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stream_memory.c - items for many ranks where memory ends, at each place where some is asked
 * for: nothing has changed, or the stream has ended and says so.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/exchange/stream/stream.h"

static unsigned int left; /* so many times there is memory */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
	return left && left-- ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return left && left-- ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
	return left && left-- ? __real_realloc(old, size) : NULL;
}

static unsigned int came;

static void come(void *port, uint32_t from, const void *data, size_t bytes)
{
	came++;
}

static int send_never(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return QV_EAGAIN;
}

/* Rank 4 of 3 by 3. */
static struct qv_stream *open_stream(void)
{
	static const struct qv_stream_calls calls = {.send = send_never, .item = come};
	const struct qv_stream_spec spec = {.way = QV_WAY_MESH2, .ranks = 9, .rank = 4};
	struct qv_stream *s;

	left = 1000;
	came = 0;
	assert_int_equal(qv_stream_create(&spec, &calls, NULL, &s), QV_OK);
	return s;
}

static uint64_t inserted(const struct qv_stream *s)
{
	struct qv_stream_stats stats;

	qv_stream_stats(s, &stats);
	return stats.inserted;
}

static void at_sender(enum qv_section by)
{
	static const uint32_t to[] = {1, 3, 4, 5, 8};
	unsigned int failures = 0, ended = 0;
	int rc;

	do {
		struct qv_stream *s = open_stream();

		left = failures;
		rc = qv_stream_multicast(s, by, to, 5, "x", 1, 0);
		assert_int_equal(came, !rc);
		if (rc) {
			assert_int_equal(rc, QV_ENOMEM);
			assert_int_equal(inserted(s), 0);
			failures++;
			left = 1000;
			ended += qv_stream_progress(s, 0) == QV_ENOMEM;
		}
		qv_stream_free(s);
	} while (rc);
	assert_in_range(ended, 3, failures - 2); /* two arrays, then the buckets */
}

static void at_its_sender(void **state)
{
	for (enum qv_section by = QV_SECTION_WAY; by < QV_N_SECTIONS; by++)
		at_sender(by);
}

static void at_receiver(const char *message, size_t bytes)
{
	unsigned int failures = 0;
	int rc;

	do {
		struct qv_stream *s = open_stream();

		left = failures;
		rc = qv_stream_deliver(s, 3, message, bytes, 0);
		assert_int_equal(came, !rc);
		if (rc) {
			assert_int_equal(rc, QV_ENOMEM);
			failures++;
			left = 1000;
			assert_int_equal(qv_stream_progress(s, 0), QV_ENOMEM);
		}
		qv_stream_free(s);
	} while (rc);
	assert_in_range(failures, 4, 10); /* receivers, a table, a bucket, its bytes */
}

static void on_its_way(void **state)
{
	/* A head of this version and phase 0; for ranks 4 and 7, one byte for both. */
	static const char by_way[] = {QV_STREAM_VERSION, 0, 0, 0, 1, 0, 0, 0, 9, 4, 10, 6, 0, 'x'};
	/* Of the phase of sections, from rank 3; the first by ring, for ranks 4 and 7. */
	static const char by_ring[] = {
		QV_STREAM_VERSION, 2, 0, 0, 1, 0, 0, 0, 3, 7, 1, 1, 0, 6, 0, 0, 'x'};

	at_receiver(by_way, sizeof(by_way));
	at_receiver(by_ring, sizeof(by_ring));
}

/* There is none for one that has to wait for another. */
static void early(void **state)
{
	static const char message[] = {QV_STREAM_VERSION, 2, 0, 0, 1, 0, 0, 0, 3, 2, 2, 'x'};
	struct qv_stream *s = open_stream();

	left = 2; /* receivers, numbers */
	assert_int_equal(qv_stream_deliver(s, 3, message, sizeof(message), 0), QV_ENOMEM);
	left = 1000;
	assert_int_equal(qv_stream_progress(s, 0), QV_ENOMEM);
	assert_int_equal(came, 0);
	qv_stream_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(at_its_sender),
					   cmocka_unit_test(on_its_way), cmocka_unit_test(early)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
