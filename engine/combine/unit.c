/* SPDX-License-Identifier: BSD-2-Clause */
/* unit.c - combine unit of a tree without direction: counts ports, not children. */
#include <quiver/unit.h>

#include <stdlib.h>
#include <string.h>

#include "engine/base/settings.h"

#define MOST_AT_ONCE 64

/* One reduction; a free slot has seen nothing. */
struct slot {
	uint64_t seen; /* ports that have contributed */
	int left, sent;
	char *sum;
};

struct qv_unit {
	const struct qv_combine *combine;
	struct qv_unit_spec spec;
	size_t item;
	uint32_t oldest; /* number of the first reduction that is not over; its slot is by modulo */
	struct slot slots[MOST_AT_ONCE];
	char *sums;
};

static int several(uint64_t ports)
{
	return (ports & (ports - 1)) != 0;
}

/* Bytes of an element; 0: there is no such operation. */
static size_t item_of(const struct qv_combine *combine, const struct qv_unit_spec *s)
{
	if (s->reduce)
		return s->item;
	return combine && qv_combine_defined(s->op, s->type) ? qv_type_size(s->type) : 0;
}

static int is_right(const struct qv_unit_spec *s, size_t item)
{
	return several(s->ports) && s->at_once <= MOST_AT_ONCE && !several(s->at_once) &&
	       s->count && item && s->count <= SIZE_MAX / item / s->at_once;
}

int qv_unit_create(const struct qv_combine *combine, const struct qv_unit_spec *spec,
		   struct qv_unit **unit)
{
	struct qv_unit_spec s = {0};
	struct qv_unit *u;
	size_t item;

	if (qv_settings_read(&s, sizeof(s), QV_SETTINGS_UPTO(struct qv_unit_spec, count), spec))
		return QV_EINVAL;
	s.at_once = s.at_once ? s.at_once : 2;
	item = item_of(combine, &s);
	if (!is_right(&s, item))
		return QV_EINVAL;
	u = calloc(1, sizeof(*u));
	if (!u)
		return QV_ENOMEM;
	u->combine = combine;
	u->spec = s;
	u->item = item;
	u->sums = malloc(s.count * item * s.at_once);
	if (!u->sums) {
		free(u);
		return QV_ENOMEM;
	}
	for (uint32_t i = 0; i < s.at_once; i++)
		u->slots[i].sum = u->sums + s.count * item * i;
	*unit = u;
	return QV_OK;
}

void qv_unit_free(struct qv_unit *u)
{
	if (u)
		free(u->sums);
	free(u);
}

static int is_of_tree(const struct qv_unit *u, unsigned int port)
{
	return port < 64 && (u->spec.ports >> port & 1);
}

static struct slot *slot_of(struct qv_unit *u, uint32_t number)
{
	return &u->slots[number % u->spec.at_once];
}

static void take(struct qv_unit *u, struct slot *s, const void *data, size_t count)
{
	if (!s->seen)
		memcpy(s->sum, data, count * u->item);
	else if (u->spec.reduce)
		u->spec.reduce(u->spec.context, s->sum, s->sum, data, count);
	else
		(void)qv_combine(u->combine, u->spec.op, u->spec.type, s->sum, data, count);
}

int qv_unit_reduce(struct qv_unit *u, unsigned int port, uint32_t number, const void *data,
		   struct qv_unit_out *out)
{
	return qv_unit_reduce_part(u, port, number, data, u->spec.count, out);
}

int qv_unit_reduce_part(struct qv_unit *u, unsigned int port, uint32_t number, const void *data,
			size_t count, struct qv_unit_out *out)
{
	struct slot *s = slot_of(u, number);
	uint64_t rest;

	if (!count || count > u->spec.count)
		return QV_EINVAL;
	if (!is_of_tree(u, port) || (int32_t)(number - u->oldest) < 0)
		return QV_EPROTO;
	if (number - u->oldest >= u->spec.at_once)
		return QV_EAGAIN;
	if (s->left || (s->seen >> port & 1))
		return QV_EPROTO;
	take(u, s, data, count);
	s->seen |= UINT64_C(1) << port;
	rest = u->spec.ports & ~s->seen;
	s->left = !several(rest);
	*out = (struct qv_unit_out){s->left ? __builtin_ctzll(rest) : -1, s->sum};
	return QV_OK;
}

int qv_unit_sent(struct qv_unit *u, uint32_t number)
{
	struct slot *s = slot_of(u, number);

	if (number - u->oldest >= u->spec.at_once || !s->left || s->sent)
		return QV_EINVAL;
	s->sent = 1;
	for (s = slot_of(u, u->oldest); s->sent; s = slot_of(u, ++u->oldest)) {
		s->seen = 0;
		s->left = s->sent = 0;
	}
	return QV_OK;
}

int qv_unit_multicast(const struct qv_unit *u, unsigned int port, uint64_t *ports)
{
	if (!is_of_tree(u, port))
		return QV_EPROTO;
	*ports = u->spec.ports & ~(UINT64_C(1) << port);
	return QV_OK;
}
