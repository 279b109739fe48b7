# SPDX-License-Identifier: BSD-2-Clause
# Sources of the wire protocol, relative to engine/.
set(qv_proto_sources
	base/copy.c base/iov.c base/pool.c base/handle.c base/proc.c base/choice.c
	proto/wire.c proto/ep.c proto/peer.c proto/loss.c proto/tick.c proto/alive.c proto/unnamed.c
	proto/window.c proto/seq.c proto/session.c proto/waiting/credit.c
	proto/waiting/backlog.c proto/waiting/copies.c
	proto/send.c proto/tx.c proto/emit.c proto/issue.c proto/recv.c proto/deliver.c proto/unexp.c
	proto/packet.c proto/message.c proto/close.c
	proto/remote.c
	proto/long/rndv.c proto/long/reads.c proto/long/segs.c proto/long/stripe.c)
