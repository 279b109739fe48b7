# SPDX-License-Identifier: BSD-2-Clause
# Sources of the transport within a node, relative to engine/.
set(qv_node_sources node/node.c node/names.c node/peers.c node/link.c node/door.c node/guests.c
	node/ring.c node/poll.c node/sleep.c node/read.c node/permit.c node/begin.c node/calls.c node/execute.c node/post.c
	node/stage.c node/pace.c)
