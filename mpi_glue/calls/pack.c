/* SPDX-License-Identifier: BSD-2-Clause */
/* pack.c - elements of the program's become bytes, or bytes elements. Those of a type that has addresses may be
 * at MPI_BOTTOM, which is NULL, where MPICH packs nothing: the same elements are packed from where they begin. */
#include "mpi_glue/glue.h"

struct elements {
	char *at;
	int count;
	MPI_Datatype type; /* to be freed, if the program's was at MPI_BOTTOM */
};

static int elements_of(struct elements *e, const void *at, int count, MPI_Datatype type)
{
	MPI_Aint low = 0, length, back;
	int rc;

	*e = (struct elements){(char *)(uintptr_t)at, count, type};
	if (at)
		return MPI_SUCCESS;
	rc = PMPI_Type_get_true_extent(type, &low, &length);
	back = -low;
	if (!rc)
		rc = PMPI_Type_create_hindexed(1, &count, &back, type, &e->type);
	if (rc)
		return rc;
	e->at = (char *)(uintptr_t)low;
	e->count = 1;
	rc = PMPI_Type_commit(&e->type);
	if (rc)
		PMPI_Type_free(&e->type);
	return rc;
}

static int end(struct elements *e, MPI_Datatype type, int rc)
{
	if (e->type != type)
		PMPI_Type_free(&e->type);
	return rc;
}

int qv_mpi_pack(const void *from, int count, MPI_Datatype type, void *to, int bytes, MPI_Comm comm)
{
	struct elements e;
	int at = 0, rc = elements_of(&e, from, count, type);

	return rc ? rc : end(&e, type, PMPI_Pack(e.at, e.count, e.type, to, bytes, &at, comm));
}

int qv_mpi_unpack(const void *from, int bytes, void *to, int count, MPI_Datatype type,
		  MPI_Comm comm)
{
	struct elements e;
	int at = 0, rc = elements_of(&e, to, count, type);

	return rc ? rc : end(&e, type, PMPI_Unpack(from, bytes, &at, e.at, e.count, e.type, comm));
}
