/* SPDX-License-Identifier: BSD-2-Clause */
/* test_base.c - pools, handles, copies. */
#include "tests/proto/rig/rig.h"

#include <stdlib.h>
#include <string.h>

#define OBJECTS 5000u

static void pool_objects(void **state)
{
	static const size_t sizes[] = {8, 64, 65, 1000, 70000};

	for (unsigned s = 0; s < 5; s++) {
		unsigned n = sizes[s] > 10000 ? 20 : OBJECTS;
		char **objects = malloc(n * sizeof *objects);
		struct qv_pool pool;

		qv_pool_init(&pool, sizes[s]);
		for (unsigned round = 0; round < 3; round++) {
			for (unsigned i = 0; i < n; i++) {
				objects[i] = qv_pool_get(&pool);
				assert_non_null(objects[i]);
				assert_int_equal((uintptr_t)objects[i] % 64, 0);
				memset(objects[i], (int)i, sizes[s]);
			}
			assert_int_equal(pool.live, n);
			for (unsigned i = 0; i < n; i++) { /* nobody has another's memory */
				assert_int_equal(objects[i][0], (char)i);
				assert_int_equal(objects[i][sizes[s] - 1], (char)i);
				qv_pool_put(&pool, objects[i]);
			}
			assert_int_equal(pool.live, 0);
		}
		qv_pool_fini(&pool);
		free(objects);
	}
}

/* With AddressSanitizer, what is not handed out must not be touched, nor what is behind it. */
static void pool_guarded(void **state)
{
#ifdef QV_POOL_GUARDED
	struct qv_pool pool;
	char *object;

	qv_pool_init(&pool, 128);
	object = qv_pool_get(&pool);
	assert_non_null(object);
	assert_null(__asan_region_is_poisoned(object, 128));
	assert_true(__asan_address_is_poisoned(object + 128));
	qv_pool_put(&pool, object);
	assert_true(__asan_address_is_poisoned(object));
	assert_ptr_equal(qv_pool_get(&pool), object);
	assert_null(__asan_region_is_poisoned(object, 128));
	qv_pool_fini(&pool);
#else
	skip();
#endif
}

static void pool_without_memory(void **state)
{
	struct qv_pool pool;
	unsigned n = 0;

	qv_pool_init(&pool, 1000);
	qv_nomem_after(2, 1);
	qv_nomem_enter();
	while (qv_pool_get(&pool))
		n++;
	assert_int_equal(qv_pool_grow(&pool), QV_ENOMEM);
	qv_nomem_leave();
	qv_nomem_after(0, 0);
	assert_int_equal(n, 65472 / (1024 + QV_POOL_BETWEEN)); /* of one chunk of 64 KiB */
	assert_int_equal(pool.live, n);
	assert_non_null(qv_pool_get(&pool));
	qv_pool_fini(&pool);
}

static void handles_in_use(void **state)
{
	uint64_t rng = rig_seed(), *handle = calloc(OBJECTS, sizeof *handle);
	char *object = malloc(OBJECTS); /* their addresses only */
	uint64_t *stale = calloc(OBJECTS, sizeof *stale);
	struct qv_handles h;
	uint32_t used = 0;

	qv_handles_init(&h);
	assert_null(qv_handle_get(&h, 0));
	assert_null(qv_handle_get(&h, UINT64_MAX));
	for (unsigned n = 0; n < 20 * OBJECTS; n++) {
		unsigned i = (unsigned)qv_random_below(&rng, OBJECTS);

		if (handle[i]) {
			assert_ptr_equal(qv_handle_get(&h, handle[i]), object + i);
			qv_handle_free(&h, handle[i]);
			stale[i] = handle[i];
			handle[i] = 0;
			used--;
		} else {
			handle[i] = qv_handle_new(&h, object + i);
			assert_true(handle[i] != QV_HANDLE_NONE && handle[i] != stale[i]);
			used++;
		}
		assert_int_equal(h.used, used);
		assert_null(qv_handle_get(&h, stale[i]));
		assert_null(qv_handle_get(&h, QV_HANDLE_NONE));
	}
	qv_handles_fini(&h);
	assert_null(qv_handle_get(&h, handle[0] ? handle[0] : stale[0]));
	free(stale);
	free(object);
	free(handle);
}

/* After four thousand million uses of a slot its generation starts again, never at 0. */
static void handle_generations(void **state)
{
	struct qv_handles h;
	uint64_t first, again;

	qv_handles_init(&h);
	first = qv_handle_new(&h, &h);
	qv_handle_free(&h, first);
	h.slots[(uint32_t)first].generation = UINT32_MAX;
	again = qv_handle_new(&h, &h);
	assert_int_equal(again >> 32, UINT32_MAX);
	qv_handle_free(&h, again);
	assert_null(qv_handle_get(&h, again));
	assert_null(qv_handle_get(&h, (uint32_t)again)); /* generation 0 */
	again = qv_handle_new(&h, &h);
	assert_int_equal(again >> 32, 1);
	qv_handle_free(&h, again);
	qv_nomem_after(1, 0);
	qv_nomem_enter();
	for (unsigned i = 0; i < 64; i++)
		assert_true(qv_handle_new(&h, &h) != QV_HANDLE_NONE);
	assert_true(qv_handle_new(&h, &h) == QV_HANDLE_NONE);
	qv_nomem_leave();
	qv_nomem_after(0, 0);
	assert_int_equal(h.used, 64);
	qv_handles_fini(&h);
}

/* Every byte once and none beside, at each distance of the two from the start of their pages. */
static void copies(void **state)
{
	enum { PAGE = 4096, MOST = 2 * PAGE };
	static char from[MOST] __attribute__((aligned(PAGE)));
	static char to[MOST + 2 * PAGE] __attribute__((aligned(PAGE)));
	static const size_t lens[] = {0,    1,    63,   64,          2047,       2048,
				      2049, 2111, 2112, PAGE + 1000, MOST - 100, MOST - 101};
	unsigned slow = 0;

	for (size_t i = 0; i < MOST; i++)
		from[i] = (char)(1 + i % 251);
	for (size_t off = 0; off < 100; off++)
		for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
			char *at = to + PAGE + off;
			const char *src = from + off % 7;

			memset(to, 0, sizeof to);
			slow += lens[i] >= QV_COPY_LONG && (uintptr_t)(at - src - 1) % 4096 < 31;
			qv_copy(at, src, lens[i]);
			assert_memory_equal(at, src, lens[i]);
			for (size_t k = 1; k <= 64; k++)
				assert_true(!at[-(ptrdiff_t)k] && !at[lens[i] + k - 1]);
		}
	assert_in_range(slow, 100, 300);
	qv_copy(NULL, NULL, 0);
}

/* The transport has no memory for a packet: the call succeeds all the same, and the message waits. */
static void no_memory_below(void **state)
{
	for (unsigned headerless = 0; headerless < 2; headerless++) {
		struct rig_settings set = rig_defaults(2);
		struct rig_req *send, *recv;
		struct rig *rig;

		set.limits.headerless = headerless;
		rig = rig_new(&set);
		recv = rig_recv(rig, 1, 0, 8, 0, QV_REQ_TAGGED);
		rig_wait(rig, recv, rig_send(rig, 0, 1, 8, 0, QV_REQ_TAGGED));
		rig_settle(rig);
		*qv_loop_chaos(rig->loop) = (struct qv_loop_chaos){.capacity = 8,
								   .fail_at_once = true,
								   .fail_send = 1,
								   .fail_status = QV_ENOMEM};
		recv = rig_recv(rig, 1, 0, 8, 1, QV_REQ_TAGGED);
		send = rig_req_new(rig, 0, 8, 1);
		assert_int_equal(rig_send_req(send, 1, 1, QV_REQ_TAGGED), QV_OK);
		assert_int_equal(qv_loop_chaos(rig->loop)->fail_send, 0);
		rig_settle(rig);
		rig_check(recv, send);
		rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_objects),
		cmocka_unit_test(pool_guarded),
		cmocka_unit_test(pool_without_memory),
		cmocka_unit_test(handles_in_use),
		cmocka_unit_test(handle_generations),
		cmocka_unit_test(no_memory_below),
		cmocka_unit_test(copies),
	};

	rig_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
