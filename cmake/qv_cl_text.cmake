# SPDX-License-Identifier: BSD-2-Clause
# qv_cl_text.cmake - OpenCL C sources as strings: -DOUT=file.c, then name=file for each.
set(text "/* Made from *.cl by cmake/qv_cl_text.cmake. */\n#include \"kernels/opencl/internal.h\"\n")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
	if(NOT CMAKE_ARGV${i} MATCHES "^([a-z]+)=(.*[.]cl)$")
		continue()
	endif()
	set(name ${CMAKE_MATCH_1})
	# As bytes: CMake's strings and lists have too many special characters.
	file(READ ${CMAKE_MATCH_2} hex HEX)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(REGEX REPLACE "(................................................................................)"
		"\\1\n" bytes "${bytes}")
	string(APPEND text "const char qv_cl_text_${name}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${text}")
