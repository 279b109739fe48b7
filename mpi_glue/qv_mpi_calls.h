/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_mpi_calls.h - the MPI's functions that we stand before; included once per use of the list. */
QV_MPI_CALL(Init);
QV_MPI_CALL(Init_thread);
QV_MPI_CALL(Finalize);
QV_MPI_CALL(Reduce);
QV_MPI_CALL(Allreduce);
QV_MPI_CALL(Reduce_scatter);
QV_MPI_CALL(Reduce_scatter_block);
QV_MPI_CALL(Ireduce);
QV_MPI_CALL(Iallreduce);
QV_MPI_CALL(Ireduce_scatter);
QV_MPI_CALL(Ireduce_scatter_block);
QV_MPI_CALL(Barrier);
QV_MPI_CALL(Bcast);
QV_MPI_CALL(Allgather);
QV_MPI_CALL(Alltoall);
QV_MPI_CALL(Iallgather);
QV_MPI_CALL(Ialltoall);
QV_MPI_CALL(Allgatherv);
QV_MPI_CALL(Alltoallv);
QV_MPI_CALL(Neighbor_allgather);
QV_MPI_CALL(Neighbor_allgatherv);
QV_MPI_CALL(Neighbor_alltoall);
QV_MPI_CALL(Neighbor_alltoallv);
QV_MPI_CALL(Iallgatherv);
QV_MPI_CALL(Ialltoallv);
QV_MPI_CALL(Ineighbor_allgather);
QV_MPI_CALL(Ineighbor_allgatherv);
QV_MPI_CALL(Ineighbor_alltoall);
QV_MPI_CALL(Ineighbor_alltoallv);
QV_MPI_CALL(Ibarrier);
QV_MPI_CALL(Ibcast);
QV_MPI_CALL(Start);
QV_MPI_CALL(Startall);
QV_MPI_CALL(Request_free);
#ifdef QV_MPI_PERSISTENT
QV_MPI_CALL_EXT(Reduce_init);
QV_MPI_CALL_EXT(Allreduce_init);
QV_MPI_CALL_EXT(Reduce_scatter_init);
QV_MPI_CALL_EXT(Reduce_scatter_block_init);
QV_MPI_CALL_EXT(Barrier_init);
QV_MPI_CALL_EXT(Bcast_init);
QV_MPI_CALL_EXT(Allgather_init);
QV_MPI_CALL_EXT(Alltoall_init);
QV_MPI_CALL_EXT(Allgatherv_init);
QV_MPI_CALL_EXT(Alltoallv_init);
QV_MPI_CALL_EXT(Neighbor_allgather_init);
QV_MPI_CALL_EXT(Neighbor_allgatherv_init);
QV_MPI_CALL_EXT(Neighbor_alltoall_init);
QV_MPI_CALL_EXT(Neighbor_alltoallv_init);
#endif
#undef QV_MPI_CALL
#undef QV_MPI_CALL_EXT
