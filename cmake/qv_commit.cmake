# SPDX-License-Identifier: BSD-2-Clause
# qv_commit - writes qv_commit.h at build time, only when the commit has changed.
execute_process(COMMAND git describe --always --dirty --tags WORKING_DIRECTORY ${SOURCE}
	OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE rc)
if(NOT rc STREQUAL "0" OR commit STREQUAL "")
	set(commit unknown)
endif()
set(text "#define QV_COMMIT \"${commit}\"\n")
if(EXISTS ${OUT})
	file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
	file(WRITE ${OUT} "${text}")
endif()
