# SPDX-License-Identifier: BSD-2-Clause
# am - libquiver-am: its cases, and the examples that use it, over MPI (mpich, plain Open MPI, or a core).
set(am_sources ${CMAKE_CURRENT_SOURCE_DIR}/am/main.c ${CMAKE_CURRENT_SOURCE_DIR}/am/stream.c
	${CMAKE_CURRENT_SOURCE_DIR}/am/vranks.c)
set(examples ${CMAKE_SOURCE_DIR}/examples)

# am_test(NAME PROGRAM MPI RANKS LAST ARGS...) - ends well, and says LAST.
function(am_test name program mpi ranks last)
	qv_add_test(NAME ${name}.${mpi}_np${ranks} LABELS mpi RANKS ${ranks} TIMEOUT ${run_seconds}
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/am.sh ${CMAKE_BINARY_DIR} ${mpi} ${ranks}
		${case_seconds} ${last} $<TARGET_FILE:${program}> ${ARGN})
endfunction()

# am_programs(NAME COMPILER) - the cases and the examples, with libquiver-am-NAME.
function(am_programs name compiler)
	foreach(program mpi_am am_gups am_histogram am_stencil)
		set(sources ${examples}/${program}.c)
		if(program STREQUAL mpi_am)
			set(sources ${am_sources})
		endif()
		qv_add_mpi_program(${program}_${name} quiver_am_${name} ${compiler} ${sources})
	endforeach()
endfunction()

function(am_examples name mpi ranks)
	am_test(example.am_gups am_gups_${name} ${mpi} ${ranks} "all tables are the same" 5000 2)
	am_test(example.am_histogram am_histogram_${name} ${mpi} ${ranks} "as counted by all" 10000)
	am_test(example.am_stencil am_stencil_${name} ${mpi} ${ranks} "all as in one piece" 8 2)
endfunction()

if(TARGET quiver_am_ompi)
	am_programs(ompi ${QV_OMPI_COMPILER})
	foreach(ranks 1 2 3 5 8)
		am_test(mpi.am mpi_am_ompi plain ${ranks} "passed 9 cases")
	endforeach()
	foreach(core node tcp split)
		am_test(mpi.am mpi_am_ompi ${core} 4 "passed 9 cases")
	endforeach()
	am_examples(ompi plain 1)
	am_examples(ompi plain 3)
	am_examples(ompi node 2)
endif()
if(TARGET quiver_am_mpich)
	am_programs(mpich ${QV_MPICH_COMPILER})
	am_test(mpi.am mpi_am_mpich mpich 2 "passed 9 cases")
	am_test(mpi.am mpi_am_mpich mpich 3 "passed 9 cases")
	am_examples(mpich mpich 2)
endif()
