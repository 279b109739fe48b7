# SPDX-License-Identifier: BSD-2-Clause
# QuiverChecks - checks of the tree and of the objects, and other builds of it, as tests.
option(QV_TEST_VARIANTS "tests also build with sanitizers and with clang (scripts/test sets it)" OFF)
if(QV_SANITIZE)
	return()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(qv_tools ${CMAKE_SOURCE_DIR}/tools)
qv_add_test(NAME check.objects LABELS unit TIMEOUT 600 COMMAND ${Python3_EXECUTABLE} ${qv_tools}/check_objects.py
	${CMAKE_BINARY_DIR} ${CMAKE_OBJDUMP} ${CMAKE_NM})
# The rest is about the tree, not about what it was compiled for.
if(CMAKE_CROSSCOMPILING)
	return()
endif()
foreach(check layers tree format words headers messages)
	qv_add_test(NAME check.${check} LABELS unit
		COMMAND ${Python3_EXECUTABLE} ${qv_tools}/check_${check}.py ${CMAKE_SOURCE_DIR})
endforeach()
qv_add_test(NAME check.checks LABELS unit
	COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/cli/test_checks.py ${CMAKE_SOURCE_DIR})
# The files that name the version agree.
qv_add_test(NAME check.release LABELS unit COMMAND ${Python3_EXECUTABLE}
	${CMAKE_SOURCE_DIR}/tests/install/test_release.py ${CMAKE_SOURCE_DIR})

# CPUs that lack AVX-512, and all of AVX; by emulation.
if(QV_WITH_TOOLS AND qv_processor STREQUAL "x86" AND NOT QV_KNL)
	foreach(cpu Haswell:avx2 Nehalem:scalar)
		string(REPLACE ":" ";" words ${cpu})
		list(GET words 0 model)
		qv_add_test(NAME cpu.${model} LABELS kernel long TIMEOUT 300
			COMMAND ${CMAKE_SOURCE_DIR}/scripts/old-cpu ${words} ${CMAKE_BINARY_DIR})
	endforeach()
endif()

if(QV_TEST_VARIANTS)
	set(variants ${CMAKE_SOURCE_DIR}/scripts/variants)
	qv_add_test(NAME asan.unit LABELS unit kernel long TIMEOUT 1500 SERIAL
		COMMAND ${variants} test asan ${CMAKE_BINARY_DIR} "unit|kernel")
	if(QV_WITH_FABRIC)
		qv_add_test(NAME asan.fabric LABELS fabric long TIMEOUT 2400 SERIAL
			COMMAND ${variants} test asan ${CMAKE_BINARY_DIR} fabric)
		qv_add_test(NAME asan.all LABELS fabric slow TIMEOUT 4000 SERIAL
			COMMAND ${variants} test asan-all ${CMAKE_BINARY_DIR} "fabric|unit|kernel")
		qv_add_test(NAME tsan.fabric LABELS fabric long TIMEOUT 1500 SERIAL
			COMMAND ${variants} test tsan ${CMAKE_BINARY_DIR})
		qv_add_test(NAME asan.mpi LABELS mpi slow TIMEOUT 3000 SERIAL
			COMMAND ${variants} test asan ${CMAKE_BINARY_DIR} mpi)
	endif()
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		qv_add_test(NAME check.clang LABELS unit long TIMEOUT 900 SERIAL
			COMMAND ${Python3_EXECUTABLE} ${qv_tools}/check_clang.py ${CMAKE_BINARY_DIR})
	endif()
	qv_add_test(NAME clang.build LABELS unit slow TIMEOUT 1800 SERIAL
		COMMAND ${variants} test clang ${CMAKE_BINARY_DIR})
endif()

# The same scripts in bare Debian roots: they fetch packages, so they are slow tests.
qv_add_test(NAME roots.demo LABELS slow TIMEOUT 1800 SERIAL
	COMMAND ${CMAKE_SOURCE_DIR}/scripts/fresh-root scripts/demo --quick)
foreach(suite bookworm trixie)
	qv_add_test(NAME roots.packages.${suite} LABELS slow TIMEOUT 1800 SERIAL
		COMMAND ${CMAKE_SOURCE_DIR}/scripts/packages --suite ${suite}
		--out ${CMAKE_BINARY_DIR}/packages-${suite})
endforeach()
# Another processor: cross-built in such a root, run by qemu.
qv_add_test(NAME roots.arm64 LABELS slow TIMEOUT 7200 SERIAL COMMAND ${CMAKE_SOURCE_DIR}/scripts/arm64)
# Both build the whole tree anew.
qv_add_test(NAME install.rpm LABELS slow TIMEOUT 1800 SERIAL
	COMMAND ${CMAKE_SOURCE_DIR}/scripts/rpm --out ${CMAKE_BINARY_DIR}/rpm)
qv_add_test(NAME install.release LABELS slow TIMEOUT 3600 SERIAL
	COMMAND ${CMAKE_SOURCE_DIR}/scripts/release --out ${CMAKE_BINARY_DIR}/dist)
if(QV_WITH_FABRIC)
	qv_add_test(NAME roots.debian13 LABELS slow TIMEOUT 1800 SERIAL
		COMMAND ${CMAKE_SOURCE_DIR}/scripts/debian13 --build ${CMAKE_BINARY_DIR})
endif()
