/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tuning.h - structure "auto": every constant that was chosen by measuring, and what by. many.c and
 * llv, which serve other structures, too, have their own.
 *
 * Cells in brackets are cases of `quiver bench match`. "Slower without": the path or the rule was
 * switched off, and both forms ran in one process (two cores of an AMD EPYC). Where there is no
 * figure, the value was chosen by the cells that are named, and the figure was not recorded. Steps
 * are entries compared in a walk.
 */
#ifndef QV_AUTO_TUNING_H
#define QV_AUTO_TUNING_H

/* Upkeep once in so many appends: too rare to be seen in any cell. */
#define QV_TICK 64

/* LIST. */

/* test_match_burst: a list longer than QV_LONG is indexed at once when a walk comes so far. A shorter
 * one is not, since the walk may be of a receive that nothing is there for: quicksilver was 1.3
 * times slower with 48 for QV_LONG. (It, and minife, are patterns of `quiver trace generate`.) */
#define QV_WALK_MAX 48
#define QV_LONG     256
/* [prq/rand/4..64]: steps that pay for an index: a fixed part, and a part for each entry. */
#define QV_COST_FIXED 256
#define QV_COST_EACH  3
/* quicksilver: 1.4 times slower with QV_COST_FIXED. The fixed part where a receive from any source
 * searches, for what its index does takes longer; and for removals by name, which need no index. */
#define QV_COST_ANY 512
/* [umq/rand/4]: steps that a misprediction costs: a walk that ends elsewhere than the last one. */
#define QV_COST_MISPREDICTED 8
/* [wumq/both50/8, mix50/8]: 1.4 times slower without the scan of so few messages. */
#define QV_FEW 16
/* [wumq/mix50/8]: 1.5 to 2.3 times slower if the cost limit of a short queue never doubles. */
#define QV_COST_SHIFT_MAX   4
#define QV_COST_SHIFT_TICKS 512 /* until it is halved again */
/* [near32/64, prq/head/1000]: less cost in a tick than this is a quiet list. */
#define QV_QUIET_COST    64
#define QV_QUIET_APPENDS 4096

/* HASH to LIST and back. [wprq/mix1/1000] was 1.26 times slower with 16 for QV_TRIAL_EACH. */
#define QV_TRIAL_MIN   1024
#define QV_TRIAL_MAX   (UINT64_C(1) << 26)
#define QV_TRIAL_EACH  64
#define QV_TRIAL_SLOTS 16 /* to look for entries in more slots each costs more than a trial saves */
/* minife: 1.05 times slower with 16. Doubled at the first change to HASH, so the least is twice that. */
#define QV_EMPTIES_MIN 64
#define QV_EMPTIES_MAX 65536

/* [app/near32/16384, umq/head/100000]: 1.4 and 1.2 times slower if a burst that was as long as the
 * last is not expected (meet_expected in policy.c).
 * Memory: held by test_match_memory and [mem/...]. Ticks of a window, of a big one; big slots. */
#define QV_WINDOW     1024
#define QV_WINDOW_BIG 16
#define QV_BIG        131072
/* Beyond so many entries memory counts: indexes beside the first have half the room, and tables do
 * not grow ahead. */
#define QV_MANY 65536
/* A ring longer than this is not kept beside several indexes. */
#define QV_RING_BIG 65536

#define QV_RING_MIN 128

/* Multipliers of the hash, found by search: keys that are a run or a grid of tags and sources, at
 * whichever bits, spread better than by chance. They are no secret; who aims at one bucket finds
 * the keyed hash behind it. */
#define QV_MUL_TAG UINT64_C(0x0d43492e57bd80fb)
#define QV_MUL_SRC UINT64_C(0x5d0aa8044a62403d)

/* A table: its least length, as a power of two, and slots for each entry. A key that meets another
 * in its bucket costs more than the memory. */
#define QV_LOG_SLOTS_MIN 9
#define QV_ROOMY         2
/* A bucket with more keys than this is no accident while the table has room: test_match_hostile. */
#define QV_BUCKET_MAX 16

/* Posted receives in HASH. */

/* [wprq/anytag10/1000]: 1.15 times slower if tables of several classes have no double room. Beyond
 * so many receives the cache is worth more. */
#define QV_ROOMY_MAX 8192
/* [wprq/anytag1/1000, both1/64]: 1.35 and 1.18 times slower without the dominant class. It has so
 * many times the receives of all the others. */
#define QV_DOMINANT 8
/* [wprq/anysrc1..50/8]: 1.17 times slower without the merged index. Mismatches in it per tick that
 * end it, and the most times that it is not tried. */
#define QV_MISMATCHES_MAX 192
#define QV_APART_MAX      1024
/* [wprq/mix50/64, mix100/64]: 1.3 and 1.4 times slower without the class cache. Its places. */
#define QV_CLASS_CACHE 16
/* Ticks without receives of a class until arrivals do not look at its index. */
#define QV_IDLE_TICKS 4
/* test_all_masks_differ: choosing classes anew costs so many comparisons by vector for each entry;
 * so many receives in the overflow list make it worth a thought. */
#define QV_OVERFLOW_PRICE 256
#define QV_OVERFLOW_MANY  64
#define QV_OVERFLOW_LIMIT (UINT64_C(1) << 32)

/* Unexpected messages in HASH. */

/* minife, half of the receives from any source: 1.8 times slower if so few messages get no list in
 * order, but each such search looks into all slots of a table. */
#define QV_SHORT 4
/* test_short: classes that no index serves may take turns, so that none searches twice in a row. When all
 * messages have been looked at so often, whoever searches gets an index. */
#define QV_SCANS 16
/* [wumq/both1/8, mix10/64]: 1.25 and 1.66 times slower without the list in order. Messages up to
 * which it is worth walking if receives use it often, and if seldom. */
#define QV_ORDER_OFTEN  24
#define QV_ORDER_SELDOM 128
#define QV_ORDER_IDLE   1024 /* appends */
/* [wumq/anysrc1/1000]: 1.9 times slower if an index of a wider class never serves narrower ones.
 * Collisions in a tick that are few, and many; ticks with few until that is believed. */
#define QV_COLLISIONS_FEW  12
#define QV_COLLISIONS_MANY 44
#define QV_QUIET_MIN       4
#define QV_QUIET_MAX       128
/* [wumq/anytag10/1000]: 2.5 times slower without the limit in a tick. Steps in the index of a wider
 * class, in one search and in a tick. */
#define QV_WIDER_STEPS 32
#define QV_WIDER_COST  256
/* [wumq/mix10/64]: 1.5 times slower without the rule that searches in a tick times messages, below
 * this, make walking in order cheaper than an index. The ticks that the average is over. */
#define QV_SELDOM   200
#define QV_AVERAGED 8
/* [wumq/mix50/8, mix100/8]: receives in a tick, and one more for each message, that no index
 * served at once; for so many ticks in a row. */
#define QV_UNSERVED_FEW   8
#define QV_UNSERVED_TICKS 8
/* Appends without a search until an index goes. */
#define QV_INDEX_IDLE 2048

/* All entries of a queue. */

/* [shuffle/prq/65536]: so far ahead entries, and slots of a table, are fetched. */
#define QV_BATCH       16
#define QV_SLOTS_AHEAD 8
/* Sorting: by so many bits of the sequence number at once. Up to so many entries sorting by
 * insertion beats clearing the counters for that. */
#define QV_RADIX_BITS 8
#define QV_SORT_FEW   48
#endif /* QV_AUTO_TUNING_H */
