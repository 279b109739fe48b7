# SPDX-License-Identifier: BSD-2-Clause
# The XRT backend without a card: on a double of XRT's library that runs the kernels' C++, and on
# that with Debian's XRT behind it, whose driver `noop` takes every call and does nothing.
add_library(qv_fake_xrt SHARED fake_xrt.cpp ${qv_hls_kernels})
set_target_properties(qv_fake_xrt PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
	CXX_VISIBILITY_PRESET hidden)
target_compile_options(qv_fake_xrt PRIVATE ${qv_hls_options} $<$<NOT:$<CONFIG:Debug>>:-O3>)
target_link_libraries(qv_fake_xrt PRIVATE qv_flags qv_xrt Threads::Threads)

add_executable(qv_xclbin_tool xclbin_main.c)
set_target_properties(qv_xclbin_tool PROPERTIES OUTPUT_NAME qv-xclbin)
target_link_libraries(qv_xclbin_tool PRIVATE qv_flags)
set(xclbin ${CMAKE_CURRENT_BINARY_DIR}/quiver.xclbin)
set(bad_xclbins)
foreach(fault kernel argument name more xml short magic)
	list(APPEND bad_xclbins COMMAND $<TARGET_FILE:qv_xclbin_tool> ${xclbin}.${fault} ${fault})
endforeach()
add_custom_command(OUTPUT ${xclbin} DEPENDS qv_xclbin_tool COMMAND $<TARGET_FILE:qv_xclbin_tool> ${xclbin}
	${bad_xclbins})
add_custom_target(qv_xclbin ALL DEPENDS ${xclbin})

# What XILINX_XRT wants: the card's driver. The double has none, so it is itself; and one that is no
# library.
set(xrt_double ${CMAKE_CURRENT_BINARY_DIR}/xrt-double)
file(MAKE_DIRECTORY ${xrt_double}/lib)
file(CREATE_LINK ${CMAKE_CURRENT_BINARY_DIR}/libqv_fake_xrt.so ${xrt_double}/lib/libxrt_core.so.2
	SYMBOLIC)
file(WRITE ${xrt_double}/lib/libxrt_hwemu.so.2 "not a library\n")

add_executable(test_xrt test_xrt.c)
target_link_libraries(test_xrt PRIVATE qv_device qv_xrt)
add_executable(test_xrt_faults test_xrt_faults.c)
target_link_libraries(test_xrt_faults PRIVATE qv_faults qv_xrt)
add_dependencies(test_xrt qv_fake_xrt)

set(double $<TARGET_FILE:qv_fake_xrt>)
set(env_double XILINX_XRT=${xrt_double})
qv_add_test(NAME hls.xrt.corpus LABELS offload ENV ${env_double}
	COMMAND test_xrt corpus ${double} ${xclbin} ${qv_corpus_full})
qv_add_test(NAME hls.xrt.random LABELS offload ENV ${env_double}
	COMMAND test_xrt random ${double} ${xclbin} 2000 300 1)
qv_add_test(NAME hls.xrt.random-long LABELS offload slow TIMEOUT 900 ENV ${env_double}
	COMMAND test_xrt random ${double} ${xclbin} 50000 300 2)
qv_add_test(NAME hls.xrt.deep LABELS offload ENV ${env_double}
	COMMAND test_xrt random ${double} ${xclbin} 10 5000 3)
qv_add_test(NAME hls.xrt.combine LABELS offload ENV ${env_double}
	COMMAND test_xrt combine ${double} ${xclbin})
# What is given up on purpose is lost on purpose.
qv_add_test(NAME hls.xrt.faults LABELS offload ENV ASAN_OPTIONS=detect_leaks=0
	COMMAND test_xrt_faults ${double} ${xclbin} ${xrt_double})

qv_add_test(NAME bench.offload.xrt LABELS offload TIMEOUT 120 ENV ${env_double}
	COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/bench/test_offload.py
	$<TARGET_FILE:quiver_tool> ${double} ${xclbin})

# Debian's XRT 2.13 looks for its drivers where it does not install them.
find_library(QV_XRT_COREUTIL libxrt_coreutil.so.2)
find_library(QV_XRT_NOOP libxrt_noop.so.2)
if(QV_XRT_COREUTIL AND QV_XRT_NOOP AND NOT QV_SANITIZE)
	set(xrt_real ${CMAKE_CURRENT_BINARY_DIR}/xrt-real)
	get_filename_component(from ${QV_XRT_NOOP} DIRECTORY)
	file(MAKE_DIRECTORY ${xrt_real}/lib)
	foreach(name core noop)
		file(CREATE_LINK ${from}/libxrt_${name}.so.2 ${xrt_real}/lib/libxrt_${name}.so.2 SYMBOLIC)
	endforeach()
	set(env_real XILINX_XRT=${xrt_real} XCL_EMULATION_MODE=noop QV_FAKE_XRT_REAL=${QV_XRT_COREUTIL})
	qv_add_test(NAME hls.xrt.real-corpus LABELS offload ENV ${env_real}
		COMMAND test_xrt corpus ${double} ${xclbin} ${qv_corpus_full})
	qv_add_test(NAME hls.xrt.real-combine LABELS offload ENV ${env_real}
		COMMAND test_xrt combine ${double} ${xclbin})
	# Itself: no card, and a driver that does nothing.
	qv_add_test(NAME hls.xrt.real-no-card LABELS offload ENV XILINX_XRT=${xrt_real}
		COMMAND test_xrt refuse ${QV_XRT_COREUTIL} ${xclbin} "XRT has no card 0")
	qv_add_test(NAME hls.xrt.real-idle LABELS offload ENV XILINX_XRT=${xrt_real}
		XCL_EMULATION_MODE=noop
		COMMAND test_xrt refuse ${QV_XRT_COREUTIL} ${xclbin} "have version")
	qv_add_test(NAME hls.xrt.real-unset LABELS offload ENV XILINX_XRT=
		COMMAND test_xrt refuse ${QV_XRT_COREUTIL} ${xclbin} "XILINX_XRT is not set")
	qv_add_test(NAME hls.xrt.real-debian LABELS offload ENV XILINX_XRT=/usr
		COMMAND test_xrt refuse ${QV_XRT_COREUTIL} ${xclbin} "has no lib/libxrt_core.so.2")
elseif(NOT QV_SANITIZE)
	qv_add_test(NAME hls.xrt.real LABELS offload COMMAND sh -c
		"echo 'skipped: no XRT with its driver noop here (Debian 12 package libxrt1)' && exit 77")
endif()

# Our own declarations of XRT against its headers, where they are.
find_path(QV_XRT_INCLUDE xrt/xrt_kernel.h PATH_SUFFIXES xrt)
find_path(QV_UUID_INCLUDE uuid/uuid.h)
if(QV_XRT_INCLUDE AND QV_UUID_INCLUDE)
	add_library(qv_xrt_api_check OBJECT test_xrt_api.c)
	target_include_directories(qv_xrt_api_check SYSTEM PRIVATE ${QV_XRT_INCLUDE})
	target_link_libraries(qv_xrt_api_check PRIVATE qv_flags)
endif()

# In the provider: some cases here; all of both labels by hand, as slow tests.
if(QV_WITH_FABRIC AND NOT QV_SANITIZE)
	qv_add_test(NAME hls.xrt.fabric LABELS offload TIMEOUT 300
		COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/test_xrt_fabric.py
		$<TARGET_FILE:test_fabric> ${CMAKE_BINARY_DIR}/lib/libfabric ${double} ${xclbin}
		${xrt_double})
	set(on_double ${CMAKE_CURRENT_SOURCE_DIR}/xrt_count.sh env FI_QUIVER_OFFLOAD=xrt
		FI_QUIVER_XRT_LIB=${double} FI_QUIVER_XCLBIN=${xclbin} XILINX_XRT=${xrt_double}
		FI_QUIVER_OFFLOAD_MIN_BATCH=1 FI_QUIVER_OFFLOAD_MIN_BYTES=1 FI_QUIVER_STATS=yes
		QV_TEST_SCALE=0.02)
	foreach(label fabric mpi)
		qv_add_test(NAME hls.xrt.label-${label} LABELS offload slow TIMEOUT 3600 SERIAL
			COMMAND ${on_double} ctest --test-dir ${CMAKE_BINARY_DIR} -V -L ^${label}$
			-LE slow -E "^(asan|tsan|hls|offload)[.]")
	endforeach()
	find_program(QV_MPIRUN NAMES mpirun.openmpi mpirun)
	if(QV_MPIRUN)
		qv_add_test(NAME hls.xrt.mpi LABELS offload mpi TIMEOUT 300 RANKS 4
			COMMAND ${on_double} ${CMAKE_SOURCE_DIR}/tests/mpi/run/suite.sh
			${CMAKE_BINARY_DIR} shm 4 60 order random probers coll)
	endif()
endif()
