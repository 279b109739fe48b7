/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quirks.h - what is particular to a core: the sizes that suit it, and where it differs from what
 * libfabric's man pages let one expect. A new core, or a new quirk of a known one, is a row or a
 * column of the table in quirks.c. Only choose.c asks for names as well: which core is taken.
 */
#ifndef QV_FI_QUIRKS_H
#define QV_FI_QUIRKS_H

#include <stdbool.h>
#include <stddef.h>

/* How we learn that nobody is at an address any more. */
enum qv_fi_lookup {
	QV_FI_LOOKUP_NONE,     /* not at all: the core must tell */
	QV_FI_LOOKUP_SHM,      /* the address names a process and a file in /dev/shm */
	QV_FI_LOOKUP_TCP,      /* the kernel of the peer's host answers, or does not */
	QV_FI_LOOKUP_LISTENER, /* the same, of a TCP socket of ours: cores/listener.h */
};

struct qv_fi_quirks {
	const char *name; /* how the core's name ends; the first row that fits counts */

	/*
	 * Sizes, found by measuring. A packet must be short enough that the core completes packets
	 * in the order in which they were sent: above its own eager limit rxm and shm let later
	 * messages overtake, and so does rxd above one datagram.
	 */
	size_t packet; /* bytes of one packet; 0: the core's inject size */
	size_t eager;  /* bytes of the longest eager message, unless FI_QUIVER_EAGER says another */
	size_t buffers; /* receive buffers that are posted to the core */

	enum qv_fi_lookup lookup;

	/* What it does to packets. */
	bool reliable; /* no packet is lost while both ends live: there is no window to resend from */
	bool no_flush;  /* a transfer to a peer that has died may never complete */
	bool tag_apart; /* a plain tagged message goes without a header, its tag as the CQ data */
	/* FI_SOURCE names a sender that has not been inserted as another one. */
	bool guesses_source;
	bool wrong_writer; /* it names anybody as who has written with completion data */
	bool one_lock;     /* sender and receiver take one lock for each packet */
	bool stale_fd;     /* the descriptor of its completion queue stays readable */

	/* What it can do. */
	bool no_read;       /* fi_read must not be used for messages */
	bool no_own_read;   /* nor between endpoints of one process, where it crashes */
	bool no_rma_event;  /* FI_RMA_EVENT is offered, and nothing is counted */
	bool wrong_atomics; /* FI_ATOMIC is offered, and its results are wrong */
	bool no_write_data; /* the completion data of a write is lost, and the message behind it */
	bool few_addresses; /* it must get addresses back (fi_av_remove) to have room for others */

	/* Peer mode. */
	bool peer;           /* it works over this core, and this libfabric has it */
	bool one_endpoint;   /* the shared receive context is the domain's, not the endpoint's */
	bool writes_to_desc; /* it writes into the desc array of a receive that we hand it */
};

/* Of a core by its provider name, in upper or lower case, in the version of libfabric that has
 * loaded us. A core that is not in the table has cautious sizes and no quirk. */
struct qv_fi_quirks qv_fi_quirks_of(const char *core);

/* Set what the cores of a setting are to read of the environment. Before they are asked. */
void qv_fi_prepare_core(const char *setting);

#endif /* QV_FI_QUIRKS_H */
