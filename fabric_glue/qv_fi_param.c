/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_param.c - the FI_QUIVER_* settings: known to libfabric, read once, wrong ones named. */
#include "qv_fi.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DEFAULT_MEMORY ((size_t)16 << 20)

struct qv_fi_params qv_fi_params = {
	.structure = "auto",
	.isa = QV_ISA_AUTO,
	.eager = SIZE_MAX,
	.memory = DEFAULT_MEMORY,
	.valid = true,
};

static const struct {
	const char *name;
	enum fi_param_type type;
	const char *help;
} params[] = {
	{"core", FI_PARAM_STRING,
	 "Core provider that carries the messages: auto, or the name of any provider of this "
	 "libfabric with FI_EP_RDM, FI_MSG and FI_SOURCE; tcp means net where tcp has no FI_EP_RDM. "
	 "A layered one, as tcp;ofi_rxm, is chosen by FI_PROVIDER=\"tcp;ofi_rxm;ofi_quiver\" "
	 "(default: auto, the first usable of cxi, efa, tcp, net, sockets)"},
	{"mode", FI_PARAM_STRING, "auto or layered (default: auto)"},
	{"match", FI_PARAM_STRING,
	 "Structure of the match queues, see `quiver info` (default: auto)"},
	{"isa", FI_PARAM_STRING,
	 "Instruction set of the match kernels: auto, scalar, avx2, avx512f or avx512 "
	 "(default: auto, the widest that this CPU has)"},
	{"eager", FI_PARAM_STRING,
	 "Longest message in bytes that is sent without asking the receiver; k, M and G are allowed "
	 "(default: what suits the core)"},
	{"memory", FI_PARAM_STRING,
	 "Bytes of unexpected messages that are stored per peer before longer ones wait at the "
	 "sender; k, M and G are allowed (default: 16M)"},
	{"stats", FI_PARAM_BOOL, "Print counters to stderr when an endpoint closes (default: no)"},
	{"quiet", FI_PARAM_BOOL,
	 "Do not write complaints about settings to stderr, only to libfabric's log (default: no)"},
};

/* ---- complaints ------------------------------------------------------------------------------ */
static bool said_before(const char *text)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char *said[32]; /* when it is full, texts are repeated: no harm */
	bool found = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof said / sizeof *said && !found; i++) {
		if (!said[i]) {
			said[i] = strdup(text);
			break;
		}
		found = !strcmp(said[i], text);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void qv_fi_complain(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	QV_FI_WARN(CORE, "%s\n", text);
	if (!qv_fi_params.quiet && !said_before(text))
		fprintf(stderr, "quiver: %s\n", text);
}

static void __attribute__((format(printf, 1, 2))) wrong(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	qv_fi_complain("%s", text);
	qv_fi_params.valid = false;
}

/* ---- values ---------------------------------------------------------------------------------- */
/* The text of a setting; NULL if it is not set, or empty. */
static char *get_text(const char *name)
{
	char *value = NULL;

	if (qv_fi_host.param_get(&qv_fi_prov, name, &value) || !value || !*value)
		return NULL;
	return value;
}

static bool get_bool(const char *name, const char *env)
{
	int value = 0;

	if (qv_fi_host.param_get(&qv_fi_prov, name, &value) == -FI_EINVAL)
		wrong("%s=%s is not known; known: 0 1 no yes off on false true", env, getenv(env));
	return value;
}

/* A number of bytes, with k, M or G for 2^10, 2^20 or 2^30. */
static bool parse_bytes(const char *text, size_t *bytes)
{
	static const char units[] = "kmg";
	unsigned long long value;
	unsigned shift = 0;
	const char *unit;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end) {
		unit = strchr(units, *end | 0x20);
		if (!unit || end[1])
			return false;
		shift = 10 * (unsigned)(unit - units + 1);
	}
	if (errno || value > (SIZE_MAX - 1) >> shift)
		return false;
	*bytes = (size_t)value << shift;
	return true;
}

static void get_bytes(const char *name, const char *env, size_t *bytes)
{
	const char *text = get_text(name);

	if (text && !parse_bytes(text, bytes))
		wrong("%s=%s is not a number of bytes, as in 4096, 64k, 16M or 1G", env, text);
}

static void get_isa(void)
{
	const char *text = get_text("isa");
	char known[128] = "", usable[128] = "";
	enum qv_isa isa;

	if (!text)
		return;
	for (int i = 0; qv_isa_name(i); i++) {
		strcat(strcat(known, " "), qv_isa_name(i));
		if (qv_isa_usable(i))
			strcat(strcat(usable, " "), qv_isa_name(i));
	}
	if (qv_isa_parse(text, &isa))
		wrong("FI_QUIVER_ISA=%s is not known; known:%s", text, known);
	else if (!qv_isa_usable(isa))
		wrong("FI_QUIVER_ISA=%s cannot run on this CPU; usable here:%s", text, usable);
	else
		qv_fi_params.isa = isa;
}

/* The name may be followed by options, as in lla:block=16; what it means, the engine knows. */
static void get_structure(void)
{
	const char *const *names = qv_match_structures();
	const char *text = get_text("match");
	struct qv_match_settings settings;
	struct qv_match *trial;
	char known[512] = "";
	bool named = false;

	if (!text)
		return;
	qv_match_settings_default(&settings);
	settings.structure = text;
	if (qv_match_create(&settings, &trial) == QV_OK) {
		qv_match_destroy(trial);
		qv_fi_params.structure = text;
		return;
	}
	for (size_t i = 0; names[i]; i++) {
		named |= !strncmp(text, names[i], strcspn(text, ":")) &&
			 strlen(names[i]) == strcspn(text, ":");
		snprintf(known + strlen(known), sizeof known - strlen(known), " %s", names[i]);
	}
	if (named)
		wrong("FI_QUIVER_MATCH=%s cannot be used here: its options are wrong, or it needs what "
		      "no setting of this version gives (a profile, the mark of collective messages)",
		      text);
	else
		wrong("FI_QUIVER_MATCH=%s is not known; known:%s", text, known);
}

static void get_mode(void)
{
	const char *text = get_text("mode");

	if (!text || !strcmp(text, "auto") || !strcmp(text, "layered"))
		return;
	if (!strcmp(text, "peer"))
		wrong("FI_QUIVER_MODE=peer is not in this version; known: auto layered");
	else
		wrong("FI_QUIVER_MODE=%s is not known; known: auto layered", text);
}

/* A misspelt name does nothing at all, silently: say so. It is no reason to refuse to work. */
static void check_names(void)
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
			if (strlen(params[i].name) == len &&
			    !strncasecmp(params[i].name, name, len))
				break;
		if (i == sizeof params / sizeof *params)
			snprintf(unknown + strlen(unknown), sizeof unknown - strlen(unknown),
				 " %s%.*s", prefix, (int)len, name);
	}
	if (*unknown)
		qv_fi_complain("not a setting of this version, ignored:%s", unknown);
}

/* ---- entry ----------------------------------------------------------------------------------- */
void qv_fi_params_define(void)
{
	for (size_t i = 0; i < sizeof params / sizeof *params; i++)
		qv_fi_host.param_define(&qv_fi_prov, params[i].name, params[i].type, "%s",
					params[i].help);
}

static void read_all(void)
{
	qv_fi_params.quiet = get_bool("quiet", "FI_QUIVER_QUIET");
	qv_fi_params.core = get_text("core");
	if (qv_fi_params.core && !strcmp(qv_fi_params.core, "auto"))
		qv_fi_params.core = NULL;
	get_mode();
	get_structure();
	get_isa();
	get_bytes("eager", "FI_QUIVER_EAGER", &qv_fi_params.eager);
	get_bytes("memory", "FI_QUIVER_MEMORY", &qv_fi_params.memory);
	qv_fi_params.stats = get_bool("stats", "FI_QUIVER_STATS");
	check_names();
}

void qv_fi_params_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
}
