/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h - packets as they travel between two endpoints.
 *
 * Every packet starts with struct qv_wire_hdr. The flags say which 8-byte words follow it, in the
 * order of their bits; then comes the body that the op defines. Little endian, as all hosts that we
 * run on; the magic number reads differently on others and is then refused.
 *
 *   op      arg       body
 *   HELLO   answer    struct qv_wire_hello, address bytes (answer: QV_HELLO_ASKS, or 0)
 *   EAGER   tag       payload; with TOTAL the rest follows in DATA packets
 *   DATA    offset    payload of the EAGER message that this sender has open
 *   RTS     tag       struct qv_wire_seg[0..4]: memory to read; none = the receiver sends CTS
 *   CTS     sreq      struct qv_wire_cts
 *   SEG     rreq      8-byte offset, payload
 *   FIN     sreq      8-byte status: the receiver is done with the send
 *   CREDIT  bytes     - (of the receiver's budget, that are free again)
 *   LEAVE   -         - (the sender closes: acknowledge this at once)
 *   STARVED -         - (messages wait here for credit)
 *   VOID    -         - (takes the number of a packet that nobody needs any more)
 *   PING    -         - (acknowledge what has come)
 *   ACK     again     - (QV_ACK_AGAIN: send all behind ack again)
 *   RESET   session   - (what you have sent me in this session of yours is given up; with
 *                     QV_RESET_LOST: messages that I have acknowledged as well; with
 *                     QV_RESET_ACKS: ack is of this session)
 *   ASK     call      struct qv_ask of engine/remote, operands: do this to your memory
 *   ANSWER  call      8-byte status, what was there before: it is done, or refused
 *   RAIL    -         address bytes of the sender on its second transport
 *   PIECE   rreq      8-byte offset, payload from the end of a message; over second transports
 *
 * The packets from EAGER to VOID in this table, and from ASK to RAIL, are numbered, from 1 in each
 * session. HELLO, PING, ACK and RESET are not, and bear the number of the last numbered packet before
 * them. PIECE neither has a number nor tells one.
 * A packet without a header (qv_xport.inject_tagged) has a number, too.
 */
#ifndef QV_WIRE_H
#define QV_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QV_WIRE_MAGIC   0x51 /* 'Q' */
#define QV_WIRE_VERSION 2

enum qv_wire_op {
	QV_PKT_HELLO = 1,
	QV_PKT_EAGER,
	QV_PKT_DATA,
	QV_PKT_RTS,
	QV_PKT_CTS,
	QV_PKT_SEG,
	QV_PKT_FIN,
	QV_PKT_CREDIT,
	QV_PKT_LEAVE,
	QV_PKT_STARVED,
	QV_PKT_VOID,
	QV_PKT_PING,
	QV_PKT_ACK,
	QV_PKT_RESET,
	QV_PKT_ASK,
	QV_PKT_ANSWER,
	QV_PKT_RAIL,
	QV_PKT_PIECE,
	QV_PKT_LAST = QV_PKT_PIECE,
};

/* Does the op take a number of its own? */
static inline bool qv_wire_numbered(uint8_t op)
{
	return (op >= QV_PKT_EAGER && op <= QV_PKT_VOID) || (op >= QV_PKT_ASK && op <= QV_PKT_RAIL);
}

#define QV_ACK_AGAIN  1u
#define QV_RESET_LOST (UINT64_C(1) << 32)
#define QV_RESET_ACKS (UINT64_C(1) << 33)
/* The sender has not heard yet that the receiver knows its session. */
#define QV_HELLO_ASKS 1u

#define QV_WF_TAGGED 0x01 /* fi_t*: the tagged engine */
#define QV_WF_UID    0x02 /* word: qv_wire_token of the sender, which does not know its id here */
#define QV_WF_DATA   0x04 /* word: completion data (FI_REMOTE_CQ_DATA) */
#define QV_WF_TOTAL  0x08 /* word: length of the whole message */
#define QV_WF_SREQ   0x10 /* word: send request that wants a FIN */
#define QV_WF_COLL   0x20 /* the engine of collectives; not with TAGGED */
#define QV_WF_ALL    0x3f

#define QV_SRC_UNKNOWN UINT32_MAX

struct qv_wire_hdr {
	uint8_t magic;
	uint8_t version;
	uint8_t op;    /* enum qv_wire_op */
	uint8_t flags; /* QV_WF_* */
	uint32_t src;  /* sender's id at the receiver, told in the receiver's HELLO */
	uint64_t arg;
	uint16_t seq; /* number of the packet, its low 16 bits */
	uint16_t ack; /* of the last packet that has come from the receiver of this one */
} __attribute__((packed, aligned(4)));
static_assert(sizeof(struct qv_wire_hdr) == 20, "wire header");

struct qv_wire_hello {
	uint64_t uid;    /* random name of this endpoint */
	uint64_t host;   /* which process ids are meant; 0 = unknown */
	uint64_t start;  /* start time of the process, with pid its identity */
	uint32_t budget; /* bytes that messages of the peer may take here while they wait */
	uint32_t pid;
	uint32_t id;         /* the id that the receiver of this HELLO puts into src */
	uint32_t packet_max; /* longest packet that this side receives */
	uint32_t session;    /* of the sender with this peer: grows with each new one, never 0 */
	uint32_t echo;       /* the receiver's session that it is paired with; 0: not known */
};
static_assert(sizeof(struct qv_wire_hello) == 48, "wire hello");

struct qv_wire_seg {
	uint64_t addr, key, len;
};
static_assert(sizeof(struct qv_wire_seg) == 24, "wire segment");

struct qv_wire_cts {
	uint64_t rreq; /* to be put into SEG packets */
	uint64_t want; /* bytes wanted: the message, or what the receive has room for */
};
static_assert(sizeof(struct qv_wire_cts) == 16, "wire cts");

/* Who speaks, and in which session, before it knows its id. */
static inline uint64_t qv_wire_token(uint64_t uid, uint32_t session)
{
	return uid ^ (uint64_t)session << 32;
}

/* What a message takes of the receiver's budget beside its payload. */
#define QV_WIRE_MESSAGE_COST 384u

#define QV_WIRE_MAX_SEGS 4u
#define QV_WIRE_MAX_NAME 512u
/* Longest header with all words; longest packet that is not payload. */
#define QV_WIRE_MAX_HDR  (sizeof(struct qv_wire_hdr) + 4 * sizeof(uint64_t))
#define QV_WIRE_MAX_BODY (sizeof(struct qv_wire_hello) + QV_WIRE_MAX_NAME)
#define QV_WIRE_MAX_CTL  (QV_WIRE_MAX_HDR + QV_WIRE_MAX_BODY)
/* Every endpoint receives packets of at least this size. */
#define QV_WIRE_MIN_PACKET 1024u
static_assert(QV_WIRE_MAX_CTL <= QV_WIRE_MIN_PACKET, "control packets fit every endpoint");

/* A packet taken apart. */
struct qv_wire_pkt {
	struct qv_wire_hdr hdr;
	uint64_t uid, data, total, sreq; /* 0 where the flag is not set */
	const char *body;
	size_t len; /* of the body */
};

/* Take apart a packet with this header and `len` bytes behind it. Returns NULL, or what is wrong
 * with it. */
const char *qv_wire_parse(const struct qv_wire_hdr *hdr, const void *rest, size_t len,
			  struct qv_wire_pkt *pkt);

/* Write header and words of pkt at `buf` (room for QV_WIRE_MAX_HDR); returns their length. */
size_t qv_wire_write(void *buf, const struct qv_wire_pkt *pkt);

/* The sender has another id by now: into a packet that bears one. */
void qv_wire_readdress(char *packet, uint32_t id);
/* Make a packet that was written one of type VOID, of the same sender: *len is its length. */
void qv_wire_make_void(char *packet, uint32_t *len);

#endif /* QV_WIRE_H */
