/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - the FI_QUIVER_* settings that there are: told to libfabric, and others found. */
#include "fabric_glue/provider.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	enum fi_param_type type;
	const char *help;
} params[] = {
	{"core", FI_PARAM_STRING,
	 "Core provider that carries the messages: auto, or the name of any provider of this "
	 "libfabric with FI_EP_RDM, FI_MSG and FI_SOURCE; tcp means net where tcp has no FI_EP_RDM. "
	 "node: quiver's own shared memory, between processes of one node. "
	 "node,NAME or shm,NAME: that one between processes of one node, NAME to all others. "
	 "A layered one, as tcp;ofi_rxm, is chosen by FI_PROVIDER=\"tcp;ofi_rxm;ofi_quiver\" "
	 "(default: auto, node and the first usable of cxi, efa, tcp, net, sockets)"},
	{"rails", FI_PARAM_STRING,
	 "Two domains or network interfaces of the core, as in eth0,eth1: long messages go over both "
	 "at once, all else over the first; the same number for all processes (default: none)"},
	{"mode", FI_PARAM_STRING,
	 "layered: quiver's protocol over the messages of a core; peer: the protocol of the core, "
	 "which asks quiver what receive a message takes (libfabric 2.0 or later, over "
	 "shm or tcp;ofi_rxm) (default: auto, which is layered)"},
	{"match", FI_PARAM_STRING,
	 "Structure of the match queues, see `quiver info` (default: auto)"},
	{"collective", FI_PARAM_STRING,
	 "Which messages the structures col, col-ll and col-pnp take to be of collective operations: "
	 "ompi, mpich, or MASK[:OPERATION], the bits of a tag that say so and those that tell "
	 "operations apart, in hexadecimal (default: those of the MPI in the process)"},
	{"profile", FI_PARAM_STRING,
	 "File of how much each source adds to the match queues, for the structures clu and "
	 "pnp-static; %r, %p and %h stand for rank, process id and host (default: none)"},
	{"hints", FI_PARAM_STRING,
	 "What the program promises: a list of mpi_assert_no_any_tag, mpi_assert_no_any_source, "
	 "mpi_assert_exact_length and mpi_assert_allow_overtaking; receives that break the first two "
	 "are refused (default: none)"},
	{"isa", FI_PARAM_STRING,
	 "Instruction set of the match kernels: auto, scalar, avx2, avx512f, avx512 or neon "
	 "(default: auto, the widest that this CPU has)"},
	{"eager", FI_PARAM_STRING,
	 "Longest message in bytes that is sent without asking the receiver; k, M and G are allowed "
	 "(default: what suits the core)"},
	{"memory", FI_PARAM_STRING,
	 "Bytes that unexpected messages of one peer may take, what is remembered of each included, "
	 "before more of them wait at the sender; k, M and G are allowed (default: 16M)"},
	{"patience", FI_PARAM_STRING,
	 "Seconds for which nobody may be at the address of a peer that has never answered, before "
	 "sends to it fail; 0: for ever (default: 2)"},
	{"keepalive", FI_PARAM_STRING,
	 "Seconds within which a peer that has spoken is taken for dead when its host does not answer "
	 "any more, 2 or more; 0: never (default: 5)"},
	{"queue", FI_PARAM_STRING,
	 "Sends of an endpoint that may wait for the network or for room at their receiver, before "
	 "calls answer FI_EAGAIN, 1M or more; k, M and G are allowed (default: 16M)"},
	{"linger", FI_PARAM_STRING,
	 "Seconds for which an endpoint that is closed waits for a network that does not carry what it "
	 "has sent (default: 15)"},
	{"coll", FI_PARAM_STRING,
	 "Algorithms of collectives: operation=algorithm[:faithful|extended|number|factors][,...], "
	 "with operation one of reduce, allreduce, reduce_scatter, barrier, broadcast, gather, allgather, "
	 "scatter, alltoall; the same for all processes (default: what a model finds fastest)"},
	{"offload", FI_PARAM_STRING,
	 "off, opencl, xrt or auto: match large batches of messages on an OpenCL device, or on an FPGA "
	 "by XRT; auto: where that was measured to gain, on an FPGA if FI_QUIVER_XCLBIN names its "
	 "bitstream (default: off)"},
	{"offload_min_batch", FI_PARAM_STRING,
	 "Messages that have come together from which on the device matches them "
	 "(default: 128; auto: measured)"},
	{"offload_min_bytes", FI_PARAM_STRING,
	 "Bytes of an array from which on the device combines it; k, M and G are allowed "
	 "(default: 1M; auto: measured)"},
	{"offload_device", FI_PARAM_STRING,
	 "Part of the name of an OpenCL platform or device, or its number from 0; with xrt a number "
	 "(default: the first, CPUs last)"},
	{"xclbin", FI_PARAM_STRING,
	 "The bitstream with quiver's kernels for FI_QUIVER_OFFLOAD=xrt (default: none)"},
	{"xrt_lib", FI_PARAM_STRING,
	 "Which library of XRT to open (default: libxrt_coreutil.so.2)"},
	{"stats", FI_PARAM_STRING,
	 "yes: print counters to stderr when an endpoint closes; json:FILE: write them to FILE, for "
	 "`quiver stats`; profile:FILE: write how much each source has added to the match queues to "
	 "FILE; both a name with %r, %p or %h as in FI_QUIVER_PROFILE. Before json:, each with a "
	 "colon: detail: histograms, wildcards and sources, too; interval=SECONDS: also so often; "
	 "signal=USR1, USR2 or HUP: also at this signal (default: no)"},
	{"trace", FI_PARAM_STRING,
	 "FILE: write what matching is asked for and answers to FILE, for `quiver trace`, a name with "
	 "%r, %p or %h as in FI_QUIVER_PROFILE; max=BYTES:FILE: at most so many (default of it: 1G, 0: "
	 "no end); ring=BYTES:FILE: only what comes last, at the end; k, M and G are allowed (default: "
	 "none)"},
	{"node", FI_PARAM_STRING,
	 "Any text: processes with different ones take each other to be on different nodes and do "
	 "not use node or shm, for tests (default: empty)"},
	{"quiet", FI_PARAM_BOOL,
	 "Do not write complaints about settings to stderr, only to libfabric's log (default: no)"},
};

void qv_fi_params_define(void)
{
	for (size_t i = 0; i < sizeof params / sizeof *params; i++)
		qv_fi_host.param_define(&qv_fi_prov, params[i].name, params[i].type, "%s",
					params[i].help);
}

/* It is no reason to refuse to work. */
/* libfabric reads names in capitals only. */
static bool is_param(const char *param, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (toupper((unsigned char)param[i]) != name[i])
			return false;
	return !param[len];
}

void qv_fi_params_check_names(void)
{
	static const char prefix[] = "FI_QUIVER_";
	char unknown[512] = "";

	for (char **var = environ; *var; var++) {
		const char *name = *var + sizeof prefix - 1;
		size_t len, i;

		if (strncmp(*var, prefix, sizeof prefix - 1))
			continue;
		len = strcspn(name, "=");
		for (i = 0; i < sizeof params / sizeof *params; i++)
			if (is_param(params[i].name, name, len))
				break;
		if (i == sizeof params / sizeof *params)
			snprintf(unknown + strlen(unknown), sizeof unknown - strlen(unknown),
				 " %s%.*s", prefix, (int)len, name);
	}
	if (*unknown)
		qv_fi_warn("not a setting of this version, ignored:%s", unknown);
}
