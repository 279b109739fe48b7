# SPDX-License-Identifier: BSD-2-Clause
# qv_bench_combine: `quiver bench combine`, and the module through which it reaches Open MPI.
add_library(qv_bench_combine STATIC combine/combine.c combine/cases.c combine/impl.c
	combine/loop.c combine/rounds.c)
set_source_files_properties(combine/loop.c PROPERTIES COMPILE_OPTIONS "-O3")
target_link_libraries(qv_bench_combine PRIVATE qv_flags PUBLIC qv_bench quiver_static
	${CMAKE_DL_LIBS})

# Open MPI's compiler by the name that Debian gives it: `mpicc` alone may be another MPI's. Open MPI
# itself is not built with sanitizers.
find_program(MPI_C_COMPILER NAMES mpicc.openmpi mpicc)
find_package(MPI COMPONENTS C)
if(MPI_C_FOUND AND NOT QV_SANITIZE)
	add_library(qv_bench_ompi MODULE combine/ompi.c)
	set_target_properties(qv_bench_ompi PROPERTIES PREFIX "" OUTPUT_NAME quiver-bench-ompi)
	target_link_libraries(qv_bench_ompi PRIVATE qv_flags MPI::MPI_C)
	install(TARGETS qv_bench_ompi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/quiver)
endif()

if(QV_WITH_TESTS)
	find_library(CMOCKA_LIBRARY cmocka REQUIRED)
	add_executable(test_bench_combine ../tests/bench/test_combine.c)
	target_include_directories(test_bench_combine PRIVATE ${JANSSON_INCLUDE})
	target_link_libraries(test_bench_combine PRIVATE qv_flags ${JANSSON_LIBRARY}
		${CMOCKA_LIBRARY})
	qv_add_test(NAME bench.combine.smoke LABELS unit TIMEOUT 120
		COMMAND test_bench_combine $<TARGET_FILE:quiver_tool>
		${CMAKE_CURRENT_BINARY_DIR}/combine_smoke.json $<TARGET_EXISTS:qv_bench_ompi>)
endif()
