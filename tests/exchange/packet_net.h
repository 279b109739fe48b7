/* SPDX-License-Identifier: BSD-2-Clause */
/* packet_net.h - a network in one process that is late and busy as it likes, but keeps the
 * messages of a pair of ranks in order. */
#ifndef QV_PACKET_NET_H
#define QV_PACKET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qv_packet {
	struct qv_packet *next;
	uint32_t from, to, id;
	size_t bytes;
	char *data;
};

/* A status of quiver's: QV_EAGAIN at times. */
int qv_packet_send(uint32_t from, uint32_t id, uint32_t to, const void *buf, size_t bytes);
/* Hand over one packet of those under way, not always the first. */
void qv_packet_deliver(void (*take)(const struct qv_packet *packet));
struct qv_packet *qv_packet_first(void);
/* Drop all that is under way; the network is neither busy nor dead. */
void qv_packet_clear(void);
/* From now on it takes nothing, or fails. */
void qv_packet_set(bool busy, bool dead);
uint64_t qv_packet_draw(uint64_t n);

#endif /* QV_PACKET_NET_H */
