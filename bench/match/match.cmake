# SPDX-License-Identifier: BSD-2-Clause
# `quiver bench match`. The engine is linked as it is into the provider: statically, and seen by gcc
# as one program with its caller.
add_library(qv_bench_match STATIC match/match.c match/cases.c match/fill.c
	match/impl.c match/mem.c match/oracle.c match/replay.c
	match/report.c match/rounds.c match/steady.c match/trace.c
	match/turn.c match/verdict.c)
target_link_libraries(qv_bench_match PRIVATE qv_flags qv_whole_program
	PUBLIC qv_bench quiver_static ${CMAKE_DL_LIBS} m)

include(papers/papers.cmake)

if(QV_WITH_TESTS)
	find_library(CMOCKA_LIBRARY cmocka REQUIRED)
	add_library(faulty_contenders MODULE ../tests/bench/faulty_contenders.c)
	add_library(other_contenders MODULE ../tests/bench/faulty_contenders.c)
	target_compile_definitions(other_contenders PRIVATE FAULTY_ABI)
	foreach(plugin faulty_contenders other_contenders)
		target_link_libraries(${plugin} PRIVATE qv_flags)
	endforeach()
	add_executable(test_bench_match ../tests/bench/test_match.c)
	target_include_directories(test_bench_match PRIVATE ${JANSSON_INCLUDE})
	target_link_libraries(test_bench_match PRIVATE qv_flags qv_bench_match ${CMOCKA_LIBRARY})
	qv_add_test(NAME bench.match.smoke LABELS unit TIMEOUT 300
		COMMAND test_bench_match $<TARGET_FILE:quiver_tool>
		$<TARGET_FILE:faulty_contenders> $<TARGET_FILE:other_contenders>
		${CMAKE_CURRENT_BINARY_DIR}/match.json)
endif()
