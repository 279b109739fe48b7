/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_port.h - schedules and exchanges over MPI messages under SMPI: what the simulated programs of
 * this folder share. What the host computes does not count; copies are said to the simulator.
 */
#ifndef SIM_PORT_H
#define SIM_PORT_H

#include <mpi.h>

#include <quiver/exchange.h>
#include <quiver/schedule.h>

/* Messages of one run that are under way. */
struct sim_port {
	int rank, ranks;
	double gamma; /* seconds of a copied byte */
	const struct qv_schedule *schedule;
	size_t block;     /* bytes */
	uint32_t *behind; /* by step: blocks that are copied to where they belong after it */
	double ready;     /* when the last message came */
	double copied;    /* when the last copy is over: they go on beside messages */
	MPI_Request *requests;
	uint32_t *ids;
	int n, room;
};

void sim_port_open(struct sim_port *port, double gamma);
void sim_port_close(struct sim_port *port);
void sim_fail(const char *what);

/* Run a schedule, with blocks of so many bytes; count as in struct qv_run_data. Seconds from the
 * first rank that begins to the last that ends, the same on all. */
double sim_schedule(struct sim_port *port, const struct qv_schedule *schedule, size_t count,
		    size_t block, const char *in, char *work);
/* The same of a sparse exchange. */
double sim_exchange(struct sim_port *port, struct qv_exchange *exchange,
		    const struct qv_exchange_item *items, size_t n);
/* The same of messages without any of that, to and from each of the peers: all at once, or one pair
 * after the other, which then has one for everybody, though empty. */
double sim_straight(struct sim_port *port, const struct qv_exchange_item *items, size_t n,
		    char *room);
double sim_pairwise(struct sim_port *port, const struct qv_exchange_item *items, size_t n,
		    char *room);

extern const struct qv_exchange_port sim_exchange_calls;

/* Bursts both ways between the first rank and the last, and what follows from them; the same on all
 * ranks. */
struct qv_network sim_calibrate(const struct sim_port *port);

#endif /* SIM_PORT_H */
