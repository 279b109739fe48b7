# SPDX-License-Identifier: BSD-2-Clause
# The units in SystemVerilog, compiled by Verilator; their area by yosys.
find_program(QV_VERILATOR verilator)
find_program(QV_YOSYS yosys)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(rtl ${CMAKE_SOURCE_DIR}/hls/rtl)

set(qv_cam_files ${rtl}/qv_cam.sv ${rtl}/qv_cam_first.sv)
set(qv_combine_lane_files ${rtl}/qv_combine_lane.sv)

# qv_add_rtl(NAME MODULE BENCH FLAGS DEFINES...): the program test_<NAME>.
function(qv_add_rtl name module bench flags)
	set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/test_${name})
	set(cflags "-O1 -I${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/include")
	foreach(word ${ARGN})
		string(APPEND cflags " -D${word}")
	endforeach()
	separate_arguments(flags)
	get_filename_component(bench ${bench} ABSOLUTE)
	add_custom_command(OUTPUT ${program}
		DEPENDS ${${module}_files} ${bench} qv_vectors quiver_static
		COMMAND ${CMAKE_COMMAND} -E env OBJCACHE=${CMAKE_CXX_COMPILER_LAUNCHER} CXX=${CMAKE_CXX_COMPILER}
			${QV_VERILATOR} --cc --exe --build -Wall -Wno-UNOPTFLAT -O3 --x-assign unique
			${flags} --top-module ${module} --prefix V${module}
			-Mdir ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir -CFLAGS ${cflags}
			-LDFLAGS "$<TARGET_FILE:qv_vectors> $<TARGET_FILE:quiver_static> -lm"
			-MAKEFLAGS "OPT_FAST=-O1 OPT_SLOW=-O0 --no-print-directory -s"
			${${module}_files} ${bench} -o ${program}
		VERBATIM)
	add_custom_target(rtl_${name} ALL DEPENDS ${program})
endfunction()

# qv_add_cam(NAME DEPTH ENTRY_MASK QUERY_MASK PIPELINED)
function(qv_add_cam name depth entry query pipelined)
	qv_add_rtl(${name} qv_cam test_cam_rtl.cpp
		"-GDEPTH=${depth} -GENTRY_MASK=1'b${entry} -GQUERY_MASK=1'b${query} -GPIPELINED=1'b${pipelined}"
		QV_RTL_DEPTH=${depth} QV_RTL_ENTRY_MASK=${entry} QV_RTL_QUERY_MASK=${query}
		QV_RTL_PIPELINED=${pipelined})
endfunction()

# Posted receives have masks, messages have none; and the other way round.
set(cams cam16 cam64 cam16q cam16p cam64p)
if(QV_VERILATOR AND NOT QV_SANITIZE)
	qv_add_cam(cam16 16 1 0 0)
	qv_add_cam(cam64 64 1 0 0)
	qv_add_cam(cam16q 16 0 1 0)
	qv_add_cam(cam16p 16 1 0 1)
	qv_add_cam(cam64p 64 1 0 1)
	qv_add_rtl(lane qv_combine_lane test_lane_rtl.cpp "")
	foreach(cam ${cams})
		set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/test_${cam})
		qv_add_test(NAME hls.rtl.${cam} LABELS offload COMMAND ${program} random 300000 1)
		qv_add_test(NAME hls.rtl.${cam}-corpus LABELS offload COMMAND ${program} corpus ${qv_corpus_full})
		qv_add_test(NAME hls.rtl.${cam}-long LABELS offload slow TIMEOUT 900
			COMMAND ${program} random 3000000 2)
	endforeach()
	set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/test_lane)
	qv_add_test(NAME hls.rtl.lane LABELS offload COMMAND ${program} random 3750)
	qv_add_test(NAME hls.rtl.lane-corpus LABELS offload COMMAND ${program} corpus ${qv_corpus_full})
elseif(NOT QV_SANITIZE)
	qv_add_test(NAME hls.rtl LABELS offload COMMAND sh -c
		"echo 'skipped: no verilator here (Debian package verilator)' && exit 77")
endif()

if(QV_YOSYS AND NOT QV_SANITIZE)
	set(area ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/test_area.py ${QV_YOSYS} ${rtl})
	qv_add_test(NAME hls.area.posted LABELS offload TIMEOUT 400 COMMAND ${area} 16 300)
	qv_add_test(NAME hls.area.unexpected LABELS offload slow TIMEOUT 400
		COMMAND ${area} 16 300 ENTRY_MASK=1'b0 QUERY_MASK=1'b1)
elseif(NOT QV_SANITIZE)
	qv_add_test(NAME hls.area LABELS offload COMMAND sh -c
		"echo 'skipped: no yosys here (Debian package yosys)' && exit 77")
endif()

# Placed and routed: nextpnr for Xilinx is in Debian sid only, so in a root of its own.
if(NOT QV_SANITIZE)
	qv_add_test(NAME hls.clock LABELS offload slow TIMEOUT 5400 SERIAL
		COMMAND ${CMAKE_SOURCE_DIR}/scripts/fpga-clock)
endif()
