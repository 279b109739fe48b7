# SPDX-License-Identifier: BSD-2-Clause
# qv_commit - writes qv_commit.h at build time, only when the commit has changed.
# `git archive` puts the commit in place of the words between the dollars (.gitattributes).
set(commit "$Format:%H$")
if(EXISTS ${SOURCE}/.git)
	execute_process(COMMAND git describe --always --dirty --tags WORKING_DIRECTORY ${SOURCE}
		OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
elseif(commit MATCHES "^[0-9a-f]+$")
	string(SUBSTRING ${commit} 0 12 commit)
else()
	set(commit "")
endif()
if(commit STREQUAL "")
	set(commit unknown)
endif()
set(text "#define QV_COMMIT \"${commit}\"\n")
if(EXISTS ${OUT})
	file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
	file(WRITE ${OUT} "${text}")
endif()
