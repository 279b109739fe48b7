/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_conn.pml - the rules by which two endpoints keep a connection, for spin: engine/proto without
 * memory, credit and payload. README.md says what is modelled, and how to read a trail.
 *
 * Names are those of struct qv_peer. e is an endpoint, OTHER(e) the one that it speaks to.
 */
#include "qv_conn_bounds.pml"

#define OTHER(e) (1 - (e))

mtype = { HELLO, EAGER, LEAVE, PING, ACK, RESET };

/* What one endpoint knows of the other. */
typedef peer_t {
	byte uid;       /* of the other; 0: none has spoken */
	byte session;
	byte theirs;
	byte id;        /* what the other writes into src */
	byte told_id;   /* what we write; 0 is QV_SRC_UNKNOWN */
	byte remote_id;
	byte sent;
	byte acked;
	byte got;
	byte told;
	byte ack;
	byte resend;
	byte oldest;    /* window.oldest: packets before it are not kept any more */
	bool kept;      /* window.first: the window has memory */
	bool connected;
	bool confirmed;
	bool hello_sent;
	bool introduced;
	bool failed;
	bool untold;
	bool leaving;
	bool cut;
	bool ack_due;
	bool asked;
	byte challenges;
	bool heard;
	bool probes;
	bool hold;      /* now < resend_at */
	byte hello_id;  /* the HELLO that is queued (ctl_head): 0 is none */
	byte hello_echo;
	bool hello_asks
};

/* A packet of the window. What is not on the wire is for the judge: to, whom it is meant for. */
typedef kept_t {
	mtype op;
	byte src;
	byte to
};
typedef window_t { kept_t kept[WINDOW] };

peer_t p[2];
window_t w[2];

/* Packets from endpoint e. HELLO: src is the uid, tok the session, arg the echo, to the id, asks is
 * QV_HELLO_ASKS. Others: tok is the session that they were sent in, on the wire only if src is 0. */
chan net[2] = [ROOM] of { mtype, byte, byte, byte, byte, byte, byte, byte };

#ifdef REPEAT
chan last[2] = [1] of { mtype, byte, byte, byte, byte, byte, byte, byte }; /* what has arrived */
byte can_repeat = REPEAT;
#endif

byte my_uid[2];     /* 0: nobody is there */
bool closing[2];
bool left[2];       /* it has closed, and is not there any more */
byte sessions[2];   /* qv_proto.sessions */
byte ids[2];        /* qv_proto.turn */

/* The judge's own. */
byte taken[2];      /* of what e has sent in its session: the last that was taken */
int opened[2];      /* sessions of the other in which e has taken something */

/* What may still happen. */
byte can_send[2] = MSGS;
byte can_tick[2] = TICKS;
byte can_cut = CUTS;
byte can_kill[2];
byte can_fail[2];
byte can_close[2];
bool calm;
byte round;
byte steps;
byte fresh[2];      /* a message that shows that all is well again: 0 to be sent, 1 sent, 2 there */
byte fresh_session[2];

/* The packet that is being looked at: no part of a state. A search by breadth, for the shortest
 * trail, cannot leave it out. */
#ifdef SHORTEST
#define SCRATCH
#else
#define SCRATCH hidden
#endif
SCRATCH mtype op;
SCRATCH byte src, tok, seq, hack, arg, to;
SCRATCH byte asks;
SCRATCH byte same, paired, ours_lives, was_sent, sent_now;
SCRATCH byte echo;

#include "qv_conn_rules.pml"
#include "qv_conn_world.pml"
