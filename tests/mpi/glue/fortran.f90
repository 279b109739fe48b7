! SPDX-License-Identifier: BSD-2-Clause
! fortran.f90 - reductions from Fortran: MPI_IN_PLACE, MPI_STATUS_IGNORE, its own types.
program mpi_glue_fortran
	use mpi
	implicit none
	integer :: ierr, rank, ranks, i, request, status(MPI_STATUS_SIZE)
	integer, parameter :: n = 100
	double precision :: d(n), dsum(n)
	integer :: k(n), kmax(n), both(2), best(2)
	logical :: yes, all_yes
	complex :: z, zsum

	call MPI_Init(ierr)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
	call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
	do i = 1, n
		d(i) = i + rank
		k(i) = i * rank
	end do
	call MPI_Allreduce(d, dsum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
	do i = 1, n
		call check(dsum(i) == dble(i * ranks + ranks * (ranks - 1) / 2), 'sum')
	end do
	call MPI_Allreduce(MPI_IN_PLACE, d, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
	call check(all(d == dsum), 'sum in place')
	call MPI_Iallreduce(k, kmax, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request, ierr)
	call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
	do i = 1, n
		call check(kmax(i) == i * (ranks - 1), 'maximum')
	end do
	call MPI_Ireduce(k, kmax, n, MPI_INTEGER, MPI_MIN, 0, MPI_COMM_WORLD, request, ierr)
	call MPI_Wait(request, status, ierr)
	if (rank == 0) call check(all(kmax == 0), 'minimum')
	yes = rank /= 1
	call MPI_Allreduce(yes, all_yes, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
	call check(.not. all_yes, 'logical and')
	z = cmplx(rank, 1)
	call MPI_Allreduce(z, zsum, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
	call check(zsum == cmplx(ranks * (ranks - 1) / 2, ranks), 'complex sum')
	both = (/ mod(rank, 2), rank /)
	call MPI_Allreduce(both, best, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
	call check(best(1) == 1 .and. best(2) == 1, 'place of the maximum')
	call MPI_Bcast(d, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
	call check(all(d == dsum), 'broadcast')
	call MPI_Barrier(MPI_COMM_WORLD, ierr)
	if (rank == 0) print '(a,i0,a)', 'passed on ', ranks, ' ranks'
	call MPI_Finalize(ierr)

contains

	subroutine check(holds, what)
		logical, intent(in) :: holds
		character(*), intent(in) :: what

		if (holds) return
		print '(a,i0,2a)', 'rank ', rank, ': wrong: ', what
		call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
	end subroutine
end program
