/* SPDX-License-Identifier: BSD-2-Clause */
/* link.h - between the files that make connections and those that take them. */
#ifndef QV_NODE_LINK_H
#define QV_NODE_LINK_H

#include "internal.h"

#define JOIN_MAGIC   0x6e6f6e7276697571u
#define JOIN_VERSION QV_NODE_VERSION

/* The first words, with the descriptor of the ring. */
struct join {
	uint64_t magic, version, name;
	uint64_t start; /* of its process */
};

/* door.c */
/* A connection to who has that name. QV_EAGAIN: too many knock there; QV_EPEER: nobody is there. */
int qv_node_knock(uint64_t name, int *fd);
/* What errno says of a socket. */
int qv_node_errno_status(void);
/* The end of the door, and of whoever waits before it: as qv_node_hang_up. */
void qv_node_close_door(struct qv_node *n);

/* link.c */
/* Is there no process of this number, or one that has ended, or whose memory is being taken away: its
 * connections end behind that. In doubt no. */
bool qv_node_has_died(uint32_t pid);
/* An event of this descriptor is about that; from now on about another. False: no memory. */
bool qv_node_listen_to(struct qv_node *n, int fd, uint64_t what);
bool qv_node_listen_as(struct qv_node *n, int fd, uint64_t what);
/* The connection ends, and its events, even if a child that was forked has it too. In that child it
 * goes on: it is its parent's. */
void qv_node_hang_up(struct qv_node *n, int fd);
/* Has a connection with it ended? */
void qv_node_look_at(struct qv_node *n, struct qv_node_peer *peer);
/* Rings of those who have gone, or are not heard any more, are given back when they are empty. */
void qv_node_sweep(struct qv_node *n);

/* guests.c: let in who knocks, and hear who they are. */
void qv_node_guests(struct qv_node *n);
/* Does somebody wait to be let in? */
bool qv_node_is_knocked_at(const struct qv_node *n);

#endif /* QV_NODE_LINK_H */
