/* SPDX-License-Identifier: BSD-2-Clause */
/* wire.c - packets to bytes and back. Every packet of a peer is checked here first. */
#include "wire.h"
#include "engine/remote/remote.h"

#include <string.h>

/* Which flags each op may carry; indexed by op. */
static const uint8_t allowed[QV_PKT_LAST + 1] = {
	[QV_PKT_HELLO] = 0,          [QV_PKT_EAGER] = QV_WF_ALL,   [QV_PKT_DATA] = QV_WF_UID,
	[QV_PKT_RTS] = QV_WF_ALL,    [QV_PKT_CTS] = QV_WF_UID,     [QV_PKT_SEG] = QV_WF_UID,
	[QV_PKT_FIN] = QV_WF_UID,    [QV_PKT_CREDIT] = QV_WF_UID,  [QV_PKT_LEAVE] = QV_WF_UID,
	[QV_PKT_VOID] = QV_WF_UID,   [QV_PKT_PING] = QV_WF_UID,    [QV_PKT_ACK] = QV_WF_UID,
	[QV_PKT_RESET] = 0,          [QV_PKT_STARVED] = QV_WF_UID, [QV_PKT_ASK] = QV_WF_UID,
	[QV_PKT_ANSWER] = QV_WF_UID, [QV_PKT_RAIL] = QV_WF_UID,    [QV_PKT_PIECE] = QV_WF_UID,
};

static bool body_fits(const struct qv_wire_pkt *pkt)
{
	size_t len = pkt->len;

	switch (pkt->hdr.op) {
	case QV_PKT_HELLO: {
		struct qv_wire_hello hello;

		if (len < sizeof hello || len > sizeof hello + QV_WIRE_MAX_NAME)
			return false;
		memcpy(&hello, pkt->body, sizeof hello);
		return hello.packet_max >= QV_WIRE_MIN_PACKET;
	}
	case QV_PKT_EAGER: return !(pkt->hdr.flags & QV_WF_TOTAL) || pkt->total > len;
	case QV_PKT_DATA: return len > 0;
	case QV_PKT_RTS:
		return (pkt->hdr.flags & QV_WF_TOTAL) && (pkt->hdr.flags & QV_WF_SREQ) &&
		       len % sizeof(struct qv_wire_seg) == 0 &&
		       len / sizeof(struct qv_wire_seg) <= QV_WIRE_MAX_SEGS;
	case QV_PKT_CTS: return len == sizeof(struct qv_wire_cts);
	case QV_PKT_SEG:
	case QV_PKT_PIECE: return len > sizeof(uint64_t);
	case QV_PKT_RAIL: return len && len <= QV_WIRE_MAX_NAME;
	case QV_PKT_FIN: return len == sizeof(uint64_t);
	case QV_PKT_ASK: return len >= sizeof(struct qv_ask);
	case QV_PKT_ANSWER: return len >= sizeof(uint64_t);
	default: return len == 0;
	}
}

static const char *parse_words(const char *at, size_t left, struct qv_wire_pkt *pkt)
{
	uint64_t *const words[] = {NULL, &pkt->uid, &pkt->data, &pkt->total, &pkt->sreq};

	pkt->uid = pkt->data = pkt->total = pkt->sreq = 0;
	for (unsigned bit = 1; bit < 5; bit++) {
		if (!(pkt->hdr.flags & 1u << bit))
			continue;
		if (left < sizeof(uint64_t))
			return "truncated header";
		memcpy(words[bit], at, sizeof(uint64_t));
		at += sizeof(uint64_t);
		left -= sizeof(uint64_t);
	}
	pkt->body = at;
	pkt->len = left;
	return body_fits(pkt) ? NULL : "length does not fit the packet type";
}

const char *qv_wire_parse(const struct qv_wire_hdr *hdr, const void *rest, size_t len,
			  struct qv_wire_pkt *pkt)
{
	pkt->hdr = *hdr;
	if (pkt->hdr.magic != QV_WIRE_MAGIC)
		return "not a quiver packet (wrong magic number)";
	if (pkt->hdr.version != QV_WIRE_VERSION)
		return "another version of the wire protocol";
	if (pkt->hdr.op == 0 || pkt->hdr.op > QV_PKT_LAST)
		return "unknown packet type";
	if (pkt->hdr.flags & ~allowed[pkt->hdr.op])
		return "unknown flags";
	if (pkt->hdr.flags & QV_WF_TAGGED && pkt->hdr.flags & QV_WF_COLL)
		return "two kinds of message at once";
	return parse_words(rest, len, pkt);
}

size_t qv_wire_write(void *buf, const struct qv_wire_pkt *pkt)
{
	const uint64_t words[] = {0, pkt->uid, pkt->data, pkt->total, pkt->sreq};
	char *at = buf;

	memcpy(at, &pkt->hdr, sizeof pkt->hdr);
	at += sizeof pkt->hdr;
	for (unsigned bit = 1; bit < 5; bit++) {
		if (!(pkt->hdr.flags & 1u << bit))
			continue;
		memcpy(at, &words[bit], sizeof(uint64_t));
		at += sizeof(uint64_t);
	}
	return (size_t)(at - (char *)buf);
}

void qv_wire_make_void(char *packet, uint32_t *len)
{
	struct qv_wire_hdr hdr;

	memcpy(&hdr, packet, sizeof hdr);
	hdr.op = QV_PKT_VOID;
	hdr.flags &= QV_WF_UID; /* its word is the first */
	hdr.arg = 0;
	memcpy(packet, &hdr, sizeof hdr);
	*len = (uint32_t)(sizeof hdr + (hdr.flags ? sizeof(uint64_t) : 0));
}

void qv_wire_readdress(char *packet, uint32_t id)
{
	struct qv_wire_hdr hdr;

	memcpy(&hdr, packet, sizeof hdr);
	if (hdr.flags & QV_WF_UID)
		return;
	hdr.src = id;
	memcpy(packet, &hdr, sizeof hdr);
}
