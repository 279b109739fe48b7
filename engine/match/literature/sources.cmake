# SPDX-License-Identifier: BSD-2-Clause
# Sources of the structures that papers proposed, relative to engine/.
set(qv_literature_sources
	match/literature/bins.c
	match/literature/clu.c
	match/literature/col.c
	match/literature/col_queues.c
	match/literature/hash.c
	match/literature/ll.c
	match/literature/list.c
	match/literature/lla.c
	match/literature/lla_queues.c
	match/literature/mapped.c
	match/literature/nm.c
	match/literature/ompi.c
	match/literature/phash.c
	match/literature/pnp.c
	match/literature/pnp_queues.c
	match/literature/pnp_static.c
	match/literature/queues.c
	match/literature/ucx.c)
