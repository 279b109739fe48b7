# SPDX-License-Identifier: BSD-2-Clause
# QuiverFlags - one interface target, qv_flags, that every target of ours links.
set(QV_SANITIZE "" CACHE STRING "sanitizers, as in -fsanitize=")

if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_library(qv_flags INTERFACE)
target_compile_options(qv_flags INTERFACE -Wall -Wextra -Wpointer-arith
	$<$<COMPILE_LANGUAGE:C>:-Wshadow$<SEMICOLON>-Wstrict-prototypes$<SEMICOLON>-Wmissing-prototypes>
	-Wno-unused-parameter -ffp-contract=off)
target_compile_definitions(qv_flags INTERFACE _GNU_SOURCE)
# Ours are included by their path from the top, those of the same folder by their name.
target_include_directories(qv_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR})
if(QV_WERROR)
	target_compile_options(qv_flags INTERFACE -Werror)
endif()
if(QV_SANITIZE)
	target_compile_options(qv_flags INTERFACE -fsanitize=${QV_SANITIZE} -fno-omit-frame-pointer
		-fno-sanitize-recover=undefined)
	target_link_options(qv_flags INTERFACE -fsanitize=${QV_SANITIZE})
endif()

# The provider is many small files between an MPI and its data: let gcc see them as one. The objects
# stay ordinary ones too, so that libquiver.a can be linked by any compiler.
add_library(qv_whole_program INTERFACE)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT QV_SANITIZE)
	# Or gcc would do the same again for every test.
	add_link_options(-fno-lto)
	target_compile_options(qv_whole_program INTERFACE
		$<$<CONFIG:RelWithDebInfo>:-flto=auto;-ffat-lto-objects>)
	# Of the two only -flto takes -fno-lto back.
	target_link_options(qv_whole_program INTERFACE
		$<$<CONFIG:RelWithDebInfo>:-O3;-flto;-flto=auto>)
endif()
