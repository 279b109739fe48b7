/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_conn_rules.pml - what an endpoint does: one inline for each function of engine/proto. */

/* ---- engine/proto/session.c: what others need ---------------------------------------------------- */

inline set_remote(e)
{
	p[e].remote_id = ((p[e].confirmed && p[e].introduced && !p[e].resend && !p[e].failed &&
			   !p[e].untold) -> p[e].told_id : 0)
}

inline new_id(e)
{
	ids[e]++;
	p[e].id = ids[e]
}

/* The only way to the other. */
inline put(e, kind, f_src, f_tok, f_seq, f_arg, f_to, f_asks)
{
	net[e]!kind, f_src, f_tok, f_seq, p[e].got, f_arg, f_to, f_asks;
	printf("\t%d: says %e src %d tok %d seq %d ack %d arg %d to %d asks %d\n", e, kind, f_src,
	       f_tok, f_seq, p[e].got, f_arg, f_to, f_asks)
}

/* ---- engine/proto/seq.c -------------------------------------------------------------------------- */

/* qv_window_release and what follows from it. The judge: only what was taken may leave the window. */
inline peer_acked(e)
{
#ifdef PLANT_ACK_UNCHECKED
	p[e].acked = p[e].sent;
	p[e].oldest = p[e].acked + 1;
#else
	/* As 16-bit numbers: of an ack behind acked more is far too much. */
	if
	:: p[e].ack > p[e].acked && p[e].ack <= p[e].sent ->
		p[e].acked = p[e].ack;
		p[e].oldest = p[e].acked + 1;
#ifdef PLANT_RELEASE_EARLY
		p[e].oldest++;
#endif
		if
		:: p[e].resend && p[e].acked >= p[e].resend ->
			if
			:: p[e].acked == p[e].sent -> p[e].resend = 0
			:: else -> p[e].resend = p[e].acked + 1
			fi;
			set_remote(e)
		:: else
		fi
	:: else
	fi;
#endif
	assert(p[e].acked <= taken[e]) /* acknowledged, but not taken */
}

/* Without a number, at once or not at all. */
inline send_now(e, kind, f_src, f_tok, f_arg, f_to)
{
	if
	:: (len(net[e]) < ROOM) ->
		put(e, kind, f_src, f_tok, p[e].sent, f_arg, f_to, (kind == HELLO && !p[e].confirmed));
		p[e].told = p[e].got;
		sent_now = true
	:: (len(net[e]) == ROOM) -> sent_now = false
	fi
}

inline send_ack(e)
{
	if
	:: p[e].hello_sent && !p[e].failed ->
		send_now(e, ACK, p[e].remote_id, p[e].session, 0, 0);
		p[e].ack_due = !sent_now
	:: else
	fi
}

inline out_of_order(e)
{
	if
	:: seq <= p[e].got -> p[e].ack_due = true
	:: seq > p[e].got && !p[e].asked && p[e].hello_sent && !p[e].failed ->
		p[e].asked = true;
		send_now(e, ACK, p[e].remote_id, p[e].session, 1, 0)
	:: else
	fi
}

inline on_ping(e)
{
	if
	:: seq != p[e].got -> out_of_order(e)
	:: else -> send_ack(e)
	fi
}

inline begin_resend(e)
{
	p[e].cut = false;
	if
	:: p[e].sent != p[e].acked ->
		p[e].resend = p[e].acked + 1;
		p[e].hold = true;
		set_remote(e)
	:: else
	fi
}

/* One packet of the window; w[e] holds what was sent. */
inline resend_one(e)
{
	assert(p[e].resend >= p[e].oldest);
#ifndef PLANT_OLD_ID_AGAIN
	if
	:: w[e].kept[p[e].resend % WINDOW].src -> w[e].kept[p[e].resend % WINDOW].src = p[e].told_id
	:: else
	fi;
#endif
	put(e, w[e].kept[p[e].resend % WINDOW].op, w[e].kept[p[e].resend % WINDOW].src, p[e].session,
	    p[e].resend, 0, w[e].kept[p[e].resend % WINDOW].to, false);
	p[e].resend++;
	if
	:: p[e].resend > p[e].sent ->
		p[e].resend = 0;
		set_remote(e)
	:: else
	fi
}

/* qv_emit: a new one. */
inline emit(e, kind)
{
	p[e].sent++;
	p[e].kept = true;
	w[e].kept[p[e].sent % WINDOW].op = kind;
	w[e].kept[p[e].sent % WINDOW].src = p[e].remote_id;
	w[e].kept[p[e].sent % WINDOW].to = (p[e].connected -> p[e].uid : 0);
	put(e, kind, p[e].remote_id, p[e].session, p[e].sent, 0, w[e].kept[p[e].sent % WINDOW].to,
	    false);
	p[e].told = p[e].got
}

/* ---- engine/proto/session.c: what is said -------------------------------------------------------- */

inline begin_session(e)
{
	sessions[e]++;
	assert(sessions[e] % SESSIONS != 0); /* they renew sessions for ever */
	p[e].session = sessions[e];
	printf("\t%d: begins session %d\n", e, p[e].session);
#ifdef PLANT_ID_STAYS
	if
	:: p[e].id == 0 -> new_id(e)
	:: else
	fi;
#else
	new_id(e);
#endif
	p[e].oldest = 1;
	p[e].kept = false;
	p[e].sent = 0;
	p[e].acked = 0;
	p[e].ack = 0;
#ifndef PLANT_GOT_STAYS
	p[e].got = 0;
	p[e].told = 0;
#endif
	p[e].resend = 0;
	p[e].hold = false;
	p[e].cut = false;
	p[e].hello_sent = false;
	p[e].introduced = false;
	p[e].leaving = false;
	p[e].connected = false;
	p[e].confirmed = false;
	p[e].probes = false;
	taken[e] = 0;
	set_remote(e)
}

inline drop_queue(e)
{
	p[e].hello_id = 0;
	p[e].hello_echo = 0;
	p[e].hello_asks = false
}

inline flush_hello(e)
{
	put(e, HELLO, my_uid[e], p[e].session, p[e].sent, p[e].hello_echo, p[e].hello_id, p[e].hello_asks);
	p[e].introduced = true;
	drop_queue(e);
	set_remote(e)
}

/* Queued: it goes when there is room, and says what was true now. */
inline send_hello(e)
{
	p[e].hello_sent = true;
	p[e].hello_id = p[e].id;
	p[e].hello_echo = (p[e].connected -> p[e].theirs : 0);
	p[e].hello_asks = !p[e].confirmed;
	if
	:: (len(net[e]) < ROOM) -> flush_hello(e)
	:: else
	fi
}

inline repeat_hello(e)
{
	echo = (p[e].connected -> p[e].theirs : 0);
	send_now(e, HELLO, my_uid[e], p[e].session, echo, p[e].id);
	if
	:: sent_now ->
		p[e].introduced = true;
		set_remote(e)
	:: else
	fi
}

inline send_reset(e, which)
{
	send_now(e, RESET, 0, p[e].session, which, 0)
}

/* ---- engine/proto/loss.c ------------------------------------------------------------------------- */

inline note_lost(e)
{
	peer_acked(e);
#ifndef PLANT_UNTOLD
	if
	:: p[e].sent != p[e].acked && !p[e].leaving -> p[e].untold = true
	:: else
	fi;
#endif
	assert(p[e].untold || p[e].leaving || p[e].sent <= taken[e]) /* lost without a word */
}

inline peer_fail(e)
{
	if
	:: !p[e].failed ->
		note_lost(e);
		if
		:: p[e].hello_sent && p[e].theirs -> send_reset(e, p[e].theirs)
		:: else
		fi;
		p[e].failed = true;
		set_remote(e);
		drop_queue(e);
		p[e].resend = 0;
		p[e].kept = false;
		p[e].sent = p[e].acked
	:: else
	fi
}

inline end_session(e)
{
	note_lost(e);
	p[e].connected = false;
	drop_queue(e);
	begin_session(e)
}

/* ---- engine/proto/session.c: a HELLO has come ---------------------------------------------------- */

/* An id that was given to an earlier session of ours may lead to what belongs to that. */
inline confirm(e)
{
	if
#ifdef PLANT_UNCONFIRMED_ID
	:: true ->
#else
	:: arg == p[e].session ->
#endif
		p[e].told_id = to;
		p[e].confirmed = true;
		set_remote(e)
	:: else
	fi
}

inline on_known_session(e)
{
	if
	:: p[e].failed || !p[e].connected -> send_reset(e, tok)
	:: else ->
#ifdef PLANT_NEW_ID_IGNORED
		if
		:: !p[e].confirmed -> confirm(e)
		:: else
		fi;
#else
		confirm(e);
#endif
		if
		:: asks && p[e].hello_sent -> repeat_hello(e)
		:: else
		fi;
		if
		:: p[e].confirmed -> on_ping(e)
		:: else
		fi
	fi
}

/* Not for ever: who answers a challenge by another does not know better. */
inline challenge(e)
{
	if
#ifdef PLANT_CHALLENGE_ALWAYS
	:: true -> repeat_hello(e)
#endif
	:: p[e].challenges < CHALLENGES ->
		p[e].challenges++;
		repeat_hello(e)
	:: else
	fi
}

inline begin_theirs(e)
{
	paired = p[e].connected;
	ours_lives = (arg == p[e].session);
	if
	:: p[e].failed ->
		p[e].failed = false;
		begin_session(e)
	:: !p[e].failed && paired && !ours_lives -> end_session(e)
	:: !p[e].failed && paired && ours_lives ->
		new_id(e);
		p[e].hello_sent = false;
		p[e].introduced = false
	:: else
	fi;
	p[e].confirmed = false;
	p[e].theirs = tok;
	p[e].got = 0;
	p[e].told = 0;
	p[e].asked = false;
	p[e].ack_due = false;
	p[e].connected = true
}

inline take_hello(e)
{
	begin_theirs(e);
	was_sent = p[e].hello_sent;
	p[e].uid = src;
	p[e].heard = true;
	confirm(e);
	if
	:: !was_sent -> send_hello(e)
	:: was_sent && asks -> repeat_hello(e)
	:: else
	fi
}

/* may_begin is the guards. */
inline on_hello(e)
{
	same = (p[e].uid == src);
	if
#ifndef PLANT_STALE_HELLO
	:: same && p[e].theirs && tok < p[e].theirs ->
		skip
#endif
	:: same && tok == p[e].theirs ->
		on_known_session(e);
		if
		:: p[e].connected -> p[e].heard = true
		:: else
		fi
#ifndef PLANT_NO_ECHO
	:: !(same && p[e].theirs && tok <= p[e].theirs) && arg && arg != p[e].session ->
		send_reset(e, tok);
		if
		:: p[e].hello_sent -> challenge(e)
		:: else
		fi
#endif
#ifndef PLANT_NO_CHALLENGE
	:: (arg == 0 || arg == p[e].session) && p[e].connected && !p[e].failed && !same ->
		challenge(e)
#endif
	:: else -> take_hello(e)
	fi
}

/* ---- engine/proto/loss.c: a RESET has come -------------------------------------------------------- */

inline on_reset(e)
{
	if
#ifndef PLANT_RESET_IGNORED
	:: p[e].session == arg && !p[e].failed && p[e].hello_sent -> end_session(e)
#endif
	:: else
	fi
}

/* ---- engine/proto/packet.c ----------------------------------------------------------------------- */

/* The judge looks at what is taken: in order, once, of the session that it is in, for us. */
inline take(e)
{
#ifndef ANY_SESSION
	assert(tok == p[e].theirs);
#endif
	assert(seq == p[e].got + 1);
	assert(to == 0 || to == my_uid[e]);
	if
	:: seq == 1 ->
		assert((opened[e] & (1 << tok)) == 0);
		opened[e] = opened[e] | (1 << tok)
	:: else
	fi;
	if
	:: tok == p[OTHER(e)].session && my_uid[OTHER(e)] && taken[OTHER(e)] < seq ->
		taken[OTHER(e)] = seq
	:: else
	fi
}

/* Who speaks by the token may acknowledge what belonged to an earlier session of ours. */
inline hear_ack(e)
{
	if
#ifdef PLANT_ACK_BY_TOKEN
	:: true ->
#else
	:: src != 0 || p[e].confirmed ->
#endif
		p[e].ack = hack;
		if
		:: op == EAGER && src != 0 /* the plain way does not look at once */
		:: else -> peer_acked(e)
		fi
	:: else
	fi
}

inline on_unnumbered(e)
{
	p[e].heard = true;
	hear_ack(e);
	if
	:: op == PING -> on_ping(e)
	:: op == ACK && seq != p[e].got -> out_of_order(e)
	:: else
	fi;
	if
	:: op == ACK && arg && p[e].sent != p[e].acked && !p[e].hold -> begin_resend(e)
	:: else
	fi
}

inline on_numbered(e)
{
	take(e);
	hear_ack(e);
	p[e].got = seq;
	p[e].heard = true;
	if
	:: op == LEAVE ->
		p[e].leaving = true;
		p[e].ack_due = true;
		send_ack(e)
	:: else
	fi
}

inline on_packet(e)
{
	if
	:: my_uid[e] == 0
	:: my_uid[e] && op == HELLO -> on_hello(e)
	:: my_uid[e] && op == RESET -> on_reset(e)
	:: else ->
		if
		:: (src != p[e].id && !(src == 0 && tok == p[e].theirs)) || !p[e].connected ||
		   p[e].failed ->
			skip /* unknown */
		:: else ->
			if
			:: op == PING || op == ACK -> on_unnumbered(e)
#ifdef PLANT_TAKE_REPEAT
			:: (op == EAGER || op == LEAVE) && seq <= p[e].got + 1 -> on_numbered(e)
#else
			:: (op == EAGER || op == LEAVE) && seq == p[e].got + 1 -> on_numbered(e)
#endif
			:: else -> out_of_order(e)
			fi
		fi
	fi
}

/* ---- engine/proto/alive.c, tick.c ---------------------------------------------------------------- */

inline probe(e)
{
	if
	:: p[e].probes || !p[e].confirmed -> repeat_hello(e)
	:: else
	fi;
	send_now(e, PING, p[e].remote_id, p[e].session, 0, 0);
	if
	:: sent_now -> p[e].probes = true
	:: else
	fi
}

#ifdef PLANT_ASKED_STAYS
#define asked_not(e) (!p[e].heard && !p[e].challenges)
#else
#define asked_not(e) (!p[e].heard && !p[e].asked && !p[e].challenges)
#endif

inline tick(e)
{
	if
	:: p[e].got == p[e].told && !p[e].ack_due && !p[e].cut && !p[e].resend &&
	   p[e].sent == p[e].acked && !p[e].kept && p[e].hello_id == 0 && asked_not(e) ->
		p[e].probes = false /* is_idle */
	:: else ->
		peer_acked(e);
		if
		:: p[e].sent == p[e].acked -> p[e].kept = false
		:: else
		fi;
		if
		:: p[e].failed
		:: else ->
			if
			:: p[e].heard -> p[e].probes = false
			:: else
			fi;
			p[e].heard = false;
			p[e].asked = false;
			p[e].challenges = 0;
			if
			:: p[e].ack_due || p[e].got != p[e].told -> send_ack(e)
			:: else
			fi;
			if
			:: p[e].cut && !p[e].hold -> begin_resend(e)
			:: else
			fi;
			p[e].hold = false;
			if
			:: p[e].sent != p[e].acked && my_uid[OTHER(e)] == 0 && (len(net[OTHER(e)]) == 0) ->
				peer_fail(e) /* look_for_known: nobody is there */
			:: p[e].sent != p[e].acked && (my_uid[OTHER(e)] || (len(net[OTHER(e)]) > 0)) &&
			   p[e].hello_sent && !p[e].resend ->
				probe(e)
			:: else
			fi
		fi
	fi
}

/* ---- engine/proto/send.c ------------------------------------------------------------------------- */

/* may_send, then a short message; sent_now: it was reported as sent. */
inline app_send(e)
{
	sent_now = false;
	if
	:: p[e].untold -> /* QV_EPEER: now it is told */
		p[e].untold = false;
		set_remote(e)
	:: else ->
		if
		:: p[e].failed ->
			p[e].failed = false;
			begin_session(e)
		:: else
		fi;
		if
		:: !p[e].hello_sent -> send_hello(e)
		:: else
		fi;
		if
		:: p[e].sent - p[e].acked >= WINDOW -> peer_acked(e)
		:: else
		fi;
		if
		:: p[e].introduced && p[e].hello_id == 0 && !p[e].resend && p[e].sent - p[e].acked < WINDOW &&
		   (len(net[e]) < ROOM) ->
			emit(e, EAGER);
			sent_now = true
		:: else
		fi
	fi
}
