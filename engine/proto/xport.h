/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xport.h - the seam between the protocol and whatever carries its packets: a core provider of
 * libfabric, or the loopback of the tests. Packets of one sender to one receiver arrive whole. Some
 * may be lost, with all behind them until the transport has noticed, and some may come twice, if
 * `drops` says so; else they arrive in the order sent, once.
 */
#ifndef QV_XPORT_H
#define QV_XPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "engine/base/iov.h"

/*
 * One transfer in flight. The transport calls done exactly once, from its progress, with QV_OK or
 * a status; the memory stays valid until then. scratch is the transport's (struct fi_context2).
 */
struct qv_xfer {
	void *scratch[8];
	void (*done)(struct qv_xfer *xfer, int status);
};

/* Memory that peers may read. */
struct qv_region {
	uint64_t addr; /* what a reader puts into its read */
	uint64_t key;
	void *handle; /* the transport's; NULL = not registered */
};

struct qv_xport;

/* Whether anybody is at an address. */
enum qv_presence {
	QV_PRESENT, /* yes; or this transport cannot tell, and who does not answer is waited for */
	QV_UNTOLD,  /* it cannot tell, and who never answers is to be given up after a while */
	QV_UNSURE,  /* not known yet: ask again soon */
	QV_ABSENT,  /* no: what is sent there now cannot arrive */
	QV_GONE,    /* and nobody will ever be there */
	QV_SILENT,  /* not known: its host does not answer, for as long as is told */
};

/* All calls that return int return QV_OK, QV_EAGAIN (call again after progress; nothing happened), or
 * a status. */
struct qv_xport_ops {
	/* Send a packet of at most inject_max bytes; the memory may be reused on return. That
	 * nobody is there to receive it is not told. */
	int (*inject)(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt);
	/* Send a packet; the memory belongs to the transport until xfer->done, which is told a
	 * status other than QV_OK where the packet cannot arrive. */
	int (*send)(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt,
		    struct qv_xfer *xfer);
	/*
	 * Optional: inject the payload of a plain tagged message, its tag beside it, for transports
	 * that carry such a word and the sender's address with a packet anyway: a payload of
	 * inject_max bytes then goes at once. It has no number that could be missed, so `drops`
	 * must be false. Arrivals go to qv_proto_tagged.
	 */
	int (*inject_tagged)(struct qv_xport *x, uint64_t to, uint64_t tag, const void *buf,
			     size_t len);
	/* Optional: the same with completion data; to qv_plain_came (plain.h). */
	int (*inject_tagged_data)(struct qv_xport *x, uint64_t to, uint64_t tag, uint64_t data,
				  const void *buf, size_t len);
	/* Read from a peer's registered memory. */
	int (*read)(struct qv_xport *x, uint64_t from, const struct iovec *iov, size_t cnt,
		    uint64_t addr, uint64_t key, struct qv_xfer *xfer);
	/* Let peers read this memory; deregister_mem ends it. */
	int (*register_mem)(struct qv_xport *x, void *buf, size_t len, struct qv_region *region);
	void (*deregister_mem)(struct qv_xport *x, struct qv_region *region);
	/* Optional. Must not wait. *silent is set with QV_SILENT only, in ms. */
	enum qv_presence (*presence)(struct qv_xport *x, uint64_t addr, uint64_t *silent);
	/* Optional: it takes nothing for this address, for long: end the connection that it has, or
	 * makes, so that it makes another. others: and those that may be of other peers there, if
	 * which one it is cannot be told. */
	void (*reconnect)(struct qv_xport *x, uint64_t addr, bool others);
	/* Optional: does it pay now to send a message of more than packet_max and at most eager_max
	 * bytes to this address eagerly? Asked when one is about to go so. */
	bool (*eager_pays)(struct qv_xport *x, uint64_t to);
	/* Of a second one (below): the address there of who calls itself so. */
	int (*reach)(struct qv_xport *x, const void *name, size_t len, uint64_t *addr);
};

struct qv_xport {
	const struct qv_xport_ops *ops;
	void *self;        /* the transport's */
	size_t inject_max; /* bytes; 0 = no inject */
	size_t inject_iov; /* pieces that inject takes */
	size_t send_iov;   /* pieces that send and read take, >= 1 */
	size_t packet_max; /* longest packet that this side receives */
	size_t read_max;   /* longest single read; 0 = cannot read */
	size_t eager_max;  /* longest message that suits it to be sent eagerly */
	bool two_paths; /* reads, which end before the call does, or packets: whichever is faster */
	bool apart;     /* it reads from other processes only, not from its own */
	bool drops;     /* packets may be lost, when it is closed or a connection breaks */
	bool no_flush;  /* transfers to a peer that has died may never complete */
	bool gone_is_all;     /* QV_GONE: and all that was sent from there was handed over */
	bool guesses_from;    /* it may name another sender than the one that has sent */
	unsigned outstanding; /* kept by the protocol: requests that need a peer over it to go on */
	/* Pieces of long messages may go over this one, too, and nothing else; NULL: there is none. */
	struct qv_xport *second;
	const void *name; /* of a second one: what it is called there; else NULL */
	size_t namelen;
};

#endif /* QV_XPORT_H */
