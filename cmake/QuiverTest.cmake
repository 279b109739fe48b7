# SPDX-License-Identifier: BSD-2-Clause
# QuiverTest - one call = one test.
#   qv_add_test(NAME prq.take LABELS unit COMMAND test_prq [args...] [TIMEOUT s] [ENV A=1 B=2])
# Exit code 77 = could not run here, and the test says why: ctest shows it as skipped.
function(qv_add_test)
	cmake_parse_arguments(T "SERIAL" "NAME;TIMEOUT" "LABELS;COMMAND;ENV" ${ARGN})
	if(NOT T_TIMEOUT)
		set(T_TIMEOUT 120)
	endif()
	add_test(NAME ${T_NAME} COMMAND ${T_COMMAND})
	set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT}
		SKIP_RETURN_CODE 77)
	if(T_ENV)
		set_tests_properties(${T_NAME} PROPERTIES ENVIRONMENT "${T_ENV}")
	endif()
	if(T_SERIAL)
		set_tests_properties(${T_NAME} PROPERTIES RUN_SERIAL TRUE)
	endif()
endfunction()
