/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host.h - the libfabric that has loaded us, and its log. Only fabric_glue sees <rdma/...>.
 *
 * One binary serves libfabric 1.17 to 2.x: structures that libfabric or a core fills may be longer
 * than our header says, so they are never allocated by our sizeof (see docs/design.md).
 */
#ifndef QV_FI_HOST_H
#define QV_FI_HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#ifndef container_of
#define container_of(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))
#endif

/* The API version that we speak to every core, whatever the application asked for. */
#define QV_FI_CORE_API FI_VERSION(1, 17)

/* Room for a structure that a newer libfabric may have made longer: zeroed, then filled by us. */
#define QV_FI_ROOMY(type, name) \
	union {                 \
		struct type a;  \
		char pad[512];  \
	} name = {.pad = {0}}

/* init.c: entry point, host library. */

/* The libfabric that loaded us (found through the caller of fi_prov_ini), never the linked one. */
struct qv_fi_host {
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	uint32_t (*version)(void);
	const char *(*strerror)(int err);
	int (*param_define)(const struct fi_provider *prov, const char *name,
			    enum fi_param_type type, const char *help, ...);
	int (*param_get)(struct fi_provider *prov, const char *name, void *value);
	int (*log_enabled)(const struct fi_provider *prov, enum fi_log_level level,
			   enum fi_log_subsys subsys);
	void (*log)(const struct fi_provider *prov, enum fi_log_level level,
		    enum fi_log_subsys subsys, const char *func, int line, const char *fmt, ...)
		__attribute__((format(printf, 6, 7)));
};
extern struct qv_fi_host qv_fi_host;       /* set once, in fi_prov_ini */
extern struct fi_provider qv_fi_prov;      /* "quiver" */
extern struct fi_provider qv_fi_util_prov; /* "ofi_quiver": FI_PROVIDER="<core>;ofi_quiver" */

/* libfabric's log, of the libfabric that loaded us; texts end in a newline. */
#define QV_FI_LOG(level, subsys, ...)                                                          \
	do {                                                                                   \
		if (qv_fi_host.log_enabled(&qv_fi_prov, FI_LOG_##level, FI_LOG_##subsys))      \
			qv_fi_host.log(&qv_fi_prov, FI_LOG_##level, FI_LOG_##subsys, __func__, \
				       __LINE__, __VA_ARGS__);                                 \
	} while (0)
#define QV_FI_WARN(subsys, ...) QV_FI_LOG(WARN, subsys, __VA_ARGS__)
#define QV_FI_INFO(subsys, ...) QV_FI_LOG(INFO, subsys, __VA_ARGS__)
#define QV_FI_DBG(subsys, ...)  QV_FI_LOG(DEBUG, subsys, __VA_ARGS__)

/* fabric_glue/settings/diagnostics.c: to stderr, in one piece; a text of over 1023 bytes is cut, with "..."
 * for the rest. */
void qv_fi_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One line for the user: libfabric's warning log, and stderr with the prefix "quiver: " unless
 * FI_QUIVER_QUIET is set. Each distinct text is written to stderr once per process. */
void qv_fi_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* QV_FI_HOST_H */
