/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_node_ring.pml - the orders of stores of engine/node: -DSLEEP: going to sleep (sleep.c); else a
 * ring (ring.h, ring.c). PLANT_* break one rule each.
 */
#ifdef SLEEP

/*
 * A store waits in the FIFO of its process until memory takes it, at any time; a load looks at memory
 * at once. That is TSO, the order of x86; membarrier(2) empties the FIFOs of the others.
 */
#ifndef SENDERS
#define SENDERS 1
#endif
#ifndef PACKETS
#define PACKETS 3
#endif
#define DEPTH 8

byte word[SENDERS];   /* memory: the last packet there */
byte asleep[SENDERS]; /* memory: which sleep this is, 0: none */
bool bell;            /* the socket is readable: the kernel's, no FIFO */
byte over;            /* processes that have ended */

chan words[SENDERS] = [DEPTH] of { byte };
chan sleeps = [DEPTH] of { byte, byte }; /* sender, number: stores of the sleeper */

proctype memory()
{
	byte i, v;

end:	do
	:: atomic { sleeps?i, v -> asleep[i] = v }
	:: atomic { words[0]?v -> word[0] = v }
#if SENDERS > 1
	:: atomic { words[1]?v -> word[1] = v }
#endif
	od
}

/* The fence of another: what waited in its FIFO is in memory. */
inline drain_words(i, v)
{
	atomic {
		do
		:: words[i]?v -> word[i] = v
		:: empty(words[i]) -> break
		od
	}
}

inline drain_sleeps(i, v)
{
	atomic {
		do
		:: sleeps?i, v -> asleep[i] = v
		:: empty(sleeps) -> break
		od;
		i = 0
	}
}

/* qv_ring_must_wake and qv_node_wake */
inline look()
{
	seen = asleep[me];
	if
	:: seen != rung ->
		seen = asleep[me];
		rung = seen;
		if
		:: seen -> bell = true
		:: else
		fi
	:: else
	fi
}

proctype sender(byte me)
{
	byte sent, seen, rung, v;

	do
	:: sent == PACKETS -> break
	:: sent < PACKETS ->
		sent++;
#ifdef PLANT_LOOK_FIRST
		look();
		words[me]!sent
#else
		words[me]!sent;
#ifdef FENCED /* it could not ask for membarrier(2) */
		drain_words(me, v);
#endif
		look()
#endif
	od;
	over++
}

inline tell_all(number)
{
	i = 0;
	do
	:: i < SENDERS -> sleeps!i, number; i++
	:: else -> break
	od;
	i = 0
}

/* qv_node_awake: the bells are heard after the senders are told. */
inline wake()
{
	tell_all(0);
	bell = false
}

/* something_is_there */
inline look_again()
{
	there = false;
	i = 0;
	do
	:: i < SENDERS ->
		if
		:: word[i] != got[i] -> there = true
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

inline may_sleep()
{
#ifdef PLANT_SAME_SLEEP
	sleep = 1;
#else
	sleep++;
#endif
	tell_all(sleep);
#ifndef PLANT_NO_BARRIER
	drain_sleeps(i, v);
#ifndef FENCED
	drain_words(0, v);
#if SENDERS > 1
	drain_words(1, v);
#endif
#endif
#endif
#ifdef PLANT_NO_LOOK
	there = false
#else
	look_again()
#endif
}

proctype sleeper()
{
	byte got[SENDERS], sleep, all, i, v;
	bool there;

	do
	:: all == SENDERS * PACKETS -> break
	:: else ->
		/* a poll: each ring, a packet */
		i = 0;
		do
		:: i < SENDERS ->
			if
			:: word[i] != got[i] -> got[i]++; all++
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		if
		:: true /* it goes on polling */
		:: all < SENDERS * PACKETS ->
			may_sleep();
			if
			:: there
			:: else ->
				if /* poll(2) */
				:: bell
				:: timeout -> assert(false) /* it sleeps beside a packet */
				fi
			fi;
			wake()
		fi
	od;
	over++
}

init {
	atomic {
		run memory();
		run sleeper();
		run sender(0);
#if SENDERS > 1
		run sender(1)
#endif
	}
}

#else

/*
 * A ring of few slots. Release and acquire are taken for what they promise: stores are seen in the
 * order written. Each unit of the staging area has the number of the packet that it belongs to. Slots
 * and area begin small; the slots grow at any turn, or never.
 */
#ifndef PACKETS
#define PACKETS 8
#endif
#define FIRST      2
#define SLOTS      3
#define STAGED     2 /* units */
#define STAGE      6
#define LONGEST    2
#define TELL       2
#define TELL_UNITS 1
#define NONE       255

byte word[SLOTS];    /* the number */
bool grows[SLOTS];
byte size[SLOTS];
byte begins[SLOTS];
byte payload[SLOTS]; /* of a packet of no units */
byte unit[STAGE];
byte consumed;

inline refresh()
{
	seen = consumed;
	if
	:: seen + slots == end
	:: else ->
		last = (at + 2 * slots - 1 - (sent - seen)) % slots;
#ifdef PLANT_FREED_TOO_FAR
		last = (last + 1) % slots;
#endif
		freed = staged[last];
		end = seen + slots
	fi
}

/* grow_stage: behind what was used of the small area */
inline grow_stage()
{
	atomic {
		put = put + (stage - (put - base) % stage) % stage;
#ifdef PLANT_GROWN_OVER
		base = put;
#else
		base = put - stage;
#endif
		stage = STAGE
	}
}

inline skip_end()
{
	skipped = ((put - base) % stage + n > stage -> stage - (put - base) % stage : 0)
}

/* qv_ring_stage */
inline find_room()
{
	skip_end();
	if
	:: put + skipped + n - freed > stage ->
		refresh();
		if
		:: put + skipped + n - freed > stage && stage == STAGED -> grow_stage()
		:: else
		fi;
		skip_end()
	:: else
	fi;
	if
#ifdef PLANT_NO_ROOM
	:: put + skipped + n - freed > stage + 1 -> place = NONE
#else
	:: put + skipped + n - freed > stage -> place = NONE
#endif
	:: else ->
		put = put + skipped + n;
		place = (put - n - base) % stage
	fi
}

inline copy_in()
{
	if
	:: n == 0 -> payload[at] = sent + 1
	:: else ->
		i = 0;
		do
		:: i < n -> unit[place + i] = sent + 1; i++
		:: else -> break
		od;
		i = 0
	fi
}

/* qv_ring_tx_turn; next: where the packet behind this one goes */
inline turn()
{
	next = at + 1;
	if
	:: next == slots ->
		if
		:: slots == FIRST -> refresh()
		:: else
		fi;
		if
		:: slots == FIRST ->
			slots = SLOTS;
			end = end + SLOTS - FIRST;
#ifndef PLANT_GROWS_UNSAID
			grows[at] = true
#endif
		:: next = 0; grows[at] = false
		fi
	:: else -> grows[at] = false
	fi
}

inline publish()
{
	atomic { staged[at] = put; size[at] = n; begins[at] = place }
	slot = at;
	turn();
	atomic { word[slot] = sent + 1; at = next; sent++ }
}

proctype sender()
{
	byte sent, slots = FIRST, end = FIRST, at, next, slot, put, freed, staged[SLOTS];
	byte stage = STAGED, base, n, i, seen, last, skipped, place;
	bool wait;

	do
	:: sent == PACKETS -> break
	:: else ->
		select (n : 0 .. LONGEST);
again:		if
		:: sent == end -> refresh()
		:: else
		fi;
		place = 0;
		wait = (sent == end);
		if
		:: !wait && n > 0 -> find_room(); wait = (place == NONE)
		:: else
		fi;
		if
		:: wait -> /* until more is told; nobody waits for ever */
			if
			:: consumed != end - slots
			:: timeout -> assert(false)
			fi;
			goto again
		:: else
		fi;
#ifdef PLANT_WORD_FIRST
		slot = at;
		publish();
		at = slot;
		sent--;
		copy_in();
		at = next;
		sent++
#else
		copy_in();
		publish()
#endif
	od
}

inline copy_out()
{
	if
	:: size[at] == 0 -> assert(payload[at] == got + 1)
	:: else ->
		i = 0;
		do
		:: i < size[at] -> assert(unit[begins[at] + i] == got + 1); i++
		:: else -> break
		od;
		i = 0
	fi
}

/* qv_ring_advance */
inline tell()
{
	untold = untold + size[at];
	if
	:: got + 1 - told < TELL && untold < TELL_UNITS
	:: else -> atomic { told = got + 1; untold = 0; consumed = told }
	fi
}

inline advance()
{
	atomic {
		at++;
		if
		:: at == slots && grown -> slots = SLOTS
		:: at == slots && !grown -> at = 0
		:: else
		fi;
		got++
	}
}

proctype receiver()
{
	byte got, slots = FIRST, at, told, untold, i;
	bool grown;

	do
	:: got == PACKETS -> break
	:: got < PACKETS && word[at] == got + 1 ->
		grown = grows[at]; /* of the word, which was read once */
#ifdef PLANT_TOLD_FIRST
		tell();
		copy_out();
#else
		copy_out();
		tell();
#endif
		advance()
	:: timeout -> assert(false) /* it waits beside a packet */
	od
}

init {
	atomic { run sender(); run receiver() }
}

#endif
