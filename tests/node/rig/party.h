/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * party.h - an endpoint that judges what it hears: each packet of each sender once, in order, whole.
 * Parties have small numbers, which the test gives out. The kind of a packet goes by its number.
 */
#ifndef QV_PARTY_H
#define QV_PARTY_H

#include "engine/node/node.h"
#include "kin.h"

#define PARTY_IDS 128u

struct party {
	struct qv_node *node;
	struct qv_names *names; /* its own */
	struct qv_xport x;
	unsigned id;
	uint64_t name;
	uint32_t sent[PARTY_IDS], heard[PARTY_IDS]; /* packets to and from each */
	uint64_t from[PARTY_IDS];                   /* address of the last packet of each */
	uint64_t total;                             /* packets heard */
	unsigned refuse;                            /* packets to be refused with QV_ENOMEM */
	unsigned warnings;
	uint64_t liar; /* an address whose packets are not judged, but read */
	uint64_t lies, noise;
};

/* How a transfer has ended. */
struct transfer {
	struct qv_xfer xfer; /* xfer.done: transfer_done */
	int status, dones;
};
void transfer_done(struct qv_xfer *xfer, int status);

void party_open(struct party *p, unsigned id);
/* Under a name that others know. */
void party_open_as(struct party *p, unsigned id, uint64_t name);
void party_close(struct party *p);

/* The address of who has this name; each call needs one of party_remove. Nobody need be there. */
uint64_t party_insert(struct party *p, uint64_t name);
void party_remove(struct party *p, uint64_t addr);

/* A packet, of this length where its kind has room for it. The status of the transport. */
int party_try(struct party *p, uint64_t addr, unsigned to, size_t len);
/* The same until it is sent. */
void party_send(struct party *p, uint64_t addr, unsigned to, size_t len);

/* Polls until so many packets of this party were heard. False: not within these ms. */
bool party_hear(struct party *p, unsigned from, uint32_t count, unsigned ms);
/* Polls for so long. */
void party_poll(struct party *p, unsigned ms);
/* Polls until presence says this. False: not within these ms. */
bool party_presence(struct party *p, uint64_t addr, enum qv_presence want, unsigned ms);

#endif /* QV_PARTY_H */
