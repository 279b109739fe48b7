# SPDX-License-Identifier: BSD-2-Clause
# mpi_glue - libquiver-mpi: programs that are linked with it, and Debian's with it preloaded.
function(qv_add_mpi_program program library compiler)
	qv_mpi_flags(${compiler} mpi)
	add_executable(${program} ${ARGN})
	target_include_directories(${program} SYSTEM PRIVATE ${mpi_INCLUDES})
	# Ours before the MPI's, so that its names are ours.
	target_link_libraries(${program} PRIVATE qv_flags ${library} ${mpi_LIBRARIES})
endfunction()

set(glue_sources glue/main.c glue/call.c glue/values.c glue/forms.c glue/cases.c glue/persistent.c glue/late.c
	glue/move.c glue/exchange.c glue/rooted.c glue/blocks.c glue/vector.c glue/neighbor.c
	glue/switch.c glue/poison.c glue/poison_data.c glue/poison_call.c
	glue/attr.c glue/local.c glue/large.c glue/huge.c glue/memory.c glue/wrong.c)

# glue_test(NAME MPI RANKS LABELS CASES...)
function(glue_test name mpi ranks labels)
	qv_add_test(NAME mpi.glue_${name}.${mpi}_np${ranks} LABELS ${labels} RANKS ${ranks}
		TIMEOUT ${run_seconds} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/glue.sh
		${CMAKE_BINARY_DIR} ${mpi} ${ranks} ${case_seconds} ${ARGN})
endfunction()

# nodes_test(MPI NAME NODES CASES...) - the ranks are on these nodes.
function(nodes_test mpi name nodes)
	string(REPLACE " " ";" list ${nodes})
	list(LENGTH list ranks)
	qv_add_test(NAME mpi.glue_nodes.${name} LABELS mpi RANKS ${ranks} TIMEOUT ${run_seconds}
		ENV "QV_NODES=${nodes}" COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/glue.sh
		${CMAKE_BINARY_DIR} ${mpi} ${ranks} ${case_seconds} ${ARGN})
endfunction()

# legal_test(CASE MPI RANKS NAME) - what only MPI's own rules can tell.
function(legal_test case mpi ranks name)
	qv_add_test(NAME mpi.glue.${case}.${name} LABELS mpi RANKS ${ranks} TIMEOUT ${run_seconds}
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/glue.sh ${CMAKE_BINARY_DIR} ${mpi}
		${ranks} ${case_seconds} ${case})
endfunction()

set(glue_cases values forms overlap persistent user derived comms errors through move exchange rooted trial late
	untold memory local room)
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
	foreach(core tcp rxm auto split)
		glue_test(all ${core} 4 mpi ${glue_cases})
	endforeach()
	# Ranks on several nodes, as far as quiver knows: in blocks, by turns, one alone.
	foreach(nodes "0 0 1 1" "0 1 0 1" "0 0 0 1")
		string(REPLACE " " "" name ${nodes})
		nodes_test(plain ${name} "${nodes}" memory user derived overlap move trial late comms errors room)
	endforeach()
	foreach(ranks 2 3 4)
		legal_test(poison plain ${ranks} ${ranks})
	endforeach()
	legal_test(attributes plain 3 3)
	legal_test(idup plain 3 3)
	legal_test(info plain 2 2)
	legal_test(wrong plain 3 3)
	legal_test(wrong_buffer plain 3 3)
	legal_test(bottom plain 3 3)
	legal_test(misfit plain 3 3)
	legal_test(misfit plain 4 4)
	legal_test(unused plain 3 3)
	legal_test(retried plain 3 3)
	legal_test(contexts plain 2 2)
	legal_test(thread plain 2 2)
	legal_test(large plain 3 3)
	legal_test(huge plain 3 3)
	legal_test(outlive plain 3 3)
	legal_test(many plain 3 3)
	glue_test(huge_data plain 2 "mpi;slow" huge_data)
	# Variable-length blocks, and neighbours.
	foreach(mpi plain shm tcp rxm auto split)
		foreach(ranks 2 3 4 7)
			set(labels "mpi;slow")
			if(mpi STREQUAL plain OR (mpi MATCHES "^(shm|tcp)$" AND ranks EQUAL 4))
				set(labels mpi)
			endif()
			glue_test(blocks ${mpi} ${ranks} "${labels}" vector neighbor switch)
		endforeach()
	endforeach()
endif()
if(TARGET quiver_mpi_ompi)
	qv_add_test(NAME mpi.glue_offload LABELS "mpi;offload" RANKS 2 TIMEOUT 300
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/offload.sh ${CMAKE_BINARY_DIR}
		${CMAKE_BINARY_DIR}/tests/offload/fake)
endif()
if(TARGET quiver_mpi_mpich)
	qv_add_mpi_program(mpi_glue_mpich quiver_mpi_mpich ${QV_MPICH_COMPILER} ${glue_sources})
	qv_add_mpi_program(mpi_sum_mpich "" ${QV_MPICH_COMPILER} sum.c)
	qv_add_mpi_program(mpi_programs_mpich "" ${QV_MPICH_COMPILER} programs.c)
	# Debian's MPICH does not judge arguments.
	glue_test(all mpich 2 mpi values forms overlap user derived comms through move exchange rooted trial late
		untold memory vector neighbor switch local room)
	foreach(ranks 2 3)
		legal_test(poison mpich ${ranks} mpich_${ranks})
	endforeach()
	nodes_test(mpich mpich_011 "0 1 1" memory user derived move comms)
	legal_test(attributes mpich 3 mpich_3)
	legal_test(idup mpich 3 mpich_3)
	legal_test(info mpich 2 mpich_2)
	legal_test(wrong_buffer mpich 3 mpich_3)
	legal_test(bottom mpich 3 mpich_3)
	legal_test(unused mpich 3 mpich_3)
	legal_test(misfit mpich 4 mpich_4)
	legal_test(retried mpich 3 mpich_3)
	legal_test(contexts mpich 2 mpich_2)
	legal_test(thread mpich 2 mpich_2)
	legal_test(large mpich 3 mpich_3)
	legal_test(uneven mpich 3 mpich_3)
	legal_test(huge mpich 3 mpich_3)
	glue_test(huge_data mpich 2 "mpi;slow" huge_data)
else()
	qv_add_test(NAME mpi.glue_all.mpich_np2 LABELS mpi COMMAND sh -c
		"echo 'no MPICH (mpich, libmpich-dev) at configure time' && exit 77")
endif()

# Ranks of two MPI_COMM_WORLDs in one communicator, with the library in both or in one; communicators
# of sessions.
set(spawn_sources glue/spawn.c glue/poison_call.c)
function(worlds_test name mpi program)
	qv_add_test(NAME mpi.glue.${name} LABELS mpi RANKS 4 TIMEOUT ${run_seconds}
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/worlds.sh ${CMAKE_BINARY_DIR} ${mpi}
		${case_seconds} ${program}_${mpi} ${ARGN})
endfunction()
foreach(mpi ompi:OMPI: mpich:MPICH:.mpich)
	string(REPLACE ":" ";" words "${mpi}")
	list(GET words 0 mpi)
	list(GET words 1 upper)
	list(GET words 2 suffix)
	if(NOT TARGET quiver_mpi_${mpi})
		continue()
	endif()
	set(compiler ${QV_${upper}_COMPILER})
	qv_add_mpi_program(mpi_glue_spawn_${mpi} quiver_mpi_${mpi} ${compiler} ${spawn_sources})
	qv_add_mpi_program(mpi_glue_bare_${mpi} "" ${compiler} ${spawn_sources})
	target_include_directories(mpi_glue_bare_${mpi} PRIVATE ${CMAKE_SOURCE_DIR}/include)
	qv_add_mpi_program(mpi_glue_session_${mpi} quiver_mpi_${mpi} ${compiler} glue/session.c)
	worlds_test(spawn${suffix} ${mpi} mpi_glue_spawn spawn mpi_glue_spawn_${mpi})
	worlds_test(spawn_bare${suffix} ${mpi} mpi_glue_spawn spawn mpi_glue_bare_${mpi})
	worlds_test(spawned_by_bare${suffix} ${mpi} mpi_glue_bare spawn mpi_glue_spawn_${mpi})
	worlds_test(connect${suffix} ${mpi} mpi_glue_spawn connect mpi_glue_spawn_${mpi})
	worlds_test(session${suffix} ${mpi} mpi_glue_session only)
	worlds_test(session_both${suffix} ${mpi} mpi_glue_session both)
	qv_add_mpi_program(mpi_glue_ending_${mpi} quiver_mpi_${mpi} ${compiler} glue/ending.c
		glue/poison_call.c)
	worlds_test(ending${suffix} ${mpi} mpi_glue_ending)
	worlds_test(ending_traced${suffix} ${mpi} mpi_glue_ending traced)
	qv_add_mpi_program(mpi_scarce_tags_${mpi} quiver_mpi_${mpi} ${compiler} scarce/tags.c)
	target_include_directories(mpi_scarce_tags_${mpi} PRIVATE ${CMAKE_SOURCE_DIR})
	target_link_libraries(mpi_scarce_tags_${mpi} PRIVATE ${CMAKE_DL_LIBS})
	worlds_test(tags${suffix} ${mpi} mpi_scarce_tags)
	qv_add_mpi_program(mpi_levels_${mpi} quiver_mpi_${mpi} ${compiler} levels.c)
	target_include_directories(mpi_levels_${mpi} PRIVATE ${CMAKE_SOURCE_DIR})
	foreach(settings ring auto mpi)
		worlds_test(levels_${settings}${suffix} ${mpi} mpi_levels allreduce=${settings})
	endforeach()
	# Their malloc stands where a sanitizer's would.
	foreach(name together alone plans turns)
		if(QV_SANITIZE)
			break()
		endif()
		qv_add_mpi_program(mpi_nomem_${name}_${mpi} quiver_mpi_${mpi} ${compiler} scarce/${name}.c
			scarce/refuse.c)
		target_include_directories(mpi_nomem_${name}_${mpi} PRIVATE ${CMAKE_SOURCE_DIR})
		target_link_libraries(mpi_nomem_${name}_${mpi} PRIVATE ${CMAKE_DL_LIBS})
	endforeach()
	if(NOT QV_SANITIZE)
		worlds_test(nomem${suffix} ${mpi} mpi_nomem_together)
		worlds_test(nomem_plans${suffix} ${mpi} mpi_nomem_plans)
		worlds_test(nomem_turns${suffix} ${mpi} mpi_nomem_turns)
		if(mpi STREQUAL ompi) # two ranks have nothing to gain by an exchange; MPICH's four starve each other
			set_property(TEST mpi.glue.nomem_turns APPEND PROPERTY ENVIRONMENT WORLD_RANKS=4)
		endif()
		foreach(case init made first later each root)
			worlds_test(nomem_${case}${suffix} ${mpi} mpi_nomem_alone ${case})
		endforeach()
		# The root leads its node, or another does, who must tell the other leaders.
		foreach(nodes "0 0 1 1" "0 1 1 1" "1 0 0 1")
			string(REPLACE " " "" name ${nodes})
			worlds_test(nomem_root${name}${suffix} ${mpi} mpi_nomem_alone root)
			set_property(TEST mpi.glue.nomem_root${name}${suffix} APPEND PROPERTY ENVIRONMENT
				WORLD_RANKS=4 "QV_NODES=${nodes}")
		endforeach()
	endif()
endforeach()

# A Fortran program, with the library preloaded: Open MPI's Fortran calls PMPI, MPICH's calls MPI.
find_program(QV_OMPI_FORTRAN NAMES mpifort.openmpi)
find_program(QV_MPICH_FORTRAN NAMES mpifort.mpich)
function(fortran_test mpi compiler)
	if(NOT compiler)
		return()
	endif()
	set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/mpi_glue_fortran_${mpi})
	add_custom_command(OUTPUT ${program} DEPENDS glue/fortran.f90 VERBATIM
		# Its module says one type for each buffer to compilers that look for more.
		COMMAND ${compiler} -fallow-argument-mismatch -w -J ${CMAKE_CURRENT_BINARY_DIR}
			${CMAKE_CURRENT_SOURCE_DIR}/glue/fortran.f90 -o ${program})
	add_custom_target(mpi_glue_fortran_${mpi} ALL DEPENDS ${program})
	foreach(run ${ARGN})
		qv_add_test(NAME mpi.glue_fortran.${run}_np3 LABELS mpi RANKS 3 TIMEOUT ${run_seconds}
			COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/fortran.sh ${CMAKE_BINARY_DIR}
			${run} 3 ${case_seconds} ${program})
	endforeach()
endfunction()
if(TARGET quiver_mpi_ompi)
	fortran_test(ompi "${QV_OMPI_FORTRAN}" plain shm)
endif()
if(TARGET quiver_mpi_mpich)
	fortran_test(mpich "${QV_MPICH_FORTRAN}" mpich)
endif()

# What a program sends and receives, recorded over the MPI alone and over the provider.
function(trace_test name mpi ranks labels program)
	if(TARGET quiver_mpi_${mpi} AND TARGET quiver_tool)
		qv_add_test(NAME mpi.trace.${name}_np${ranks} LABELS "${labels}" RANKS ${ranks} TIMEOUT 240
			COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/trace.sh ${CMAKE_BINARY_DIR} ${mpi}
			${ranks} ${program} ${ARGN})
	endif()
endfunction()
trace_test(calls ompi 2 "mpi;long" $<TARGET_FILE:mpi_traced>)
trace_test(calls ompi 3 mpi $<TARGET_FILE:mpi_traced>)
if(TARGET quiver_mpi_ompi)
	qv_add_test(NAME mpi.trace.ids_np2 LABELS mpi RANKS 2 TIMEOUT 240
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/trace_ids.sh ${CMAKE_BINARY_DIR})
endif()
function(trace_warns_test name mpi program)
	if(TARGET quiver_mpi_${mpi} AND TARGET quiver_tool)
		qv_add_test(NAME mpi.trace.${name}.${mpi}_np2 LABELS mpi RANKS 2 TIMEOUT 240
			COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/trace_threads.sh ${CMAKE_BINARY_DIR} ${mpi}
			${program})
	endif()
endfunction()
if(TARGET quiver_mpi_ompi)
	qv_add_mpi_program(mpi_traced_errors_ompi "" ${QV_OMPI_COMPILER} traced_errors.c)
	trace_warns_test(threads ompi $<TARGET_FILE:mpi_traced_requests>)
	trace_warns_test(errors ompi $<TARGET_FILE:mpi_traced_errors_ompi>)
endif()
trace_test(pingpong ompi 2 mpi $<TARGET_FILE:mpi_depth_pingpong> --depths 0,1,100 --iters 20)
trace_test(lammps ompi 2 mpi lammps)
trace_test(hpcc ompi 2 mpi hpcc)
if(TARGET quiver_mpi_mpich)
	qv_add_mpi_program(mpi_traced_mpich "" ${QV_MPICH_COMPILER} traced.c)
	# Its MPI_STATUSES_IGNORE is the address 1, and gcc takes it for an array of no length.
	target_compile_options(mpi_traced_mpich PRIVATE -Wno-stringop-overflow)
	trace_test(calls.mpich mpich 3 mpi $<TARGET_FILE:mpi_traced_mpich>)
	qv_add_mpi_program(mpi_traced_requests_mpich "" ${QV_MPICH_COMPILER} traced_requests.c)
	target_link_libraries(mpi_traced_requests_mpich PRIVATE Threads::Threads)
	target_compile_options(mpi_traced_requests_mpich PRIVATE -Wno-stringop-overflow)
	trace_warns_test(threads mpich $<TARGET_FILE:mpi_traced_requests_mpich>)
	qv_add_mpi_program(mpi_traced_errors_mpich "" ${QV_MPICH_COMPILER} traced_errors.c)
	trace_warns_test(errors mpich $<TARGET_FILE:mpi_traced_errors_mpich>)
endif()

# The suite, and Debian's programs, with the library preloaded.
set(preload "reduce=binomial,allreduce=butterfly,reduce_scatter=butterfly")
string(APPEND preload ",barrier=dissemination,broadcast=binomial,allgather=hypercube,alltoall=mesh2")
string(APPEND preload ",gather=binomial,scatter=direct")
string(APPEND preload ",allgatherv=ring,alltoallv=crystal,neighbor_allgather=friends")
string(APPEND preload ",neighbor_allgatherv=friends,neighbor_alltoall=friends,neighbor_alltoallv=friends")
# The same with the choice left to the library; calls are taken while it compares.
string(REGEX REPLACE "=[a-z0-9]+" "=auto" preload_auto "${preload}")
# preload_test(NAME CORE RANKS LABELS SCRIPT CASES...)
function(preload_test name core ranks labels script)
	set(settings ${preload})
	if(name MATCHES "^auto_")
		set(settings ${preload_auto})
	endif()
	qv_add_test(NAME mpi.preload_${name}.${core}_np${ranks} LABELS ${labels}
		RANKS ${ranks} TIMEOUT ${run_seconds} ENV "QV_PRELOAD=${settings}"
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/${script}.sh ${CMAKE_BINARY_DIR} ${core}
		${ranks} ${case_seconds} ${ARGN})
endfunction()
if(TARGET quiver_mpi_ompi)
	qv_add_mpi_program(mpi_passed "" ${QV_OMPI_COMPILER} passed.c)
	qv_add_test(NAME mpi.glue_passed LABELS mpi RANKS 1 TIMEOUT 240
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/passed.sh ${CMAKE_BINARY_DIR} 40)
	qv_add_test(NAME mpi.glue_settings LABELS mpi RANKS 2
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/settings.sh ${CMAKE_BINARY_DIR})
	qv_add_test(NAME mpi.glue_flavours LABELS mpi RANKS 2
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/flavours.sh ${CMAKE_BINARY_DIR})
	qv_add_test(NAME mpi.slurm LABELS mpi RANKS 2 TIMEOUT 240
		COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run/slurm.sh ${CMAKE_BINARY_DIR})
	foreach(core plain shm)
		preload_test(suite ${core} 4 mpi suite coll comms order)
		preload_test(threads ${core} 2 mpi suite threads coll)
		# Open MPI itself, without quiver, does not pass these.
		set(more)
		if(core STREQUAL shm)
			set(more random trunc unexpected)
		endif()
		preload_test(all ${core} 2 "mpi;slow" suite order probe cancel modes sizes posted threads
			types coll rma ${more})
		list(REMOVE_ITEM more trunc unexpected)
		preload_test(all ${core} 4 "mpi;slow" suite order probers comms ranks coll ${more})
		foreach(program hpcc lammps)
			preload_test(${program} ${core} 2 mpi ${program})
			preload_test(${program} ${core} 4 "mpi;slow" ${program})
		endforeach()
		preload_test(auto_all ${core} 2 "mpi;slow" suite order probe modes sizes threads types
			coll rma)
		preload_test(auto_all ${core} 4 "mpi;slow" suite order probers comms ranks coll)
		preload_test(auto_hpcc ${core} 2 "mpi;slow" hpcc)
		preload_test(auto_hpcc ${core} 4 "mpi;slow" hpcc)
		preload_test(netpipe ${core} 2 "mpi;slow" netpipe)
		preload_test(netpipe ${core} 4 "mpi;slow" netpipe)
	endforeach()
	foreach(core tcp rxm auto split)
		preload_test(suite ${core} 4 mpi suite coll comms order)
		preload_test(all ${core} 2 "mpi;slow" suite order probe cancel modes sizes posted threads
			types coll rma random trunc unexpected)
		preload_test(all ${core} 4 "mpi;slow" suite order probers comms ranks coll random)
		foreach(program hpcc lammps netpipe)
			foreach(ranks 2 4)
				set(labels "mpi;slow")
				if(core STREQUAL tcp AND ranks EQUAL 2 AND NOT program STREQUAL netpipe)
					set(labels mpi)
				endif()
				preload_test(${program} ${core} ${ranks} "${labels}" ${program})
			endforeach()
		endforeach()
	endforeach()
endif()
