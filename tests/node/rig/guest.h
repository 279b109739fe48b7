/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest.h - a process that speaks to the doors of endpoints by hand: what link.c says, and what it
 * never would.
 */
#ifndef QV_GUEST_H
#define QV_GUEST_H

#include <stddef.h>
#include <stdint.h>

#include "engine/node/ring.h"

/* As in link.c. */
#define GUEST_MAGIC   0x6e6f6e7276697571u
#define GUEST_VERSION 4u

struct guest_join {
	uint64_t magic, version, name, start;
};

/* A connection to the door of this name; -1: there is none, or it is full. */
int guest_knock(uint64_t name);
/* The same where its owner is another user. */
int guest_knock_of(uint64_t name, unsigned user);
/* A door of our own, under this name. */
int guest_door(uint64_t name);
/* Words with descriptors. The result of sendmsg(2). */
long guest_say(int fd, const void *words, size_t len, const int *fds, unsigned nfds);
/* The ring that somebody has handed over at our door: its connection in *fd. */
struct qv_ring *guest_ring_of(int door, int *fd);

/* Proper words. */
struct guest_join guest_words(uint64_t name);
/* It joins as it should: the ring, and the connection in *fd. */
struct qv_ring *guest_join(uint64_t to, uint64_t name, int *fd);

/* A packet in the slot of this number, from the first on. */
void guest_put(struct qv_ring *ring, uint32_t number, uint32_t low, uint64_t tag, uint64_t data,
	       const void *payload, size_t len);

/* A ring with pages around it that nobody may touch; how to get rid of it. */
struct qv_ring *guest_map_guarded(int fd);
void guest_unmap_guarded(struct qv_ring *ring);

#endif /* QV_GUEST_H */
