# SPDX-License-Identifier: BSD-2-Clause
# mpi.late.* - `auto` with a rank that is late by habit, on real hosts: name spaces with slow cables between.
# Leaks of Open MPI would be reported with a sanitizer, and times mean nothing.
if(NOT TARGET quiver_mpi_ompi OR QV_SANITIZE)
	return()
endif()

qv_add_mpi_program(mpi_late quiver_mpi_ompi ${QV_OMPI_COMPILER} ${CMAKE_SOURCE_DIR}/tests/sim/sim_late.c)
target_compile_definitions(mpi_late PRIVATE QV_REAL_HOSTS)
target_include_directories(mpi_late PRIVATE ${CMAKE_SOURCE_DIR})

# late_test(OPERATION RANKS BYTES answers|times LABELS) - times are judged where nothing else runs: label slow.
function(late_test operation ranks bytes judged labels)
	qv_add_test(NAME mpi.late.${operation}_${bytes}_np${ranks} LABELS ${labels} RANKS ${ranks} TIMEOUT 900
		COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/late/late_hosts.py
		$<TARGET_FILE:mpi_late> ${ranks} ${operation} ${bytes} ${judged})
endfunction()
late_test(allreduce 4 4096 answers mpi)
late_test(broadcast 8 4096 answers mpi)
late_test(reduce 8 16384 times "mpi;slow")
late_test(allreduce 8 16384 times "mpi;slow")
