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
 * order written. Each unit of the staging area has the number of the packet that it belongs to.
 */
#ifndef PACKETS
#define PACKETS 8
#endif
#define SLOTS      3
#define STAGE      6 /* units */
#define LONGEST    2
#define TELL       2
#define TELL_UNITS 1
#define NONE       255

byte word[SLOTS];    /* the number */
byte size[SLOTS];
byte begins[SLOTS];
byte payload[SLOTS]; /* of a packet of no units */
byte stage[STAGE];
byte consumed;

inline refresh()
{
	seen = consumed;
	if
	:: seen + SLOTS == end
	:: else ->
		last = (at + 2 * SLOTS - 1 - (sent - seen)) % SLOTS;
#ifdef PLANT_FREED_TOO_FAR
		last = (last + 1) % SLOTS;
#endif
		freed = staged[last];
		end = seen + SLOTS
	fi
}

/* qv_ring_stage */
inline find_room()
{
	skip_units = (put % STAGE + n > STAGE -> STAGE - put % STAGE : 0);
	if
	:: put + skip_units + n - freed > STAGE -> refresh()
	:: else
	fi;
	if
#ifdef PLANT_NO_ROOM
	:: put + skip_units + n - freed > STAGE + 1 -> place = NONE
#else
	:: put + skip_units + n - freed > STAGE -> place = NONE
#endif
	:: else ->
		put = put + skip_units + n;
		place = (put - n) % STAGE
	fi
}

inline copy_in()
{
	if
	:: n == 0 -> payload[at] = sent + 1
	:: else ->
		i = 0;
		do
		:: i < n -> stage[place + i] = sent + 1; i++
		:: else -> break
		od;
		i = 0
	fi
}

inline publish()
{
	atomic { staged[at] = put; size[at] = n; begins[at] = place }
	word[at] = sent + 1
}

proctype sender()
{
	byte sent, end = SLOTS, at, put, freed, staged[SLOTS], n, i, seen, last, skip_units, place;
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
			:: consumed != end - SLOTS
			:: timeout -> assert(false)
			fi;
			goto again
		:: else
		fi;
#ifdef PLANT_WORD_FIRST
		publish();
		copy_in();
#else
		copy_in();
		publish();
#endif
		atomic { at = (at + 1) % SLOTS; sent++ }
	od
}

inline copy_out()
{
	if
	:: size[at] == 0 -> assert(payload[at] == got + 1)
	:: else ->
		i = 0;
		do
		:: i < size[at] -> assert(stage[begins[at] + i] == got + 1); i++
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

proctype receiver()
{
	byte got, at, told, untold, i;

	do
	:: got == PACKETS -> break
	:: got < PACKETS && word[at] == got + 1 ->
#ifdef PLANT_TOLD_FIRST
		tell();
		copy_out();
#else
		copy_out();
		tell();
#endif
		atomic { at = (at + 1) % SLOTS; got++ }
	od
}

init {
	atomic { run sender(); run receiver() }
}

#endif
