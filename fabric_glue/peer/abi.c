/* SPDX-License-Identifier: BSD-2-Clause */
/* abi.c - our words for fi_peer(3) against those of the libfabric that is installed. */
#include "abi.h"

#if defined(__has_include)
#if FI_MAJOR_VERSION >= 2 && __has_include(<rdma/providers/fi_peer.h>)
#include <rdma/providers/fi_peer.h>

#if FI_VERSION_LT(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), FI_VERSION(2, 3))
#define AHEAD QV_ABI_RX_AHEAD
#else
#define AHEAD 0
#endif

#define SAME(field)                                                       \
	_Static_assert(offsetof(struct fi_peer_rx_entry, field) ==        \
			       AHEAD + offsetof(struct qv_abi_rx, field), \
		       "fi_peer_rx_entry." #field " is not where the provider expects it")
SAME(srx);
SAME(addr);
SAME(msg_size);
SAME(tag);
SAME(cq_data);
SAME(flags);
SAME(context);
SAME(count);
SAME(desc);
SAME(peer_context);
SAME(iov);
_Static_assert(sizeof(struct fi_ops_srx_owner) == sizeof(struct qv_abi_srx_owner), "owner ops");
_Static_assert(offsetof(struct fi_ops_srx_owner, free_entry) ==
		       offsetof(struct qv_abi_srx_owner, free_entry),
	       "owner ops");
_Static_assert(offsetof(struct fi_ops_srx_peer, discard_tag) ==
		       offsetof(struct qv_abi_srx_peer, discard_tag),
	       "peer ops");
_Static_assert(offsetof(struct fid_peer_srx, peer_ops) == offsetof(struct qv_abi_srx, peer_ops),
	       "fid_peer_srx");
_Static_assert(sizeof(struct fi_peer_match_attr) == sizeof(struct qv_abi_match), "match attr");
_Static_assert(offsetof(struct fi_ops_cq_owner, writeerr) ==
		       offsetof(struct qv_abi_cq_owner, writeerr),
	       "queue owner ops");
_Static_assert(offsetof(struct fid_peer_cq, owner_ops) == offsetof(struct qv_abi_cq, owner_ops),
	       "fid_peer_cq");
#endif
#endif
