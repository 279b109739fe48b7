# SPDX-License-Identifier: BSD-2-Clause
# `quiver bench match --papers`, and a test of its rows that are counts.
target_sources(qv_bench_match PRIVATE papers/papers.c papers/hash.c papers/lists.c
	papers/measure.c papers/pnp.c papers/queues.c papers/replay.c
	papers/root.c papers/trace.c)

if(QV_WITH_TESTS)
	find_library(CMOCKA_LIBRARY cmocka REQUIRED)
	add_executable(test_bench_papers ../tests/bench/test_papers.c)
	target_include_directories(test_bench_papers PRIVATE ${JANSSON_INCLUDE})
	target_link_libraries(test_bench_papers PRIVATE qv_flags ${JANSSON_LIBRARY}
		${CMOCKA_LIBRARY})
	qv_add_test(NAME bench.papers LABELS unit TIMEOUT 600
		COMMAND test_bench_papers $<TARGET_FILE:quiver_tool>
		${CMAKE_CURRENT_BINARY_DIR}/papers.json)
endif()
