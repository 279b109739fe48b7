# SPDX-License-Identifier: BSD-2-Clause
# Sources of the wire protocol, relative to engine/.
set(qv_proto_sources
	base/qv_pool.c base/qv_handle.c base/qv_proc.c
	proto/qv_wire.c proto/qv_iov.c proto/qv_proto_ep.c proto/qv_proto_peer.c proto/qv_proto_loss.c proto/qv_proto_tick.c
	proto/qv_window.c proto/qv_proto_seq.c proto/qv_proto_session.c proto/qv_proto_credit.c proto/qv_proto_log.c
	proto/qv_proto_send.c proto/qv_proto_tx.c proto/qv_proto_emit.c proto/qv_proto_issue.c proto/qv_proto_recv.c proto/qv_proto_deliver.c proto/qv_proto_unexp.c
	proto/qv_proto_rndv.c proto/qv_proto_packet.c proto/qv_proto_key.c proto/qv_proto_close.c proto/qv_proto_coll.c)
