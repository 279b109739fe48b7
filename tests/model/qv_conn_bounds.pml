/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_conn_bounds.pml - how much may happen; a configuration sets what it needs by -D. */
#ifndef WINDOW
#define WINDOW 2 /* packets that are kept */
#endif
#ifndef ROOM
#define ROOM 3 /* packets in flight, each way */
#endif
#ifndef MSGS
#define MSGS 2 /* calls of send, each endpoint */
#endif
#ifndef TICKS
#define TICKS 1 /* before the calm, each endpoint */
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef KILLS_0
#define KILLS_0 0
#endif
#ifndef KILLS_1
#define KILLS_1 0
#endif
#ifndef FAILS_0
#define FAILS_0 0
#endif
#ifndef FAILS_1
#define FAILS_1 0
#endif
#ifndef CLOSES_0
#define CLOSES_0 0
#endif
#ifndef CLOSES_1
#define CLOSES_1 0
#endif
#ifndef CHALLENGES
#define CHALLENGES 4 /* of one peer between two ticks */
#endif
#define SESSIONS  8  /* of one life of an endpoint, at most */
#define CONVERGE  8  /* ticks of the calm until nothing waits any more */
#define CONVERSE  10 /* and until each has spoken to the other */
#define STEPS     40 /* packets that arrive between two ticks of the calm */
