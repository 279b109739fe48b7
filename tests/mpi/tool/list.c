/* SPDX-License-Identifier: BSD-2-Clause */
/* list.c - every variable and category is found by its number and its name, and stays where it is. */
#include "tool.h"

int is_of_prefix(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX));
}

/* Not the MPI's own, where it has lost a variable: Open MPI does, and keeps its number. */
static int pvar_name(int index, char *name, int *class)
{
	int len = NAME_ROOM;

	*name = 0;
	return MPI_T_pvar_get_info(index, name, &len, NULL, class, NULL, NULL, NULL, NULL, NULL,
				   NULL, NULL, NULL);
}

/* MPIs other than ours may use a name twice. */
static int first_pvar(const char *name, int class)
{
	int index = -1;

	OK(MPI_T_pvar_get_index(name, class, &index));
	return index;
}

int pvar_of(const char *name)
{
	char found[NAME_ROOM];
	int num, class;

	OK(MPI_T_pvar_get_num(&num));
	for (int i = 0; i < num; i++)
		if (!pvar_name(i, found, &class) && !strcmp(found, name))
			return i;
	return -1;
}

int cvar_of(const char *name)
{
	int index = -1;

	OK(MPI_T_cvar_get_index(name, &index));
	return index;
}

/* Strings, as the standard returns them. */
static void check_strings(int index, const char *name)
{
	char some[4] = "zzz", desc[NAME_ROOM * 4];
	int len = 0, desc_len = sizeof(desc);

	OK(MPI_T_pvar_get_info(index, some, &len, NULL, NULL, NULL, NULL, desc, &desc_len, NULL,
			       NULL, NULL, NULL));
	CHECK_EQ(len, strlen(name) + 1);
	CHECK(!strcmp(some, "zzz"));
	CHECK_EQ(desc_len, strlen(desc) + 1);
	CHECK(desc_len > 10);
	len = sizeof(some);
	OK(MPI_T_pvar_get_info(index, some, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
			       NULL, NULL));
	CHECK_EQ(len, strlen(name) + 1);
	CHECK_EQ(strlen(some), 3);
	CHECK(!strncmp(some, name, 3));
}

static void check_ours(int index, const char *name)
{
	int class, bind, readonly, continuous, atomic, verbosity, counts, found;
	MPI_Datatype type;
	MPI_T_enum values;

	OK(MPI_T_pvar_get_info(index, NULL, NULL, &verbosity, &class, &type, &values, NULL, NULL,
			       &bind, &readonly, &continuous, &atomic));
	counts = class == MPI_T_PVAR_CLASS_COUNTER || class == MPI_T_PVAR_CLASS_AGGREGATE;
	CHECK(counts || class == MPI_T_PVAR_CLASS_LEVEL || class == MPI_T_PVAR_CLASS_HIGHWATERMARK);
	CHECK(type == MPI_UNSIGNED_LONG_LONG);
	CHECK_EQ(bind, MPI_T_BIND_NO_OBJECT);
	CHECK_EQ(readonly, !counts);
	CHECK_EQ(continuous, !counts);
	CHECK_EQ(atomic, counts);
	CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC);
	CHECK_EQ(first_pvar(name, class), index);
	CHECK_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_TIMER, &found),
		 MPI_T_ERR_INVALID_NAME);
	check_strings(index, name);
	printf("pvar %s\n", name);
}

static int list_pvars(struct known *known)
{
	int ours = 0, class;

	OK(MPI_T_pvar_get_num(&known->num));
	known->names = calloc((size_t)known->num + 1, sizeof(*known->names));
	CHECK(known->names);
	for (int i = 0; i < known->num; i++) {
		char *name = known->names[i], other[NAME_ROOM];

		if (pvar_name(i, name, &class))
			continue;
		if (is_of_prefix(name)) {
			check_ours(i, name);
			ours++;
		} else { /* one of that name, which may be an earlier one */
			OK(pvar_name(first_pvar(name, class), other, &class));
			CHECK(!strcmp(name, other));
		}
	}
	CHECK_EQ(MPI_T_pvar_get_info(known->num, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
				     NULL, NULL, NULL, NULL),
		 MPI_T_ERR_INVALID_INDEX);
	CHECK_EQ(MPI_T_pvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
				     NULL, NULL),
		 MPI_T_ERR_INVALID_INDEX);
	return ours;
}

/* One of the MPI's own can be read as before. */
static int try_theirs(int index)
{
	MPI_T_cvar_handle handle;
	int count, value = 0;

	OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
	CHECK_EQ(count, 1);
	OK(MPI_T_cvar_read(handle, &value));
	OK(MPI_T_cvar_handle_free(&handle));
	return 1;
}

static int list_cvars(void)
{
	int num, ours = 0, theirs = 0;

	OK(MPI_T_cvar_get_num(&num));
	for (int i = 0; i < num; i++) {
		char name[NAME_ROOM], other[NAME_ROOM];
		int len = sizeof(name), other_len = sizeof(other), bind, scope;
		MPI_Datatype type;

		OK(MPI_T_cvar_get_info(i, name, &len, NULL, &type, NULL, NULL, NULL, &bind,
				       &scope));
		if (is_of_prefix(name)) {
			CHECK_EQ(cvar_of(name), i);
			CHECK(scope == MPI_T_SCOPE_ALL_EQ || scope == MPI_T_SCOPE_READONLY);
			ours++;
			printf("cvar %s\n", name);
			continue;
		}
		OK(MPI_T_cvar_get_info(cvar_of(name), other, &other_len, NULL, NULL, NULL, NULL,
				       NULL, NULL, NULL));
		CHECK(!strcmp(name, other));
		if (!theirs && type == MPI_INT && bind == MPI_T_BIND_NO_OBJECT)
			theirs = try_theirs(i);
	}
	CHECK(theirs);
	CHECK_EQ(MPI_T_cvar_get_info(num, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
		 MPI_T_ERR_INVALID_INDEX);
	return ours;
}

/* What is in a category: of ours only, or of the MPI's only. */
static void check_category(const char *name, int index, int cvars, int pvars)
{
	const int ours = !strcmp(name, "quiver");
	int *indices = calloc((size_t)(cvars + pvars) + 1, sizeof(int)), class;
	char found[NAME_ROOM];

	CHECK(indices);
	OK(MPI_T_category_get_pvars(index, pvars, indices));
	for (int i = 0; i < pvars; i++) {
		CHECK(!pvar_name(indices[i], found, &class) || !ours);
		CHECK_EQ(is_of_prefix(found), ours);
	}
	OK(MPI_T_category_get_cvars(index, cvars, indices));
	for (int i = 0; i < cvars; i++) {
		int len = sizeof(found);

		OK(MPI_T_cvar_get_info(indices[i], found, &len, NULL, NULL, NULL, NULL, NULL, NULL,
				       NULL));
		CHECK_EQ(is_of_prefix(found), ours);
	}
	free(indices);
}

static void list_categories(int our_cvars, int our_pvars)
{
	int num, ours = 0;

	OK(MPI_T_category_get_num(&num));
	for (int i = 0; i < num; i++) {
		int len = NAME_ROOM, cvars, pvars, categories, index;
		char name[NAME_ROOM];

		OK(MPI_T_category_get_info(i, name, &len, NULL, NULL, &cvars, &pvars, &categories));
		check_category(name, i, cvars, pvars);
		if (strcmp(name, "quiver") != 0)
			continue;
		OK(MPI_T_category_get_index(name, &index));
		CHECK_EQ(index, i);
		CHECK_EQ(cvars, our_cvars);
		CHECK_EQ(pvars, our_pvars);
		CHECK_EQ(categories, 0);
		ours++;
	}
	CHECK_EQ(ours, 1);
}

void list_all(struct known *known)
{
	const int pvars = list_pvars(known), cvars = list_cvars();

	CHECK(pvars > 0 && cvars > 0);
	OK(MPI_T_cvar_get_num(&known->cvars));
	known->coll = cvar_of("quiver_coll");
	list_categories(cvars, pvars);
}

/* Those that the MPI has got since, as Open MPI does in MPI_Init. */
static void check_new_cvars(const struct known *known)
{
	char name[NAME_ROOM], other[NAME_ROOM];
	int num;

	OK(MPI_T_cvar_get_num(&num));
	CHECK(num >= known->cvars);
	for (int i = known->cvars; i < num; i++) {
		int len = sizeof(name), other_len = sizeof(other);

		if (MPI_T_cvar_get_info(i, name, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
			continue;
		CHECK(!is_of_prefix(name));
		OK(MPI_T_cvar_get_info(cvar_of(name), other, &other_len, NULL, NULL, NULL, NULL,
				       NULL, NULL, NULL));
		CHECK(!strcmp(name, other));
	}
	CHECK_EQ(cvar_of("quiver_coll"), known->coll);
}

void list_again(const struct known *known)
{
	char name[NAME_ROOM];
	int num, class;

	OK(MPI_T_pvar_get_num(&num));
	CHECK(num >= known->num);
	for (int i = 0; i < known->num; i++)
		if (!pvar_name(i, name, &class))
			CHECK(!strcmp(name, known->names[i]) || !*known->names[i]);
		else
			CHECK(!is_of_prefix(known->names[i]));
	check_new_cvars(known);
}
