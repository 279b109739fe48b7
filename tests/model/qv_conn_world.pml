/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_conn_world.pml - all that may happen, in any order: first anything, as often as the
 * configuration allows; then, at any time, calm: what is in flight arrives, clocks tick. The judge
 * wants all sent then to be taken, or told, and each to hear the other, within so many ticks.
 */

inline begin_life(e, uid_now, first_session)
{
	my_uid[e] = uid_now;
	sessions[e] = first_session;
	opened[e] = 0;
	begin_session(e)
}

inline end_life(e)
{
	my_uid[e] = 0;
	taken[e] = 0;
	p[e].uid = 0;
	p[e].session = 0;
	p[e].theirs = 0;
	p[e].id = 0;
	p[e].told_id = 0;
	p[e].remote_id = 0;
	p[e].sent = 0;
	p[e].acked = 0;
	p[e].got = 0;
	p[e].told = 0;
	p[e].ack = 0;
	p[e].resend = 0;
	p[e].oldest = 0;
	p[e].kept = false;
	p[e].connected = false;
	p[e].confirmed = false;
	p[e].challenges = 0;
	p[e].hello_sent = false;
	p[e].introduced = false;
	p[e].failed = false;
	p[e].untold = false;
	p[e].leaving = false;
	p[e].cut = false;
	p[e].ack_due = false;
	p[e].asked = false;
	p[e].heard = false;
	p[e].probes = false;
	p[e].hold = false;
	drop_queue(e);
	closing[e] = false
}

/* All in flight is lost; c0, c1: the transport tells 0 and 1 that packets of theirs were. */
inline lose(c)
{
	do
	:: len(c) > 0 -> c?_,_,_,_,_,_,_,_
	:: len(c) == 0 -> break
	od
}

inline cut_off(c0, c1)
{
	printf("cut, told to 0: %d, to 1: %d\n", c0, c1);
	lose(net[0]);
	lose(net[1]);
	p[0].cut = (p[0].cut || c0) && p[0].sent != p[0].acked;
	p[1].cut = (p[1].cut || c1) && p[1].sent != p[1].acked
}

#define ALIVE(e)       (my_uid[e] != 0)
#define CAN_EMIT(e)    (p[e].introduced && p[e].hello_id == 0 && !p[e].resend && p[e].sent - p[e].acked < WINDOW && (len(net[e]) < ROOM))
#define FLUSH_HELLO(e) (ALIVE(e) && p[e].hello_id != 0 && !p[e].failed)
#define FLUSH_RESEND(e) (ALIVE(e) && p[e].resend && !p[e].failed)
#define MAY_LEAVE(e) (closing[e] && ALIVE(e) && (p[e].failed || !p[e].hello_sent || p[e].leaving || \
			p[e].sent == p[e].acked))
#define NOTHING_TO_DO(e) (!FLUSH_HELLO(e) && !FLUSH_RESEND(e) && !MAY_LEAVE(e))
#define MEETS(e) (ALIVE(e) && ALIVE(OTHER(e)) && !closing[0] && !closing[1])

/* A tick of the calm, and a message that shows that all is well. */
inline calm_tick(e)
{
	if
	:: ALIVE(e) ->
		printf("%d ticks, calm %d\n", e, round);
		tick(e);
		if
		:: fresh[e] == 1 && fresh_session[e] == p[e].session && p[e].sent == p[e].acked ->
			fresh[e] = 2
		:: fresh[e] == 1 && fresh_session[e] != p[e].session -> fresh[e] = 0
		:: else
		fi;
		if
		:: round >= CONVERGE && MEETS(e) && fresh[e] == 0 ->
			app_send(e);
			if
			:: sent_now ->
				fresh[e] = 1;
				fresh_session[e] = p[e].session
			:: else
			fi
		:: else
		fi
	:: else
	fi
}

inline judge(e)
{
	if
	:: round == CONVERGE && ALIVE(e) ->
		assert(p[e].sent == p[e].acked); /* it waits for ever */
		assert(!closing[e])              /* it never ends */
	:: round == CONVERGE + CONVERSE && MEETS(e) -> assert(fresh[e] == 2)
	:: else
	fi
}

/* A packet that has arrived may arrive again before all others, once a connection was made anew. */
inline note_last(e)
{
#ifdef REPEAT
	if
	:: can_repeat ->
		lose(last[e]);
		last[e]!op, src, tok, seq, hack, arg, to, asks
	:: else
	fi
#else
	skip
#endif
}

inline repeat(e)
{
#ifdef REPEAT
	can_repeat--;
	last[e]?op, src, tok, seq, hack, arg, to, asks;
	lose(last[OTHER(e)]);
	printf("again from %d: %e src %d tok %d seq %d ack %d arg %d to %d asks %d\n", e, op, src, tok,
	       seq, hack, arg, to, asks);
	net[e]!op, src, tok, seq, hack, arg, to, asks
#else
	skip
#endif
}
#ifdef REPEAT
#define CAN_REPEAT(e) (can_repeat && len(net[0]) == 0 && len(net[1]) == 0 && len(last[e]) > 0)
#else
#define CAN_REPEAT(e) false
#endif

#define OF_ENDPOINT(e) \
	/* What goes on by itself. */ \
	:: d_step { (len(net[OTHER(e)]) > 0) -> \
		net[OTHER(e)]?op, src, tok, seq, hack, arg, to, asks; \
		printf("%d hears %e src %d tok %d seq %d ack %d arg %d to %d asks %d\n", e, op, src, tok, seq, hack, arg, to, asks); \
		note_last(OTHER(e)); \
		on_packet(e); \
		if \
		:: calm -> \
			steps++; \
			assert(steps < STEPS) /* they answer each other for ever */ \
		:: else \
		fi \
	   } \
	:: d_step { FLUSH_HELLO(e) && !p[e].resend && (len(net[e]) < ROOM) -> flush_hello(e) } \
	:: d_step { FLUSH_RESEND(e) && (len(net[e]) < ROOM) -> resend_one(e) } \
	:: d_step { MAY_LEAVE(e) -> \
		assert(p[e].failed || p[e].leaving || p[e].sent <= taken[e]); \
		if \
		:: p[e].connected && !p[e].failed && !p[e].leaving -> send_reset(e, p[e].theirs) \
		:: else \
		fi; \
		printf("%d has left\n", e); \
		end_life(e); \
		left[e] = true \
	   } \
	/* What may happen. */ \
	:: d_step { !calm && CAN_REPEAT(e) -> repeat(e) } \
	:: d_step { !calm && ALIVE(e) && can_send[e] && !closing[e] && \
		    (p[e].untold || p[e].failed || !p[e].hello_sent || CAN_EMIT(e)) -> \
		can_send[e]--; \
		printf("%d sends\n", e); \
		app_send(e) \
	   } \
	:: d_step { !calm && ALIVE(e) && can_tick[e] -> \
		can_tick[e]--; \
		printf("%d ticks\n", e); \
		tick(e) \
	   } \
	:: d_step { !calm && ALIVE(e) && can_fail[e] && !p[e].failed && p[e].hello_sent -> \
		can_fail[e]--; \
		printf("%d gives the other up\n", e); \
		peer_fail(e) \
	   } \
	:: d_step { !calm && ALIVE(e) && can_kill[e] && !closing[e] -> \
		can_kill[e]--; \
		printf("%d is killed\n", e); \
		end_life(e); \
		kill_cuts() \
	   } \
	:: d_step { !calm && !ALIVE(e) && !left[e] -> \
		printf("%d is started again\n", e); \
		begin_life(e, 2, 0) \
	   } \
	:: d_step { !calm && ALIVE(e) && can_close[e] && !closing[e] && \
		    (CAN_EMIT(e) || p[e].failed || !p[e].hello_sent) -> \
		can_close[e]--; \
		printf("%d closes\n", e); \
		closing[e] = true; \
		if \
		:: p[e].hello_sent && !p[e].failed -> emit(e, LEAVE) \
		:: else \
		fi \
	   }

inline kill_cuts()
{
#ifndef STRAY
	cut_off(true, true)
#else
	skip
#endif
}

init {
	d_step {
		can_kill[0] = KILLS_0;
		can_kill[1] = KILLS_1;
		can_fail[0] = FAILS_0;
		can_fail[1] = FAILS_1;
		can_close[0] = CLOSES_0;
		can_close[1] = CLOSES_1;
		begin_life(0, 1, SESSIONS);
		begin_life(1, 1, SESSIONS)
	}
	do
	OF_ENDPOINT(0)
	OF_ENDPOINT(1)
	:: d_step { !calm && can_cut -> can_cut--; cut_off(false, false) }
	:: d_step { !calm && can_cut -> can_cut--; cut_off(true, false) }
	:: d_step { !calm && can_cut -> can_cut--; cut_off(false, true) }
	:: d_step { !calm && can_cut -> can_cut--; cut_off(true, true) }
	:: d_step { !calm -> calm = true;
		printf("calm\n");
		can_send[0] = 0; can_send[1] = 0; can_tick[0] = 0; can_tick[1] = 0; can_cut = 0;
		can_kill[0] = 0; can_kill[1] = 0; can_fail[0] = 0; can_fail[1] = 0;
		can_close[0] = 0; can_close[1] = 0
	   }
	:: d_step { calm && round < CONVERGE + CONVERSE && len(net[0]) == 0 && len(net[1]) == 0 &&
		    NOTHING_TO_DO(0) && NOTHING_TO_DO(1) ->
		steps = 0;
		calm_tick(0);
		calm_tick(1);
		round++;
		judge(0);
		judge(1)
	   }
	:: calm && round == CONVERGE + CONVERSE -> break
	od
}
