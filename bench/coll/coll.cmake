# SPDX-License-Identifier: BSD-2-Clause
# qv_bench_coll: `quiver bench coll` and `quiver bench exchange`, and the MPI program that they start.
add_library(qv_bench_coll STATIC coll/coll.c coll/cases.c coll/delays.c coll/spawn.c
	coll/exchange.c coll/exchange_cases.c coll/exchange_matrix.c coll/payback.c)
target_link_libraries(qv_bench_coll PRIVATE qv_flags PUBLIC qv_bench)

if(TARGET quiver_mpi_ompi AND NOT QV_SANITIZE)
	qv_mpi_flags(${QV_OMPI_COMPILER} mpi)
	add_executable(quiver_bench_coll coll/worker.c coll/calls.c
		coll/clock.c coll/exchange_calls.c coll/exchange_counts.c coll/exchange_spmm.c coll/stream_calls.c)
	set_target_properties(quiver_bench_coll PROPERTIES OUTPUT_NAME quiver-bench-coll
		INSTALL_RPATH "$ORIGIN/..")
	target_include_directories(quiver_bench_coll SYSTEM PRIVATE ${mpi_INCLUDES})
	# Ours before the MPI's, so that its names are ours.
	target_link_libraries(quiver_bench_coll PRIVATE qv_flags quiver_mpi_ompi ${mpi_LIBRARIES}
		qv_bench_coll quiver_static)
	install(TARGETS quiver_bench_coll RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/quiver)
	if(QV_WITH_TESTS)
		find_package(Python3 REQUIRED COMPONENTS Interpreter)
		foreach(name coll exchange)
			qv_add_test(NAME bench.${name}.smoke LABELS mpi TIMEOUT 120 RANKS 4
				COMMAND ${Python3_EXECUTABLE}
				${CMAKE_SOURCE_DIR}/tests/bench/test_coll.py
				$<TARGET_FILE:quiver_tool> ${name})
		endforeach()
		qv_add_test(NAME bench.coll.clocks LABELS mpi TIMEOUT 120 RANKS 3
			COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/bench/test_clocks.py
			$<TARGET_FILE:quiver_bench_coll>)
	endif()
endif()
