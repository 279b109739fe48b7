/* SPDX-License-Identifier: BSD-2-Clause */
/* info.h - between the files of `quiver info`: what is collected, and who prints it. */
#ifndef QV_INFO_H
#define QV_INFO_H

#include <stdbool.h>
#include <stddef.h>

#define QV_INFO_NAME  256
#define QV_INFO_CORES 64

/* One provider of the libfabric found, and how quiver would run over it. */
struct qv_info_core {
	char name[QV_INFO_NAME];
	bool usable;
	bool rma; /* long messages are read by the receiver, else sent in pieces */
	char how[2 * QV_INFO_NAME]; /* environment to set; why not, if it is not usable */
	char note[QV_INFO_NAME];    /* may be empty */
};

struct qv_info_fabric {
	char version[32];  /* of the library, as in 1.17.0; empty = built without libfabric */
	char api[16];      /* the same as an API version */
	char path[4096];   /* of the library */
	char plugin[4096]; /* libquiver-fi.so; empty = not found */
	bool loaded;       /* libfabric lists it as a provider */
	bool named;        /* FI_PROVIDER is set */
	bool placed;       /* FI_PROVIDER_PATH is set, or libfabric looks there by itself */
	/* What the present environment leads to; core is empty if it leads to nothing. */
	char provider[QV_INFO_NAME], core[QV_INFO_NAME], fabric[QV_INFO_NAME], domain[QV_INFO_NAME];
	struct qv_info_core cores[QV_INFO_CORES];
	size_t ncores;
};

/* info_structure.c: the setting as quiver would read it, set and not empty. */
const char *qv_info_setting(const char *name, const char *otherwise);
/* The structure that quiver would have; NULL: none, *why says which setting is to be changed. */
const char *qv_info_structure(const char **why);
/* info_fabric.c: ask libfabric. Changes the environment of this process. */
void qv_info_fabric_collect(struct qv_info_fabric *f);

#endif /* QV_INFO_H */
