/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - addresses: small numbers for the names of endpoints, which are random. */
#include "names.h"

#include <stdlib.h>

#include <quiver/types.h>

#define FIRST 64u
#define NONE  UINT32_MAX

struct entry {
	uint64_t name;
	uint32_t refs; /* 0: free */
	uint32_t next; /* of those with the same hash, or free ones */
};

struct qv_names {
	struct entry *entries;
	uint32_t count, cap;
	uint32_t free;
	uint32_t *heads; /* hash by name, cap of them */
};

struct qv_names *qv_names_create(void)
{
	struct qv_names *names = calloc(1, sizeof *names);

	if (names)
		names->free = NONE;
	return names;
}

void qv_names_destroy(struct qv_names *names)
{
	free(names->entries);
	free(names->heads);
	free(names);
}

static uint32_t *head_of(const struct qv_names *names, uint64_t name)
{
	return &names->heads[(uint32_t)name & (names->cap - 1)];
}

static void link_entry(struct qv_names *names, uint32_t i)
{
	uint32_t *head = head_of(names, names->entries[i].name);

	names->entries[i].next = *head;
	*head = i;
}

static bool grow(struct qv_names *names)
{
	uint32_t cap = names->cap ? 2 * names->cap : FIRST;
	struct entry *entries = realloc(names->entries, cap * sizeof *entries);
	uint32_t *heads;

	if (!entries)
		return false;
	names->entries = entries;
	heads = malloc(cap * sizeof *heads);
	if (!heads)
		return false;
	free(names->heads);
	names->heads = heads;
	names->cap = cap;
	for (uint32_t i = 0; i < cap; i++)
		heads[i] = NONE;
	for (uint32_t i = 0; i < names->count; i++)
		if (names->entries[i].refs)
			link_entry(names, i);
	return true;
}

static uint32_t find(const struct qv_names *names, uint64_t name)
{
	uint32_t i = names->cap ? *head_of(names, name) : NONE;

	while (i != NONE && names->entries[i].name != name)
		i = names->entries[i].next;
	return i;
}

/* A free entry; grow() is called when there is none, so all entries are linked then. */
static uint32_t take(struct qv_names *names)
{
	uint32_t i = names->free;

	if (i != NONE) {
		names->free = names->entries[i].next;
		return i;
	}
	if (names->count == names->cap && !grow(names))
		return NONE;
	return names->count++;
}

uint64_t qv_names_insert(struct qv_names *names, uint64_t name)
{
	uint32_t i = find(names, name);

	if (i == NONE) {
		i = take(names);
		if (i == NONE)
			return QV_NODE_NONE;
		names->entries[i] = (struct entry){.name = name};
		link_entry(names, i);
	}
	names->entries[i].refs++;
	return i;
}

bool qv_names_get(const struct qv_names *names, uint64_t addr, uint64_t *name)
{
	if (addr >= names->count || !names->entries[addr].refs)
		return false;
	*name = names->entries[addr].name;
	return true;
}

void qv_names_remove(struct qv_names *names, uint64_t addr)
{
	uint32_t *at;

	if (addr >= names->count || !names->entries[addr].refs || --names->entries[addr].refs)
		return;
	for (at = head_of(names, names->entries[addr].name); *at != addr;)
		at = &names->entries[*at].next;
	*at = names->entries[addr].next;
	names->entries[addr].next = names->free;
	names->free = (uint32_t)addr;
}
