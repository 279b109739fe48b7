# SPDX-License-Identifier: BSD-2-Clause
# qv_bench_offload: `quiver bench offload`. Opens OpenCL or XRT when it is run.
add_library(qv_bench_offload STATIC offload/offload.c offload/cases.c offload/match.c
	offload/combine.c offload/pack.c)
target_link_libraries(qv_bench_offload PRIVATE qv_flags PUBLIC qv_bench qv_offload qv_opencl qv_xrt
	quiver_static)

if(QV_WITH_TESTS)
	find_package(Python3 REQUIRED COMPONENTS Interpreter)
	qv_add_test(NAME bench.offload.smoke LABELS offload TIMEOUT 120
		ENV POCL_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/offload/pocl
		COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/bench/test_offload.py
		$<TARGET_FILE:quiver_tool>)
endif()
