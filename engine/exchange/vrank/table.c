/* SPDX-License-Identifier: BSD-2-Clause */
/* table.c - who is here, who has his home here; messages that wait. */
#include "vrank.h"

#include <stdlib.h>
#include <string.h>

static struct qv_vrank **slot_of(struct qv_vrank **slots, size_t n, uint32_t vrank)
{
	size_t i = (size_t)((vrank * 0x9e3779b97f4a7c15u) >> 32) & (n - 1);

	while (slots[i] && slots[i]->vrank != vrank)
		i = (i + 1) & (n - 1);
	return &slots[i];
}

struct qv_vrank *qv_vrank_look(const struct qv_vranks *v, uint32_t vrank)
{
	if (v->found && v->found->vrank == vrank)
		return v->found;
	return v->slots_n ? *slot_of(v->slots, v->slots_n, vrank) : NULL;
}

struct qv_vrank *qv_vrank_find(struct qv_vranks *v, uint32_t vrank)
{
	struct qv_vrank *vr = qv_vrank_look(v, vrank);

	if (vr)
		v->found = vr;
	return vr;
}

static int grow(struct qv_vranks *v)
{
	const size_t n = v->slots_n ? 2 * v->slots_n : 16;
	struct qv_vrank **grown;

	if (2 * v->used < v->slots_n)
		return QV_OK;
	grown = calloc(n, sizeof(*grown));
	if (!grown)
		return QV_ENOMEM;
	for (size_t i = 0; i < v->slots_n; i++)
		if (v->slots[i])
			*slot_of(grown, n, v->slots[i]->vrank) = v->slots[i];
	free(v->slots);
	v->slots = grown;
	v->slots_n = n;
	return QV_OK;
}

struct qv_vrank *qv_vrank_make(struct qv_vranks *v, uint32_t vrank)
{
	struct qv_vrank *vr = qv_vrank_find(v, vrank);

	if (vr)
		return vr;
	vr = grow(v) ? NULL : calloc(1, sizeof(*vr));
	if (!vr)
		return NULL;
	vr->vrank = vrank;
	vr->where = v->rank;
	*slot_of(v->slots, v->slots_n, vrank) = vr;
	v->used++;
	return vr;
}

static void free_one(struct qv_vrank *vr)
{
	struct qv_vrank_kept *k;

	while ((k = qv_vrank_pop(&vr->held)))
		free(k);
	free(vr->state);
	free(vr);
}

/* In the table's own memory: those that stay are taken out first, then put where they belong. */
void qv_vrank_tidy(struct qv_vranks *v)
{
	struct qv_vrank *stay = NULL;

	v->found = NULL;
	v->used = 0;
	for (size_t i = 0; i < v->slots_n; i++) {
		struct qv_vrank *vr = v->slots[i];

		v->slots[i] = NULL;
		if (vr && vr->here) {
			vr->where = v->rank;
			vr->next = stay;
			stay = vr;
		} else if (vr) {
			free_one(vr);
		}
	}
	while (stay) {
		struct qv_vrank *vr = stay;

		stay = vr->next;
		vr->next = NULL;
		*slot_of(v->slots, v->slots_n, vr->vrank) = vr;
		v->used++;
	}
}

void qv_vrank_free_table(struct qv_vranks *v)
{
	for (size_t i = 0; i < v->slots_n; i++)
		if (v->slots[i])
			free_one(v->slots[i]);
	free(v->slots);
}

int qv_vrank_keep(struct qv_vrank_queue *q, const struct qv_vrank_kept *kept)
{
	struct qv_vrank_kept *k = malloc(sizeof(*k) + kept->item.bytes);

	if (!k)
		return QV_ENOMEM;
	*k = *kept;
	k->next = NULL;
	if (kept->item.bytes)
		memcpy(k + 1, kept->item.data, kept->item.bytes);
	k->item.data = k + 1;
	*(q->first ? &q->last->next : &q->first) = k;
	q->last = k;
	return QV_OK;
}

struct qv_vrank_kept *qv_vrank_pop(struct qv_vrank_queue *q)
{
	struct qv_vrank_kept *k = q->first;

	if (k)
		q->first = k->next;
	return k;
}
