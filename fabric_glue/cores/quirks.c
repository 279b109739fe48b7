/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quirks.c - the table of cores. quirks.h says what each quirk is, "Known costs" in docs/design.md
 * what it costs.
 */
#include "core.h"
#include "fabric_glue/provider.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct row {
	struct qv_fi_quirks of_all; /* versions of libfabric */
	/* Versions from which, or before which, a quirk is there besides; 0: none. */
	uint32_t one_lock_before, stale_fd_before, no_read_before, no_own_read_since;
};

static const struct row rows[] = {
	{.of_all = {.name = "shm",
		    .packet = 4096,
		    .eager = 8192,
		    .buffers = 128,
		    .lookup = QV_FI_LOOKUP_SHM,
		    .reliable = true,
		    .no_flush = true,
		    .tag_apart = true,
		    .guesses_source = true,
		    .wrong_writer = true,
		    .few_addresses = true,
		    .wrong_atomics = true,
		    .peer = true},
	 .one_lock_before = FI_VERSION(1, 18),
	 .no_own_read_since = FI_VERSION(2, 5)},
	{.of_all = {.name = "node", .reliable = true, .few_addresses = true}},
	/* Long packets, because before 1.18 long messages are sent in them, not read. Few buffers,
	 * so that they stay in the processor's cache. */
	{.of_all = {.name = "net",
		    .packet = 270000,
		    .eager = 66000,
		    .buffers = 16,
		    .lookup = QV_FI_LOOKUP_TCP,
		    .no_rma_event = true},
	 .stale_fd_before = FI_VERSION(1, 19),
	 .no_read_before = FI_VERSION(1, 18)},
	{.of_all = {.name = "tcp",
		    .packet = 16384,
		    .eager = 16000,
		    .buffers = 128,
		    .lookup = QV_FI_LOOKUP_TCP,
		    .no_rma_event = true},
	 .stale_fd_before = FI_VERSION(1, 19)},
	{.of_all = {.name = "sockets", .packet = 16384, .eager = 16000, .buffers = 128}},
	{.of_all = {.name = ";ofi_rxm",
		    .packet = 8192,
		    .eager = 8000,
		    .buffers = 256,
		    .wrong_writer = true,
		    .peer = true,
		    .one_endpoint = true,
		    .writes_to_desc = true}},
	{.of_all = {.name = ";ofi_rxd", .eager = 8000, .buffers = 512, .no_flush = true}},
	{.of_all = {.name = "verbs",
		    .packet = 4096,
		    .eager = 8192,
		    .buffers = 256,
		    .lookup = QV_FI_LOOKUP_LISTENER}},
	{.of_all = {.name = "", .packet = 4096, .eager = 8192, .buffers = 256}},
};

/* The name ends at core + len. */
static const struct row *row_of(const char *core, size_t len)
{
	const struct row *row = rows;

	for (;; row++) {
		const size_t n = strlen(row->of_all.name);

		if (len >= n && !strncasecmp(core + len - n, row->of_all.name, n))
			return row;
	}
}

/* FI_OFI_RXM_USE_SRX, as libfabric reads it. */
static bool shares_buffers(void)
{
	const char *srx = getenv("FI_OFI_RXM_USE_SRX");

	return srx && (!strcmp(srx, "1") || !strcasecmp(srx, "yes") || !strcasecmp(srx, "true") ||
		       !strcasecmp(srx, "on"));
}

struct qv_fi_quirks qv_fi_quirks_of(const char *core)
{
	const uint32_t version = qv_fi_host.version();
	const size_t lowest = strcspn(core, ";");
	const struct row *row = row_of(core, strlen(core));
	struct qv_fi_quirks quirks = row->of_all;

	/* The connections of a layered core are those of the core below its layers. */
	quirks.lookup = row_of(core, lowest)->of_all.lookup;
	/* verbs takes what arrives in a shared queue of buffers for a message. */
	quirks.no_write_data = !strncasecmp(core, "verbs;", 6) && shares_buffers();
	quirks.peer &= FI_VERSION_GE(version, FI_VERSION(2, 0));
	quirks.one_lock |= FI_VERSION_LT(version, row->one_lock_before);
	quirks.stale_fd |= FI_VERSION_LT(version, row->stale_fd_before);
	quirks.no_read |= FI_VERSION_LT(version, row->no_read_before);
	quirks.no_own_read |=
		row->no_own_read_since && FI_VERSION_GE(version, row->no_own_read_since);
	return quirks;
}

/*
 * rxm ends the program when a connection closes on which it has posted receive buffers and packets
 * are still unread: it posts their buffers again to what is closed. It does not if all connections
 * share one queue of buffers, which is what it does by itself over tcp. It reads this whenever it is
 * asked.
 */
void qv_fi_prepare_core(const char *setting)
{
	if (strcasestr(setting, ";ofi_rxm"))
		setenv("FI_OFI_RXM_USE_SRX", "1", false);
}
