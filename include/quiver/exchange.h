/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.h - sparse exchange: each rank has messages of any length for any ranks, and nobody
 * knows what will come. Messages travel in bundles through other ranks, so that their number
 * depends on the group and not on the pattern; every rank is done when all that is for it has come.
 *
 * It is over without a word of how many messages there are: in each phase a rank sends one bundle,
 * which may be empty, to each of a few peers that are known beforehand, and gets as many.
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

/* "crystal", "mesh2", "mesh3", "hypercube", "direct"; NULL if there is no such one. */
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

/*
 * What an exchange asks of a network. Both start a message and return at once; when it is over, the
 * owner calls qv_exchange_done, from inside of the call or later. QV_EAGAIN: not now, it is asked
 * again at the next qv_exchange_progress; another negative value ends the exchange.
 *   port   as given to qv_exchange_create
 *   id     to be named in qv_exchange_done
 *   peer   rank of the other end
 *   tag    tells the messages of one pair of ranks in one exchange apart; pairs exchange at most
 *          one bundle each way
 *   buf    untouched by the exchange until the message is done
 *   bytes  of a receive: the most that may come; a message may be shorter
 */
struct qv_exchange_port {
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
 * An exchange of one rank, to be started any number of times.
 *   spec         what
 *   calls, port  the network, and what its functions get; calls are copied
 *   exchange     out: to be given to qv_exchange_free
 * QV_EINVAL: a value is out of range; QV_ENOMEM.
 */
QV_API int qv_exchange_create(const struct qv_exchange_spec *spec,
			      const struct qv_exchange_port *calls, void *port,
			      struct qv_exchange **exchange);

/* Free it, while no message of it is under way, with all that it has received. NULL is allowed. */
QV_API void qv_exchange_free(struct qv_exchange *exchange);

/*
 * Begin, or begin again after the end; what was received before is freed. All ranks of the group
 * must begin.
 *   items, n  messages, to any ranks, the own one too, and to one rank any number; read during the
 *             call, but their data must stay until the end (of those to oneself until the result is
 *             freed)
 * QV_EAGAIN: the one before is not over; QV_EINVAL: no such rank; QV_EMSGSIZE; QV_ENOMEM.
 */
QV_API int qv_exchange_start(struct qv_exchange *exchange, const struct qv_exchange_item *items,
			     size_t n);

/* Start what can be started. QV_OK: it is over; QV_EAGAIN: messages are under way; another negative
 * value is that of the network, or QV_EPROTO: what came is not a bundle; QV_EMSGSIZE: a bundle
 * would be too long; QV_ENOMEM. Then nothing more is started, and messages under way are for the
 * owner to take back. */
QV_API int qv_exchange_progress(struct qv_exchange *exchange);

/*
 * A message of the network is over.
 *   id      as given to the port
 *   bytes   of a receive: how many came
 *   status  QV_OK, or why it failed
 */
QV_API void qv_exchange_done(struct qv_exchange *exchange, uint32_t id, size_t bytes, int status);

/* What has come, in order of source, of one source in the order in which it was given to
 * qv_exchange_start; *n of them. They live until the next start. After the end only, else none. */
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

QV_API void qv_exchange_stats(const struct qv_exchange *exchange, struct qv_exchange_stats *stats);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_EXCHANGE_H */
