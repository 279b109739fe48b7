/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.h - sparse exchange: each rank has messages of any length for any ranks, and nobody
 * knows what will come. Messages travel in bundles through other ranks, so that their number
 * depends on the group and not on the pattern; every rank is done when all that is for it has come.
 *
 * Nobody counts messages to find the end: in each phase a rank sends one bundle, which may be
 * empty, to each of a few peers that are known beforehand, and receives as many.
 *
 * Ranks of a group are of one byte order. No locks, no threads; objects share nothing, and several
 * may be under way in one group, if their networks keep their messages apart.
 */
#ifndef QUIVER_EXCHANGE_H
#define QUIVER_EXCHANGE_H

#include <quiver/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* By which ranks messages go. */
enum qv_way {
	/* The crystal router of Fox et al.: the group is cut into `radix` parts, each bundle goes
	 * to another part, and so on within the part. */
	QV_WAY_CRYSTAL = 0,
	QV_WAY_MESH2 = 1,     /* rows, then columns of a square */
	QV_WAY_MESH3 = 2,     /* the same of a cube */
	QV_WAY_HYPERCUBE = 3, /* the dimensions; ranks beyond a power of two fold in and out */
	QV_WAY_DIRECT = 4,    /* one bundle to each other rank */
};

#define QV_N_WAYS 5

/* "crystal", "mesh2", "mesh3", "hypercube", "direct"; static storage. NULL: no such way. */
QV_API const char *qv_way_name(enum qv_way way);

/* The same on all ranks, but for rank. */
struct qv_exchange_spec {
	size_t size; /* of this structure, see types.h */
	enum qv_way way;
	uint32_t ranks, rank; /* 1 or more; less than ranks */
	uint32_t radix;       /* QV_WAY_CRYSTAL: 2 or more; 0: 2 */
	size_t limit;         /* bytes of a piece of a long bundle, 64 or more; 0: 1 MiB */
	/* Bytes of a bundle: one that says that it is longer is refused before there is room for
	 * it. 8192 or more; 0: 16 GiB. */
	uint64_t most;
};

/* What an exchange asks of a network. */
struct qv_exchange_port {
	/*
	 * Start a message and return at once; when it is over, the caller of the exchange calls
	 * qv_exchange_done, from inside of this call or later.
	 *   port   as given to qv_exchange_create
	 *   id     to be named in qv_exchange_done
	 *   peer   rank of the other end
	 *   tag    tells the messages of one pair of ranks in one exchange apart; pairs exchange at
	 *          most one bundle each way
	 *   buf    the exchange's, which does not touch it until the message is done
	 *   bytes  of a send: its length; of a receive: the most that may come, a message may be
	 *          shorter
	 * QV_OK; QV_EAGAIN: not now, it is asked again at the next qv_exchange_progress; another
	 * value ends the exchange.
	 */
	int (*send)(void *port, uint32_t id, uint32_t peer, uint32_t tag, const void *buf,
		    size_t bytes);
	int (*receive)(void *port, uint32_t id, uint32_t peer, uint32_t tag, void *buf,
		       size_t bytes);
};

/* A message of the user. */
struct qv_exchange_item {
	uint32_t peer; /* to be sent: to which rank; received: from which */
	const void *data;
	size_t bytes; /* may be 0: it comes nevertheless */
};

struct qv_exchange; /* opaque */

/*
 * Make an exchange of one rank, to be started any number of times.
 *   spec         what; copied
 *   calls, port  the network, both functions of it, and what they get; calls are copied
 *   exchange     out: to be given to qv_exchange_free
 * QV_EINVAL: a value is out of range, or 2^31 - 1 ranks or more; QV_ENOMEM.
 */
QV_API int qv_exchange_create(const struct qv_exchange_spec *spec,
			      const struct qv_exchange_port *calls, void *port,
			      struct qv_exchange **exchange);

/* Free it, while no message of it is under way, with all that it has received. NULL is allowed. */
QV_API void qv_exchange_free(struct qv_exchange *exchange);

/*
 * Begin, or begin again after the end; what was received before is freed. All ranks of the group
 * must begin.
 *   exchange  from qv_exchange_create
 *   items, n  n messages, to any ranks, the own one too, and to one rank any number; read during
 *             the call, but their data must stay until the end (of those to oneself until the
 *             result is freed)
 * QV_EAGAIN: the one before is not over; QV_EINVAL: no such rank; then nothing has changed.
 * QV_EMSGSIZE: a bundle would be longer than spec.most; QV_ENOMEM; then it has not begun, and what
 * was received before is freed.
 */
QV_API int qv_exchange_start(struct qv_exchange *exchange, const struct qv_exchange_item *items,
			     size_t n);

/* Start what can be started. QV_OK: it is over; QV_EAGAIN: messages are under way. Another value
 * has ended the exchange: that of the network; QV_EPROTO: what came is not a bundle; QV_EMSGSIZE: a
 * bundle would be longer than spec.most; QV_ENOMEM. Then nothing more is started, and messages
 * under way are for the caller to take back before it starts again. */
QV_API int qv_exchange_progress(struct qv_exchange *exchange);

/*
 * A message of the network is over.
 *   exchange  from qv_exchange_create
 *   id        as given to the port; one that is not under way is ignored
 *   bytes     of a receive: how many came
 *   status    QV_OK, or why it failed, which ends the exchange: qv_exchange_progress returns it
 */
QV_API void qv_exchange_done(struct qv_exchange *exchange, uint32_t id, size_t bytes, int status);

/*
 * What has come, after the end.
 *   exchange  from qv_exchange_create
 *   n         out: how many; 0 before the end, or after an error
 * Returns n messages in order of source, of one source in the order in which it gave them to
 * qv_exchange_start. They and their data live until the next start or until the exchange is freed.
 */
QV_API const struct qv_exchange_item *qv_exchange_result(const struct qv_exchange *exchange,
							 size_t *n);

/* Of the last exchange. */
struct qv_exchange_stats {
	uint64_t bundles;   /* sent */
	uint64_t received;  /* bundles */
	uint64_t messages;  /* of the network, sent: a bundle is one, or if it is long several */
	uint64_t bytes;     /* sent, with heads */
	uint64_t forwarded; /* bytes of users' messages that were sent, once for each time */
	uint64_t copied;    /* bytes of users' messages */
};

/*
 * Read the counters.
 *   exchange  from qv_exchange_create
 *   stats     out: of the last exchange
 */
QV_API void qv_exchange_stats(const struct qv_exchange *exchange, struct qv_exchange_stats *stats);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_EXCHANGE_H */
