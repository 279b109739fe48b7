/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange_net.h - exchanges of a whole group in one process, over the network of
 * tests/net/tagged.h. */
#ifndef QV_EXCHANGE_NET_H
#define QV_EXCHANGE_NET_H

#include <quiver/exchange.h>

#include "tests/net/tagged.h"

#define QV_NET_RANKS  QV_TAGGED_RANKS
#define QV_NET_GROUPS QV_TAGGED_GROUPS

/* Open an exchange on each rank of a group; several groups have their messages apart. */
void qv_net_open(uint32_t group, const struct qv_exchange_spec *spec);
void qv_net_close(uint32_t group);
struct qv_exchange *qv_net_rank(uint32_t group, uint32_t rank);
/* Until all ranks of so many groups are over; a test fails if there is no end. */
void qv_net_run(uint32_t groups);
/* One turn of all ranks, and as many deliveries as there may be; the first failure of a rank. */
int qv_net_turn(uint32_t groups);
/* From now on the network does nothing wrong. */
void qv_net_seed(uint64_t seed);

#endif /* QV_EXCHANGE_NET_H */
