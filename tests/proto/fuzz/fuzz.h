/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.h - an endpoint (the victim, node 1) that talks with an honest one (node 0) and with a
 * hostile one (address 4), whose packets are whatever the test says.
 */
#ifndef QV_FUZZ_H
#define QV_FUZZ_H

#include "tests/proto/rig/rig.h"

#define FUZZ_HONEST  0u
#define FUZZ_VICTIM  1u
#define FUZZ_HOSTILE 4u
#define FUZZ_OPEN    64u   /* requests of each kind that may be open */
#define FUZZ_WORDS   8u    /* what the victim has told the hostile one: handles, ids */
#define FUZZ_MAX     2048u /* longest packet */

/* Where the n-th word of a packet is: the first is in the header. */
static inline size_t fuzz_word_at(unsigned n)
{
	return n ? sizeof(struct qv_wire_hdr) + (n - 1) * sizeof(uint64_t)
		 : offsetof(struct qv_wire_hdr, arg);
}

struct fuzz {
	struct rig *rig;
	struct qv_xport *hostile;
	/* Where the registered memory is, its key; then what the victim's last packets to the
	 * hostile one said. */
	uint64_t words[FUZZ_WORDS];
	unsigned nwords;
	bool spoof;
	bool closing; /* the victim */
	struct qv_region registered;
	char memory[8192]; /* the hostile one's, registered */
	uint64_t uid;
	unsigned nomem;                  /* the next packet's n-th allocation fails; 0: none */
	unsigned sends;                  /* of the victim, since it was calm */
	struct rig_req *mine[FUZZ_OPEN]; /* receives of the victim that the hostile one may match */
	struct qv_unexp *claimed[FUZZ_OPEN];
	struct rig_req *claims[FUZZ_OPEN];
	unsigned nmine, nclaims;
};

/* The victim reads what is announced to it, else it asks for it. */
#define FUZZ_READ 1u
/* The transport does not know who sends, and raw packets may carry the honest one's id and name: it
 * counts as broken then, and comes again at the end. */
#define FUZZ_SPOOF 2u
/* Plain tagged messages travel without header. */
#define FUZZ_HEADERLESS 4u
#define FUZZ_KINDS      8u
struct fuzz *fuzz_new(unsigned kind);
/* Hand a packet to the victim. Its src is replaced by the id that the victim gave to the hostile
 * one unless raw. */
void fuzz_packet(struct fuzz *f, const void *buf, size_t len, bool raw);
/* Does the victim listen to the hostile one? */
bool fuzz_is_connected(const struct fuzz *f);
/* The hostile one says HELLO, with another uid each time. */
void fuzz_hello(struct fuzz *f);
/* The victim speaks to itself, and seems to begin a message that never ends. Needs spoof. */
void fuzz_self(struct fuzz *f);
/* Something that an application may do, or time passes, or the transport has no room. */
#define FUZZ_ACTIONS 64u
#define FUZZ_CLOSE   63u /* the victim begins to close: it asks for nothing any more until calm */
void fuzz_action(struct fuzz *f, unsigned what);
/* A message each way between victim and honest one, checked. */
void fuzz_honest(struct fuzz *f, size_t len);
/* The hostile one is lost: everything with it must end. The victim then has nothing of it any more,
 * and the hostile one may say HELLO again. */
void fuzz_settle(struct fuzz *f);
/* The same; then honest traffic works; nothing is left. */
void fuzz_end(struct fuzz *f);

#endif /* QV_FUZZ_H */
