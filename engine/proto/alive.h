/* SPDX-License-Identifier: BSD-2-Clause */
/* alive.h - is a peer alive? What is known of that, and what a tick does about it. */
#ifndef QV_PROTO_ALIVE_H
#define QV_PROTO_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

struct qv_peer;

/* Times are by the clock of qv_proto_tick, in ms. */
struct qv_alive {
	uint32_t got_then;     /* qv_peer.got at the last tick */
	uint32_t acked_then;   /* the same of acked */
	uint64_t heard_at;     /* the last tick that something had come before; 0: none yet */
	uint64_t stuck_at;     /* since when nothing more was acknowledged; 0: all is */
	uint64_t probe_at;     /* when to ask again */
	uint32_t probes;       /* how often it was asked, without an answer */
	uint64_t full_since;   /* the transport takes no question; 0: it does */
	uint64_t full_most;    /* so long, before it is to connect anew */
	uint64_t look_at;      /* when to look whether it is there */
	uint64_t absent_since; /* it was not, or its host silent, since then; 0: it was */
	uint64_t silent_at;    /* the last look that found its host silent */
};

/* Does anybody wait for it, or is it suspected? Others are not looked for. */
bool qv_alive_matters(const struct qv_peer *peer);
/* At each tick: has anything come since the last one? */
void qv_alive_listen(struct qv_peer *peer, uint64_t now);
/* Ask one that matters, and look for it. It may have failed then. */
void qv_alive_check(struct qv_peer *peer, uint64_t now);
/* One that is failing: answers of it may still come for a while, then it has failed. */
void qv_alive_end(struct qv_peer *peer, uint64_t now);
/* Nothing is wanted of it: what has passed without it does not count. */
void qv_alive_rest(struct qv_peer *peer);
/* A new session. */
void qv_alive_begin(struct qv_peer *peer);

#endif /* QV_PROTO_ALIVE_H */
