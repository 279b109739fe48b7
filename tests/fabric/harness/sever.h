/* SPDX-License-Identifier: BSD-2-Clause */
/* sever.h - cut the TCP connections of this process under the core that has them. */
#ifndef FT_SEVER_H
#define FT_SEVER_H

#include <pthread.h>

#include "ft.h"

enum ft_severing {
	FT_END,   /* both directions end in order; the other host sees the end of the stream */
	FT_RESET, /* the other host sees a reset */
	FT_SEVERINGS
};

/* Each established connection; returns how many there were. */
size_t ft_sever(enum ft_severing how);
/* Those whose own address is in this network of 24 bits, as in "10.78.0.0". */
size_t ft_sever_at(enum ft_severing how, const char *network);
/* How many there are. */
size_t ft_connections(void);

/* Another thread that does so `times` times, the first time as soon as there is one, each time in a
 * moment that the seed gives, at most `most` us after the time before. */
struct ft_severer {
	pthread_t thread;
	enum ft_severing how;
	unsigned times, most;
	uint64_t seed;
	_Atomic bool stop;
	_Atomic size_t severed;
};
void ft_sever_start(struct ft_severer *s);
size_t ft_sever_stop(struct ft_severer *s); /* connections severed */

#endif /* FT_SEVER_H */
