/* SPDX-License-Identifier: BSD-2-Clause */
/* link.h - between the files that make connections and those that take them. */
#ifndef QV_NODE_LINK_H
#define QV_NODE_LINK_H

#include "internal.h"

#define JOIN_MAGIC   0x6e6f6e7276697571u
#define JOIN_VERSION 1u

/* The first words, with the descriptor of the ring. */
struct join {
	uint64_t magic, version, name;
	uint64_t start; /* of its process */
};

/* link.c */
/* An event of this descriptor is about that; from now on about another. False: no memory. */
bool qv_node_listen_to(struct qv_node *n, int fd, uint64_t what);
bool qv_node_listen_as(struct qv_node *n, int fd, uint64_t what);
/* The connection ends, and its events, even if a child that was forked has it too. In that child it
 * goes on: it is its parent's. */
void qv_node_hang_up(struct qv_node *n, int fd);
/* The same for the door, and for whoever waits before it. */
void qv_node_close_door(struct qv_node *n);
/* Has a connection with it ended? */
void qv_node_look_at(struct qv_node *n, struct qv_node_peer *peer);
/* Rings of those who have gone, or are not heard any more, are given back when they are empty. */
void qv_node_sweep(struct qv_node *n);
void qv_node_end_rx(struct qv_node *n, struct qv_node_peer *peer);

/* guests.c: let in who knocks, and hear who they are. */
void qv_node_guests(struct qv_node *n);

#endif /* QV_NODE_LINK_H */
