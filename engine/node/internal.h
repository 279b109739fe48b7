/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h - what the files of the transport know of each other. */
#ifndef QV_NODE_I_H
#define QV_NODE_I_H

#include <quiver/types.h>

#include "calls.h"
#include "engine/base/proc.h"
#include "engine/base/seldom.h"
#include "names.h"
#include "node.h"
#include "ring.h"

#define QV_NODE_HOT   32u /* rings that every poll looks at */
#define QV_NODE_LARGE 16u /* rings to others that may have a large staging area */

struct qv_node_large {
	struct qv_ring_tx *tx;
	uint32_t put;      /* what had gone through it at the last look */
	uint64_t quiet_ns; /* when it was not that yet */
};

/* How long it takes to write to the staging area of a ring. */
struct qv_node_pace {
	uint32_t copies; /* of long packets: some are timed */
	uint32_t timed;  /* so many since the last judgement */
	uint32_t ns;     /* and they took so long */
	uint32_t rest;   /* so many long messages are not to be eager */
};

/* Another endpoint: an address. */
struct qv_node_peer {
	struct qv_ring_tx tx;
	struct qv_ring_rx rx;
	uint64_t name, addr;
	uint32_t seat;     /* in seats, while it has connected to us */
	int tx_fd, rx_fd;  /* the connection that we made, that it made; -1: none */
	int pid_fd;        /* for reads; -1: not opened yet */
	uint32_t pid;      /* as we number processes; 0: not known */
	uint64_t start;    /* of its process */
	uint64_t alive_at; /* when pid_fd said so; ns */
	uint64_t doubted;  /* since when it is gone, and may yet be let in; ns; 0: it is not */
	struct qv_node_pace pace;
	bool joined; /* it has connected to us, once at least */
	bool gone;   /* it has ended, or does not take us */
	bool blind;  /* its memory cannot be read */
	bool broken; /* it has sent nonsense: nothing of it is looked at */
	struct qv_node_answers answers;
};

/* What the events of epoll_fd are about: the address of a peer, or one of these. */
#define QV_NODE_DOOR    UINT64_MAX
#define QV_NODE_WAITING (UINT64_MAX - 1)

/* A connection that has not said whose it is. */
#define QV_NODE_GUESTS 64u

struct qv_node_guest {
	int fd;
	uint64_t came_ns; /* by a coarse clock */
};

struct qv_node {
	const struct qv_node_ops *ops;
	void *owner;
	uint64_t name;
	struct qv_proc self;
	/* Who has connected to us: the first nhot are looked at by every poll, some of the others in
	 * turn. */
	struct qv_node_peer **seats;
	uint32_t nseats, seats_cap, nhot;
	uint32_t turn; /* the next of the others */
	uint32_t polls;
	bool sweep;                        /* rings are to be given back */
	bool hurry;                        /* somebody may wait for what is at our door */
	bool asleep;                       /* senders were told to wake us */
	bool barrier;                      /* membarrier(2) fences them all */
	bool readable;                     /* memory of other processes may be read */
	uint32_t sleep;                    /* the last sleep */
	struct qv_xfer *done, **done_tail; /* transfers that are over */
	struct qv_node_peer **peers;       /* by address; NULL: nothing is known */
	uint64_t npeers;
	struct qv_names *names;
	bool own_names;
	int door, epoll_fd;
	struct qv_node_guest guests[QV_NODE_GUESTS];
	unsigned nguests;
	bool unrung;        /* a sleeper could not be woken, for want of memory */
	bool unheard;       /* some guests cannot be listened to: they are looked at each time */
	bool poor;          /* somebody at the door waits for memory, or a descriptor; */
	bool told_poor;     /* the log says so */
	uint64_t strangers; /* connections of other users */
	struct qv_node_large large[QV_NODE_LARGE];
	unsigned nlarge;
	struct qv_node_onesided onesided;
	struct {
		uint64_t ns;    /* when a poll last looked at the connections, by a coarse clock */
		uint32_t polls; /* which poll it was */
		uint32_t every; /* the next is so many behind it */
		struct qv_seldom clock;
	} serve;
	struct qv_node_stats stats;
};

/* peers.c */
/* NULL: no such address, or no memory. */
struct qv_node_peer *qv_node_peer_at(struct qv_node *n, uint64_t addr);
/* NULL: no memory. */
struct qv_node_peer *qv_node_peer_named(struct qv_node *n, uint64_t name);
/* Is there anything to be known of it? If not, it is freed. */
void qv_node_peer_check(struct qv_node *n, struct qv_node_peer *peer);
void qv_node_peers_free(struct qv_node *n);

/* door.c */
int qv_node_open_door(struct qv_node *n);

/* link.c */
/* QV_EAGAIN: too many knock there; QV_EPEER: nobody is there. */
int qv_node_connect(struct qv_node *n, struct qv_node_peer *peer);
/* New connections, connections that have ended, sleepers who were woken. Was there anything? */
bool qv_node_serve(struct qv_node *n);
/* Has its process died? A child may keep its connections. */
void qv_node_look_for(struct qv_node *n, struct qv_node_peer *peer);
void qv_node_end_tx(struct qv_node *n, struct qv_node_peer *peer);
void qv_node_end_rx(struct qv_node *n, struct qv_node_peer *peer);

/* ring.c */
/* A ring that can be given away; its descriptor in *fd. NULL: no memory. */
struct qv_ring *qv_segment_make(int *fd);
/* The ring behind a descriptor that another process has given; NULL: it is none, or not safe. */
struct qv_ring *qv_segment_map(int fd);
void qv_segment_unmap(struct qv_ring *ring);
/* Bytes of it that have memory. */
size_t qv_segment_touched(struct qv_ring *ring);

/* pace.c */
/* A packet of QV_RING_PACKET bytes was copied in so many ns. */
void qv_node_copied(struct qv_node_pace *pace, uint64_t ns);
/* Does it pay to send a long message to this address eagerly? As of qv_xport_ops. */
bool qv_node_eager_pays(struct qv_xport *x, uint64_t to);

/* stage.c */
/* As qv_ring_stage; the area becomes large where that pays. */
uint32_t qv_node_stage(struct qv_node *n, struct qv_ring_tx *tx, uint32_t len);
/* Large areas that nothing has gone through for long are given back. */
void qv_node_stages_check(struct qv_node *n);
/* The ring ends. */
void qv_node_stage_end(struct qv_node *n, const struct qv_ring_tx *tx);

/* poll.c: it has connected; it will send nothing more. */
bool qv_node_seat(struct qv_node *n, struct qv_node_peer *peer);
void qv_node_unseat(struct qv_node *n, struct qv_node_peer *peer);

/* sleep.c */
void qv_node_sleep_init(struct qv_node *n);
void qv_node_awake(struct qv_node *n);
void qv_node_wake(struct qv_node *n, struct qv_node_peer *peer);
/* All whose bell could not be rung. */
void qv_node_wake_again(struct qv_node *n);

/* permit.c: other processes of the job may read our memory, where the kernel leaves that to us. */
void qv_node_permit_reads(void);

/* read.c */
void qv_node_read_init(struct qv_node *n);
int qv_node_read(struct qv_xport *x, uint64_t from, const struct iovec *iov, size_t cnt,
		 uint64_t addr, uint64_t key, struct qv_xfer *xfer);
/* The memory of the peer's process: as many bytes in both lists. QV_ENOSYS: it cannot be read, now or
 * later; QV_EIO: not this. */
int qv_node_read_from(struct qv_node *n, struct qv_node_peer *peer, const struct iovec *to,
		      size_t nto, const struct iovec *from, size_t nfrom);
/* A transfer is over: its owner is told by the next poll. */
void qv_node_finish(struct qv_node *n, struct qv_xfer *xfer, int status);
void qv_node_finish_all(struct qv_node *n);

#endif /* QV_NODE_I_H */
