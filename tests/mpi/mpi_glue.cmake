# SPDX-License-Identifier: BSD-2-Clause
# mpi_glue - libquiver-mpi: programs that are linked with it, and Debian's with it preloaded.
function(qv_add_mpi_program program library compiler)
	qv_mpi_flags(${compiler} mpi)
	add_executable(${program} ${ARGN})
	target_include_directories(${program} SYSTEM PRIVATE ${mpi_INCLUDES})
	# Ours before the MPI's, so that its names are ours.
	target_link_libraries(${program} PRIVATE qv_flags ${library} ${mpi_LIBRARIES})
endfunction()

set(glue_sources mpi_glue_main.c mpi_glue_call.c mpi_glue_values.c mpi_glue_forms.c mpi_glue_cases.c
	mpi_glue_move.c)

# glue_test(NAME MPI RANKS LABELS CASES...)
function(glue_test name mpi ranks labels)
	qv_add_test(NAME mpi.glue_${name}.${mpi}_np${ranks} LABELS ${labels} SERIAL
		TIMEOUT ${run_seconds} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_run_glue.sh
		${CMAKE_BINARY_DIR} ${mpi} ${ranks} ${case_seconds} ${ARGN})
endfunction()

set(glue_cases values forms overlap persistent user comms errors through move)
if(TARGET quiver_mpi_ompi)
	qv_add_mpi_program(mpi_glue_ompi quiver_mpi_ompi ${QV_OMPI_COMPILER} ${glue_sources})
	foreach(mpi plain shm)
		glue_test(all ${mpi} 2 mpi ${glue_cases} sizes)
		glue_test(all ${mpi} 4 mpi ${glue_cases})
		foreach(ranks 4 8)
			glue_test(sizes ${mpi} ${ranks} "mpi;slow" sizes)
		endforeach()
		glue_test(all ${mpi} 8 "mpi;slow" ${glue_cases})
		glue_test(big ${mpi} 2 "mpi;slow" big)
		glue_test(big ${mpi} 4 "mpi;slow" big)
	endforeach()
endif()
if(TARGET quiver_mpi_mpich)
	qv_add_mpi_program(mpi_glue_mpich quiver_mpi_mpich ${QV_MPICH_COMPILER} ${glue_sources})
	# Debian's MPICH does not judge arguments.
	glue_test(all mpich 4 mpi values forms overlap user comms through move)
else()
	qv_add_test(NAME mpi.glue_all.mpich_np4 LABELS mpi COMMAND sh -c
		"echo 'no MPICH (mpich, libmpich-dev) at configure time'; exit 77")
endif()
