/* SPDX-License-Identifier: BSD-2-Clause */
/* backend.c - opening a device and the library of its runtime, and the reason of a failure. */
#include "backend.h"
#include "config.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT_MS 2000

static struct qv_backend_head *head_of(struct qv_offload_dev *dev)
{
	return (struct qv_backend_head *)dev;
}

int qv_backend_open(const struct qv_backend *backend, const struct qv_offload_config *config,
		    struct qv_offload_dev **out, char *why, size_t room)
{
	struct qv_offload_config c;
	struct qv_offload_dev *dev;
	struct qv_backend_head *head;
	int err = qv_config_read(config, &c, why, room);

	if (err)
		return err;
	dev = calloc(1, backend->bytes);
	head = head_of(dev);
	if (!dev) {
		snprintf(why, room, "no memory");
		return QV_ENOMEM;
	}
	head->backend = backend;
	head->timeout_ms = c.timeout_ms ? c.timeout_ms : DEFAULT_TIMEOUT_MS;
	qv_combine_open(QV_ISA_SCALAR, &head->cpu);
	err = backend->start(dev, &c);
	if (err) {
		snprintf(why, room, "%s", head->why);
		backend->ops->close(dev);
		return err;
	}
	*out = dev;
	return QV_OK;
}

const struct qv_offload_caps *qv_backend_caps(const struct qv_offload_dev *dev)
{
	return &((const struct qv_backend_head *)dev)->caps;
}

const char *qv_backend_why(const struct qv_offload_dev *dev)
{
	return ((const struct qv_backend_head *)dev)->why;
}

uint64_t qv_backend_kernel_ns(const struct qv_offload_dev *dev)
{
	return ((const struct qv_backend_head *)dev)->kernel_ns;
}

int qv_backend_load(void *api, const char *runtime, const char *file, const char *const *names,
		    size_t n, char *why, size_t room)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	void *address;
	const char *error;

	if (!library) {
		error = dlerror();
		snprintf(why, room, "no %s here (%s)", runtime, error ? error : file);
		return QV_ENOENT;
	}
	for (size_t i = 0; i < n; i++) {
		address = dlsym(library, names[i]);
		if (!address) {
			snprintf(why, room, "%s has no %s", file, names[i]);
			dlclose(library);
			return QV_ENOENT;
		}
		/* A function's address comes as a pointer to data. */
		memcpy((char *)api + (1 + i) * sizeof(address), &address, sizeof(address));
	}
	memcpy(api, &library, sizeof(library));
	return QV_OK;
}

int qv_backend_wrong(struct qv_offload_dev *dev, int status, const char *format, ...)
{
	struct qv_backend_head *head = head_of(dev);
	va_list args;

	va_start(args, format);
	vsnprintf(head->why, sizeof(head->why), format, args);
	va_end(args);
	if (status == QV_EPEER)
		head->lost = true;
	return status;
}

uint32_t qv_backend_nonce(struct qv_offload_dev *dev)
{
	struct qv_backend_head *head = head_of(dev);

	return head->nonce = head->nonce * 1664525u + 1013904223u;
}

size_t qv_backend_grown(size_t bytes)
{
	size_t room = 4096;

	while (room < bytes)
		room *= 2;
	return room;
}
