/* SPDX-License-Identifier: BSD-2-Clause */
/* network.c - what a message takes by the figures of a network. */
#include <math.h>

#include "engine/schedule/select/select.h"

double qv_network_seconds(const struct qv_network *network, double bytes)
{
	double alpha = network->alpha, beta = network->beta;

	for (int i = 0; i < QV_NETWORK_LONGER; i++) {
		if (network->longer[i].from <= 0 || bytes < network->longer[i].from)
			break;
		alpha = network->longer[i].alpha;
		beta = network->longer[i].beta;
	}
	return alpha + bytes * beta;
}

/* Not less than 0, and finite. */
static int sound(double value)
{
	return isfinite(value) && value >= 0;
}

int qv_network_valid(const struct qv_network *network)
{
	double last = 0;

	if (!sound(network->alpha) || !sound(network->beta) || !sound(network->gamma) ||
	    network->alpha <= 0)
		return 0;
	for (int i = 0; i < QV_NETWORK_LONGER; i++) {
		const double from = network->longer[i].from;

		if (!sound(from) || !sound(network->longer[i].alpha) ||
		    !sound(network->longer[i].beta))
			return 0;
		if (from > 0 && (from <= last || (i && last <= 0)))
			return 0;
		last = from;
	}
	return 1;
}
