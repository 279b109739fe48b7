/* SPDX-License-Identifier: BSD-2-Clause */
/* params.h - the environment: what FI_QUIVER_* say. */
#ifndef QV_FI_PARAMS_H
#define QV_FI_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quiver/isa.h>
#include <quiver/match.h>

#include "engine/base/tag_bits.h"
#include "engine/trace/setting.h"

/* fabric_glue/settings/offload_param.c: FI_QUIVER_OFFLOAD and what belongs to it. */

struct qv_fi_offload_params {
	bool on;             /* FI_QUIVER_OFFLOAD is not off */
	bool xrt;            /* xrt, or auto with a bitstream: a card; else OpenCL */
	bool measure;        /* auto: limits that are not given are measured */
	const char *device;  /* FI_QUIVER_OFFLOAD_DEVICE, NULL = the first */
	const char *xclbin;  /* FI_QUIVER_XCLBIN, NULL = not given */
	const char *xrt_lib; /* FI_QUIVER_XRT_LIB, NULL = XRT's own name */
	size_t min_batch;    /* FI_QUIVER_OFFLOAD_MIN_BATCH, messages; SIZE_MAX = not given */
	size_t min_bytes;    /* FI_QUIVER_OFFLOAD_MIN_BYTES; SIZE_MAX = not given */
};

/* FI_QUIVER_STATS */
struct qv_fi_stats_params {
	bool lines;          /* yes: to stderr */
	const char *out;     /* json:FILE, a pattern, NULL = none */
	const char *profile; /* profile:FILE, the same */
	/* Of `out`: */
	bool detail;       /* what qv_match_detail_begin counts, too */
	unsigned interval; /* ms from one writing to the next, 0 = only at the end */
	int signal;        /* that asks for one, 0 = none does */
};

/* FI_QUIVER_OFFLOAD, when FI_QUIVER_XCLBIN is known: true, or false with the reason in why. */
bool qv_fi_offload_parse(const char *text, struct qv_fi_offload_params *out, char *why,
			 size_t size);

/* fabric_glue/settings/param.c: the environment. */

struct qv_fi_params {
	char *core;            /* FI_QUIVER_CORE, NULL = automatic */
	char *rails[2];        /* FI_QUIVER_RAILS; NULL = not given */
	const char *node;      /* FI_QUIVER_NODE, "" by default */
	const char *structure; /* FI_QUIVER_MATCH */
	enum qv_isa isa;       /* FI_QUIVER_ISA */
	size_t eager;          /* FI_QUIVER_EAGER, bytes; SIZE_MAX = per core */
	size_t memory;         /* FI_QUIVER_MEMORY, bytes of unexpected payload per peer */
	unsigned patience;     /* FI_QUIVER_PATIENCE, ms; 0 = no end */
	bool patience_set;     /* by the user: it holds over cores that cannot tell, too */
	unsigned death;        /* FI_QUIVER_KEEPALIVE, ms; 0 = no end */
	size_t queue;          /* FI_QUIVER_QUEUE, sends that may wait */
	unsigned linger;       /* FI_QUIVER_LINGER, ms */
	uint32_t hints;        /* FI_QUIVER_HINTS, QV_HINT_* */
	struct qv_tag_bits collective;
	char *profile;    /* FI_QUIVER_PROFILE, the file, NULL = none */
	uint32_t named;   /* sources that the structure knows from it, 0 = it reads none */
	const char *coll; /* FI_QUIVER_COLL, NULL = nothing is asked */
	struct qv_fi_offload_params offload;
	bool peer; /* FI_QUIVER_MODE=peer */
	struct qv_fi_stats_params stats;
	struct qv_trace_setting trace; /* FI_QUIVER_TRACE */
	bool quiet;                    /* FI_QUIVER_QUIET */
	bool valid;                    /* every value is known; if not, fi_getinfo offers nothing */
};
extern struct qv_fi_params qv_fi_params;

/* fabric_glue/settings/names.c: tell libfabric of the parameters (fi_info -e). Once, in fi_prov_ini. */
void qv_fi_params_define(void);
/* A misspelt name in the environment does nothing at all, silently: say so. */
void qv_fi_params_check_names(void);
/* fabric_glue/settings/param.c: read them, at the first call; a wrong one is reported once (log and
 * stderr). Not before somebody asks for quiver: settings of a provider that nobody uses are nobody's
 * mistake. */
void qv_fi_params_init(void);

/* Values of settings: true, or false with the reason in why. */
/* fabric_glue/settings/mode.c: FI_QUIVER_MODE, when the other settings are known. */
bool qv_fi_mode_parse(const char *text, bool *peer, char *why, size_t size);
/* fabric_glue/settings/assertion.c: FI_QUIVER_HINTS. */
bool qv_fi_assertions_parse(const char *text, uint32_t *hints, char *why, size_t size);
/* fabric_glue/settings/collective.c: FI_QUIVER_COLLECTIVE; NULL: as the MPI of this process needs it,
 * unchanged if there is none. */
bool qv_fi_collective_parse(const char *text, struct qv_tag_bits *bits, char *why, size_t size);
/* fabric_glue/settings/match.c: FI_QUIVER_MATCH, with a profile or NULL, and bits that tell which messages
 * are collective, or 0. */
bool qv_fi_match_usable(const char *text, const char *profile, uint64_t collective, char *why,
			size_t size);
/* Does it do other things with the profile than without? */
bool qv_fi_match_reads_profile(const char *structure, const char *profile);
/* fabric_glue/settings/rails_param.c: FI_QUIVER_RAILS. */
bool qv_fi_rails_parse(const char *text, char *rails[2], char *why, size_t size);
/* fabric_glue/settings/profile.c: is it a profile? *sources: above all that it names. */
bool qv_fi_profile_check(const char *path, uint32_t *sources, char *why, size_t size);
/* fabric_glue/settings/stats_param.c: FI_QUIVER_STATS. */
bool qv_fi_stats_parse(const char *text, struct qv_fi_stats_params *stats, char *why, size_t size);

#endif /* QV_FI_PARAMS_H */
