/* SPDX-License-Identifier: BSD-2-Clause */
/* stub.c - what a call that we do not serve answers: -FI_ENOSYS, never a NULL pointer. */
#include "provider.h"

int qv_fi_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

int qv_fi_no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int qv_fi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}
