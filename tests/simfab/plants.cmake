# SPDX-License-Identifier: BSD-2-Clause
# plants.cmake - the simulator's own test: faults planted into copies of the sources, each of which
# it must find. The copy is linked before the library that has the original.
#   sim_fabric_plant(NAME FILE FROM TO OPTIONS...)
function(sim_fabric_plant name file from to)
	set(test sim.fabric.plant.${name})
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
	file(READ ${CMAKE_SOURCE_DIR}/${file} text)
	string(FIND "${text}" "${from}" at)
	if(at EQUAL -1)
		qv_add_test(NAME ${test} LABELS unit
			COMMAND sh -c "echo '${file} has not the text any more that plants.cmake replaces' && exit 1")
		return()
	endif()
	string(REPLACE "${from}" "${to}" text "${text}")
	set(copy ${CMAKE_CURRENT_BINARY_DIR}/plant_${name}.c)
	file(CONFIGURE OUTPUT ${copy} CONTENT "@text@" @ONLY)
	set_source_files_properties(${copy} PROPERTIES COMPILE_OPTIONS
		"-w;-include;${CMAKE_CURRENT_SOURCE_DIR}/ticks.h")
	add_executable(sim_fabric_plant_${name} ${copy})
	# The copy finds its neighbours where the original does.
	get_filename_component(folder ${CMAKE_SOURCE_DIR}/${file} DIRECTORY)
	target_include_directories(sim_fabric_plant_${name} PRIVATE ${folder})
	target_link_libraries(sim_fabric_plant_${name} PRIVATE qv_simfab)
	qv_add_test(NAME ${test} LABELS "unit;slow" TIMEOUT 300
		COMMAND sim_fabric_plant_${name} --must-fail --total 1000000 --packets 20000 ${ARGN})
endfunction()

# Later messages overtake those that the core did not take at once.
sim_fabric_plant(overtake engine/proto/send.c
	"len < to->fast_end && qv_peer_is_fast(to) &&"
	"len < to->fast_end && to->remote_id != QV_SRC_UNKNOWN &&" --faults eagain)
# What was not acknowledged is forgotten.
sim_fabric_plant(window engine/proto/seq.c
	"qv_window_release(peer, peer->acked);" "qv_window_release(peer, peer->sent);" --faults delay,cut)
# A packet is taken although one before it is missing.
sim_fabric_plant(gap engine/proto/packet.c
	"(uint16_t)(pkt.hdr.seq - peer->got) != 1" "(int16_t)(pkt.hdr.seq - peer->got) < 1"
	--faults delay,cut)
# An endpoint closes without waiting for its peers to have got all.
sim_fabric_plant(leave engine/proto/close.c
	"if (qv_proto_peer_must_answer(peer))\n\t\t\treturn false;" "(void)peer;"
	--faults reopen --hosts 1 --core tcp)
# Memory is left when an endpoint closes.
sim_fabric_plant(leak fabric_glue/objects/ep_close.c "free(ep->rail[r].by_core);" "" --faults none)
# One receive buffer in 64 is lost.
sim_fabric_plant(starve fabric_glue/progress/poll.c
	"hand_over(rail, b) == QV_OK))\n\t\tput_back(rail, b);"
	"hand_over(rail, b) == QV_OK)) {\n\t\tif (rail->seen % 64)\n\t\t\tput_back(rail, b);\n\t}"
	--faults none)
# Memory stays registered with peers for ever.
sim_fabric_plant(exposed fabric_glue/layered/xport.c
	"(void)x;\n\tfi_close(&mr->fid);" "(void)x;\n\t(void)mr;" --faults none --core net --large 20)
# The second piece of a buffer is taken from where the first one began.
sim_fabric_plant(pieces engine/base/iov.c
	"len -= part;\n\t\toffset = 0;" "len -= part;" --faults none)
# Of receives of different kinds the oldest is not looked for.
sim_fabric_plant(kinds engine/match/auto/posted.c
	"if (!f->e || qv_is_older(e, f->e))\n\t\t\t*f" "if (!f->e)\n\t\t\t*f" --faults none --ops 300)
# A waiting message is given to a receive that names another sender.
sim_fabric_plant(sender engine/match/auto/unexpected.c
	"qv_accepts(s->tag, s->ignore, s->src, msg->tag, msg->src)"
	"qv_accepts(s->tag, s->ignore, QV_SRC_ANY, msg->tag, msg->src)" --faults none --ops 300)
# The list of errors has an end that was given back.
sim_fabric_plant(errors fabric_glue/objects/cq.c
	"if (!cq->err_head)\n\t\t\tcq->err_tail = &cq->err_head;" "" --faults none)
