# SPDX-License-Identifier: BSD-2-Clause
# QuiverTest - one call = one test.
#   qv_add_test(NAME prq.take LABELS unit COMMAND test_prq [args...] [TIMEOUT s] [ENV A=1 B=2]
#               [RANKS n | WAITS | SERIAL])
# Exit code 77 = could not run here, and the test says why: ctest shows it as skipped.
#
# Tests run beside each other. `ctest -j` counts slots, and scripts/test gives it three for each CPU
# and one more (qv_slots): processes that wait for each other yield their CPU. A test takes two slots,
# so that two of them run beside three that sleep.
#   RANKS n   n processes that wait for each other: n + 1 slots
#   WAITS     sleeps for most of its time: one slot; three of them at a time, from the start
#   SERIAL    judges how long something takes, or runs many tests itself: alone
# Programs for another kind of CPU run in an emulator, slower by this factor. They know it from
# QV_TEST_PATIENCE, and wait so much longer for what must come.
set(qv_time_factor 1)
if(CMAKE_CROSSCOMPILING)
	set(qv_time_factor 10)
endif()
function(qv_add_test)
	cmake_parse_arguments(T "SERIAL;WAITS" "NAME;TIMEOUT;RANKS" "LABELS;COMMAND;ENV" ${ARGN})
	if("${T_COMMAND}" MATCHES "; *exit [0-9]+$")
		message(FATAL_ERROR "${T_NAME}: a semicolon of COMMAND does not get there; write && instead")
	endif()
	set(slots 2)
	if(NOT T_TIMEOUT)
		set(T_TIMEOUT 120)
	endif()
	math(EXPR limit "${T_TIMEOUT} * ${qv_time_factor}")
	add_test(NAME ${T_NAME} COMMAND ${T_COMMAND})
	if(T_RANKS)
		math(EXPR slots "${T_RANKS} + 1")
	elseif(T_WAITS)
		set(slots 1)
		get_property(lane GLOBAL PROPERTY qv_waits_lane)
		math(EXPR lane "(0${lane} + 1) % 3")
		set_property(GLOBAL PROPERTY qv_waits_lane ${lane})
		set_tests_properties(${T_NAME} PROPERTIES COST 1000 RESOURCE_LOCK waits-${lane})
	elseif(T_SERIAL)
		set_tests_properties(${T_NAME} PROPERTIES RUN_SERIAL TRUE)
	endif()
	set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${limit}
		SKIP_RETURN_CODE 77 PROCESSORS ${slots})
	if(qv_time_factor GREATER 1)
		list(APPEND T_ENV QV_TEST_PATIENCE=${qv_time_factor})
	endif()
	if(T_ENV)
		set_tests_properties(${T_NAME} PROPERTIES ENVIRONMENT "${T_ENV}")
	endif()
endfunction()
