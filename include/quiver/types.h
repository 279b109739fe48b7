/* SPDX-License-Identifier: BSD-2-Clause */
/* types.h - status codes and small constants shared by all public headers. */
#ifndef QUIVER_TYPES_H
#define QUIVER_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUIVER_VERSION_MAJOR 0
#define QUIVER_VERSION_MINOR 1
#define QUIVER_VERSION_PATCH 0
#define QUIVER_VERSION       "0.1.0"

#if defined(__GNUC__)
#define QV_API __attribute__((visibility("default")))
#else
#define QV_API
#endif

/*
 * Status of a call: QV_OK (0) or one of the negative values. Outputs of a call are written only
 * when it returns QV_OK.
 */
enum qv_status {
	QV_OK = 0,
	QV_EINVAL = -1,    /* an argument is outside what the call documents */
	QV_ENOMEM = -2,    /* allocation failed; the object is as it was before the call */
	QV_EAGAIN = -3,    /* cannot be done now; call again after progress */
	QV_ENOSYS = -4,    /* not supported by this object, CPU or build */
	QV_ENOENT = -5,    /* nothing found */
	QV_EPROTO = -6,    /* a packet breaks the wire protocol */
	QV_ETRUNC = -7,    /* the message is longer than the receive buffer */
	QV_ECANCELED = -8, /* taken back by the caller */
	QV_EPEER = -9,     /* the peer is gone */
	QV_EIO = -10,      /* the transport failed */
	QV_EMSGSIZE = -11, /* the message is longer than the transport can carry */
};

/*
 * Structures of settings begin with `size_t size`: later versions of the library add fields at the
 * end, and a program need not be compiled again for that.
 *     sizeof the structure   as the program was compiled with it
 *     0                      the fields of version 0.1; what `= {.field = value}` leaves there
 * Fields beyond the size have their defaults. Fields that the library does not know must be 0: a
 * call that sets one is refused with QV_EINVAL.
 */

/* Any source: a receive with this source accepts messages of every sender (MPI_ANY_SOURCE). */
#define QV_SRC_ANY UINT32_MAX

/*
 * The version of the library that the program runs with, as QUIVER_VERSION is that of the headers it
 * was compiled with. Never NULL, static storage.
 */
QV_API const char *qv_version(void);

/* English text of a status, any int; never NULL, static storage. */
QV_API const char *qv_strerror(int status);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_TYPES_H */
