# SPDX-License-Identifier: BSD-2-Clause
# QuiverFuzz - programs for libFuzzer, compiled by clang whatever compiles the rest.
#   qv_add_fuzzer(NAME fuzz_x SOURCES a.c b.c [FRAME c.c d.c] [OBJECTS target...]
#       [LINK flag...])
# makes bin/fuzz_x with AddressSanitizer and UBSan if QV_FUZZ_CLANG is set: clang was found, and has
# libFuzzer. Sources are compiled anew, so that coverage leads the fuzzer through them, the sources
# of the FRAME that drives them without coverage; OBJECTS are object libraries that are linked as
# they are.
if(NOT DEFINED QV_FUZZ_CLANG)
	find_program(QV_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
	set(found "")
	if(QV_CLANG)
		file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/qv_fuzz_try.c "#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return size && data[0] ? 0 : 0; }
")
		execute_process(COMMAND ${QV_CLANG} -fsanitize=fuzzer,address,undefined
			${CMAKE_BINARY_DIR}/CMakeFiles/qv_fuzz_try.c
			-o ${CMAKE_BINARY_DIR}/CMakeFiles/qv_fuzz_try
			RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
		if(status EQUAL 0)
			set(found ${QV_CLANG})
		endif()
	endif()
	set(QV_FUZZ_CLANG "${found}" CACHE FILEPATH "clang with libFuzzer, empty: none")
endif()

set(qv_frame_flags -std=c11 -D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer
	-fsanitize=address,undefined -fno-sanitize-recover=undefined)
set(qv_fuzz_flags ${qv_frame_flags} -fsanitize=fuzzer)

function(qv_add_fuzzer)
	cmake_parse_arguments(F "" "NAME" "SOURCES;FRAME;OBJECTS;LINK" ${ARGN})
	set(objects)
	set(others)
	foreach(source ${F_SOURCES} ${F_FRAME})
		get_filename_component(path ${source} ABSOLUTE)
		file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${path})
		string(REGEX REPLACE "[/.]" "_" name ${name})
		set(flags ${qv_fuzz_flags})
		if(source IN_LIST F_FRAME)
			set(flags ${qv_frame_flags})
		endif()
		set(object ${CMAKE_CURRENT_BINARY_DIR}/${F_NAME}.dir/${name}.o)
		# A launcher such as ccache serves here as well as anywhere.
		add_custom_command(OUTPUT ${object}
			COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${QV_FUZZ_CLANG} ${flags}
				-I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}
				-MD -MF ${object}.d -c ${path} -o ${object}
			DEPENDS ${path} DEPFILE ${object}.d VERBATIM)
		list(APPEND objects ${object})
	endforeach()
	file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${F_NAME}.dir)
	set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${F_NAME})
	foreach(library ${F_OBJECTS})
		list(APPEND others $<TARGET_OBJECTS:${library}>)
	endforeach()
	add_custom_command(OUTPUT ${program}
		COMMAND ${QV_FUZZ_CLANG} ${qv_fuzz_flags} ${objects} ${others} ${F_LINK}
			-o ${program}
		DEPENDS ${objects} ${F_OBJECTS} COMMAND_EXPAND_LISTS VERBATIM)
	add_custom_target(${F_NAME}_program ALL DEPENDS ${program})
endfunction()
