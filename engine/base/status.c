/* SPDX-License-Identifier: BSD-2-Clause */
/* status.c - texts of the status codes, and the version. */
#include <quiver/types.h>

const char *qv_version(void)
{
	return QUIVER_VERSION;
}

const char *qv_strerror(int status)
{
	switch (status) {
	case QV_OK: return "success";
	case QV_EINVAL: return "invalid argument";
	case QV_ENOMEM: return "out of memory";
	case QV_EAGAIN: return "try again after progress";
	case QV_ENOSYS: return "not supported here";
	case QV_ENOENT: return "nothing found";
	case QV_EPROTO: return "packet breaks the wire protocol";
	case QV_ETRUNC: return "message truncated";
	case QV_ECANCELED: return "canceled";
	case QV_EPEER: return "peer is gone";
	case QV_EIO: return "transport failed";
	case QV_EMSGSIZE: return "message too long for the transport";
	}
	return "unknown status";
}
