/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle.c - bundles: messages are copied once, into the bundle that they leave with.
 * What comes stays where it has come to, be it for this rank or to be sent on.
 */
#include "exchange.h"

#include <stdlib.h>
#include <string.h>

static size_t padded(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

int qv_hold(struct qv_held_list *list, const struct qv_held *held)
{
	if (list->n == list->room) {
		const size_t room = list->room * 2 + 16;
		struct qv_held *grown = realloc(list->at, room * sizeof(*grown));

		if (!grown)
			return QV_ENOMEM;
		list->at = grown;
		list->room = room;
	}
	list->at[list->n++] = *held;
	return QV_OK;
}

static struct qv_bundle *new_bundle(struct qv_exchange *ex, uint32_t peer, int is_out)
{
	struct qv_bundle *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->peer = peer;
	b->is_out = is_out;
	b->next = ex->bundles;
	ex->bundles = b;
	return b;
}

/* The number of the new message. */
static int add_message(struct qv_exchange *ex, const struct qv_message *message, uint32_t *number)
{
	if (ex->messages_n == ex->messages_room) {
		const size_t room = ex->messages_room * 2 + 16;
		struct qv_message *grown = realloc(ex->messages, room * sizeof(*grown));

		if (!grown)
			return QV_ENOMEM;
		ex->messages = grown;
		ex->messages_room = room;
	}
	*number = (uint32_t)ex->messages_n;
	ex->messages[ex->messages_n++] = *message;
	return QV_OK;
}

/* The pieces behind the head of a long bundle. */
static int add_pieces(struct qv_exchange *ex, struct qv_bundle *b)
{
	const size_t limit = ex->spec.limit;
	uint32_t number;
	int rc = QV_OK;

	b->rest = (uint32_t)ex->messages_n;
	for (size_t at = sizeof(struct qv_bundle_head); at < b->bytes && !rc; at += limit) {
		const size_t bytes = b->bytes - at < limit ? b->bytes - at : limit;
		const struct qv_message m = {b, ++b->pieces, at, bytes, QV_MSG_WAITS};

		rc = add_message(ex, &m, &number);
	}
	return rc;
}

/* What leaves. */

static int compare(const void *x, const void *y)
{
	const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

/* Which of the bundles of this phase it leaves with; out_n: none. QV_EPROTO: with one that there is
 * not. */
static int bundle_of(const struct qv_exchange *ex, const struct qv_held *held, uint32_t *at)
{
	const struct qv_phase *phase = &ex->ways.phases[ex->phase];
	const uint32_t to = qv_ways_hop(&ex->ways, ex->phase, held->dst);
	const uint32_t *found;

	*at = phase->out_n;
	if (to == ex->spec.rank)
		return QV_OK;
	found = bsearch(&to, phase->out, phase->out_n, sizeof(to), compare);
	if (!found)
		return QV_EPROTO;
	*at = (uint32_t)(found - phase->out);
	return QV_OK;
}

static int measure(struct qv_exchange *ex, struct qv_bundle **out)
{
	const struct qv_phase *phase = &ex->ways.phases[ex->phase];
	uint32_t at;
	int rc;

	for (uint32_t i = 0; i < phase->out_n; i++) {
		out[i] = new_bundle(ex, phase->out[i], 1);
		if (!out[i])
			return QV_ENOMEM;
		out[i]->bytes = sizeof(struct qv_bundle_head);
	}
	for (size_t i = 0; i < ex->held.n; i++) {
		rc = bundle_of(ex, &ex->held.at[i], &at);
		if (rc)
			return rc;
		if (at == phase->out_n)
			continue;
		out[at]->bytes += sizeof(struct qv_record_head) + padded(ex->held.at[i].bytes);
		out[at]->records++;
	}
	return QV_OK;
}

static void write_record(struct qv_exchange *ex, struct qv_bundle *b, const struct qv_held *held)
{
	const struct qv_record_head head = {held->dst, held->src, held->bytes};
	char *to = b->data + b->parsed;

	memcpy(to, &head, sizeof(head));
	if (held->bytes)
		memcpy(to + sizeof(head), held->data, held->bytes);
	memset(to + sizeof(head) + held->bytes, 0, padded(held->bytes) - held->bytes);
	b->parsed += sizeof(head) + padded(held->bytes);
	ex->stats.copied += held->bytes;
	ex->stats.forwarded += held->bytes;
}

/* Write the heads, make the messages. */
static int open_bundles(struct qv_exchange *ex, struct qv_bundle **out, uint32_t n)
{
	int rc = QV_OK;

	for (uint32_t i = 0; i < n && !rc; i++) {
		struct qv_bundle *b = out[i];
		const struct qv_bundle_head head = {b->bytes, b->records};
		struct qv_message m = {b, 0, 0, b->bytes, QV_MSG_WAITS};

		if (b->bytes > ex->spec.most)
			return QV_EMSGSIZE;
		b->data = malloc(b->bytes);
		if (!b->data)
			return QV_ENOMEM;
		memcpy(b->data, &head, sizeof(head));
		b->parsed = sizeof(head);
		if (b->bytes > QV_SHORT_BUNDLE)
			m.bytes = sizeof(head);
		rc = add_message(ex, &m, &b->first);
		if (!rc && b->bytes > QV_SHORT_BUNDLE)
			rc = add_pieces(ex, b);
		ex->stats.bundles++;
		ex->stats.messages += 1 + b->pieces;
		ex->stats.bytes += b->bytes;
	}
	return rc;
}

int qv_pack(struct qv_exchange *ex)
{
	const struct qv_phase *phase = &ex->ways.phases[ex->phase];
	struct qv_bundle **out = calloc(phase->out_n + 1, sizeof(struct qv_bundle *));
	size_t kept = 0;
	uint32_t at;
	int rc = out ? measure(ex, out) : QV_ENOMEM;

	if (!rc)
		rc = open_bundles(ex, out, phase->out_n);
	for (size_t i = 0; i < ex->held.n && !rc; i++) {
		bundle_of(ex, &ex->held.at[i], &at);
		if (at < phase->out_n)
			write_record(ex, out[at], &ex->held.at[i]);
		else
			ex->held.at[kept++] = ex->held.at[i];
	}
	if (!rc)
		ex->held.n = kept;
	free(out);
	return rc;
}

/* What comes. */

int qv_expect(struct qv_exchange *ex)
{
	const struct qv_phase *phase = &ex->ways.phases[ex->phase];
	int rc = QV_OK;

	if (phase->in_n > ex->incoming_room) {
		struct qv_bundle **grown =
			realloc(ex->incoming, phase->in_n * sizeof(struct qv_bundle *));

		if (!grown)
			return QV_ENOMEM;
		ex->incoming = grown;
		ex->incoming_room = phase->in_n;
	}
	for (ex->incoming_n = 0; ex->incoming_n < phase->in_n && !rc;) {
		struct qv_bundle *b = new_bundle(ex, phase->in[ex->incoming_n], 0);
		const struct qv_message m = {b, 0, 0, QV_SHORT_BUNDLE, QV_MSG_WAITS};

		if (b)
			b->data = malloc(QV_SHORT_BUNDLE);
		if (!b || !b->data)
			return QV_ENOMEM;
		ex->incoming[ex->incoming_n++] = b;
		rc = add_message(ex, &m, &b->first);
	}
	return rc;
}

static int file(struct qv_exchange *ex, const struct qv_record_head *head, const char *data)
{
	const struct qv_held held = {head->dst, head->src, head->bytes, data};

	if (head->dst >= ex->spec.ranks || head->src >= ex->spec.ranks)
		return QV_EPROTO;
	return qv_hold(head->dst == ex->spec.rank ? &ex->mine : &ex->held, &held);
}

/* The head, as the first message of so many bytes has it. */
static int unpack_head(struct qv_exchange *ex, struct qv_bundle *b, size_t bytes)
{
	struct qv_bundle_head head;

	if (bytes < sizeof(head))
		return QV_EPROTO;
	memcpy(&head, b->data, sizeof(head));
	if (head.bytes > ex->spec.most ||
	    (head.bytes != bytes && (head.bytes <= QV_SHORT_BUNDLE || bytes != sizeof(head))))
		return QV_EPROTO;
	b->bytes = head.bytes;
	b->records = head.records;
	b->parsed = sizeof(head);
	b->arrived = 1;
	ex->stats.received++;
	if (b->bytes == bytes)
		return QV_OK;
	free(b->data);
	b->data = malloc(b->bytes);
	return b->data ? add_pieces(ex, b) : QV_ENOMEM;
}

/* How many bytes are there, in a row. */
static size_t have(const struct qv_exchange *ex, struct qv_bundle *b)
{
	while (b->arrived <= b->pieces &&
	       ex->messages[b->rest + b->arrived - 1].state == QV_MSG_DONE)
		b->arrived++;
	return b->arrived > b->pieces ? b->bytes : ex->messages[b->rest + b->arrived - 1].at;
}

int qv_unpack(struct qv_exchange *ex, struct qv_bundle *b)
{
	const struct qv_message *first = &ex->messages[b->first];
	struct qv_record_head head;
	size_t end;
	int rc;

	if (!b->bytes) {
		if (first->state != QV_MSG_DONE)
			return 0;
		rc = unpack_head(ex, b, first->bytes);
		if (rc)
			return rc;
	}
	end = have(ex, b);
	while (b->records && end - b->parsed >= sizeof(head)) {
		memcpy(&head, b->data + b->parsed, sizeof(head));
		if (head.bytes > b->bytes - b->parsed - sizeof(head) ||
		    padded(head.bytes) > b->bytes - b->parsed - sizeof(head))
			return QV_EPROTO;
		if (padded(head.bytes) > end - b->parsed - sizeof(head))
			break;
		rc = file(ex, &head, b->data + b->parsed + sizeof(head));
		if (rc)
			return rc;
		b->parsed += sizeof(head) + padded(head.bytes);
		b->records--;
	}
	if (end < b->bytes)
		return 0;
	return b->records || b->parsed != b->bytes ? QV_EPROTO : 1;
}
