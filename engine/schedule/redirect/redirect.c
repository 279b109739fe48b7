/* SPDX-License-Identifier: BSD-2-Clause */
/* redirect.c - Local Redirect: what a rank answers in which state. */
#include <quiver/redirect.h>

#include <stddef.h>

struct answer {
	struct qv_redirect_out *out;
	unsigned int n;
};

static void say(struct answer *a, enum qv_redirect_kind kind, uint32_t to, uint32_t value)
{
	if (to != QV_PLACE_NONE)
		a->out[a->n++] = (struct qv_redirect_out){kind, to, value};
}

unsigned int qv_redirect_start(struct qv_redirect *r, enum qv_redirect_variant variant,
			       uint32_t place, uint32_t places,
			       struct qv_redirect_out out[QV_REDIRECT_MOST])
{
	struct answer a = {out, 0};

	*r = (struct qv_redirect){
		.variant = variant,
		.state = places == 1 ? QV_REDIRECT_OVER : QV_REDIRECT_ASKING,
		.place = place,
		.left = place ? place - 1 : QV_PLACE_NONE,
		.right = place + 1 < places ? place + 1 : QV_PLACE_NONE,
		.to_root = places - 1 - place,
	};
	say(&a, QV_REDIRECT_DONE, r->right, QV_PLACE_NONE);
	return a.n;
}

/* Rather than send it would receive: its left neighbour is about to, and they are a pair of the
 * tree over places that begins at the root. */
static int defers(const struct qv_redirect *r)
{
	return r->variant == QV_REDIRECT_EXTENDED && r->said_ok &&
	       (r->merges >= 32 || !(r->to_root >> r->merges & 1));
}

int qv_redirect_accepts(const struct qv_redirect *r, uint32_t from, enum qv_redirect_kind kind)
{
	const int from_left = from == r->left, from_right = from == r->right;

	switch (r->state) {
	case QV_REDIRECT_ASKING:
		if (from_right && kind == QV_REDIRECT_OK)
			return !defers(r);
		return (from_left && (kind == QV_REDIRECT_DONE || kind == QV_REDIRECT_ACK)) ||
		       (from_right && kind == QV_REDIRECT_PAST);
	case QV_REDIRECT_HOLDING:
		return from_right && (kind == QV_REDIRECT_SEND || kind == QV_REDIRECT_PAST);
	case QV_REDIRECT_RECEIVING: return from_left && kind == QV_REDIRECT_DATA;
	case QV_REDIRECT_LEAVING: return from_left;
	default: return 0;
	}
}

/* The right neighbour has gone. */
static void go_past(struct qv_redirect *r, struct answer *a, uint32_t next)
{
	const uint32_t gone = r->right;

	r->right = next;
	r->state = QV_REDIRECT_ASKING;
	say(a, QV_REDIRECT_DONE, r->variant == QV_REDIRECT_PRINTED ? gone : next, QV_PLACE_NONE);
}

static void take_asking(struct qv_redirect *r, struct answer *a, enum qv_redirect_kind kind,
			uint32_t value)
{
	switch (kind) {
	case QV_REDIRECT_DONE:
		r->said_ok = 1;
		say(a, QV_REDIRECT_OK, r->left, QV_PLACE_NONE);
		return;
	case QV_REDIRECT_ACK:
		r->state = QV_REDIRECT_RECEIVING;
		say(a, QV_REDIRECT_SEND, r->left, QV_PLACE_NONE);
		return;
	case QV_REDIRECT_OK:
		r->state = QV_REDIRECT_HOLDING;
		say(a, QV_REDIRECT_ACK, r->right, QV_PLACE_NONE);
		return;
	default: go_past(r, a, value); return;
	}
}

/* After sending: the left neighbour has to be told, as soon as it says something. */
static void leave(struct qv_redirect *r)
{
	r->state = r->left == QV_PLACE_NONE ? QV_REDIRECT_OVER : QV_REDIRECT_LEAVING;
}

unsigned int qv_redirect_take(struct qv_redirect *r, uint32_t from, enum qv_redirect_kind kind,
			      uint32_t value, struct qv_redirect_out out[QV_REDIRECT_MOST])
{
	struct answer a = {out, 0};

	switch (r->state) {
	case QV_REDIRECT_ASKING: take_asking(r, &a, kind, value); break;
	case QV_REDIRECT_HOLDING:
		if (kind == QV_REDIRECT_PAST) {
			go_past(r, &a, value);
			break;
		}
		say(&a, QV_REDIRECT_DATA, r->right, r->left);
		leave(r);
		break;
	case QV_REDIRECT_RECEIVING:
		r->left = value;
		r->said_ok = 0;
		r->merges++;
		r->state = r->left == QV_PLACE_NONE && r->right == QV_PLACE_NONE
				   ? QV_REDIRECT_OVER
				   : QV_REDIRECT_ASKING;
		break;
	case QV_REDIRECT_LEAVING:
		say(&a, QV_REDIRECT_PAST, from, r->right);
		r->state = QV_REDIRECT_OVER;
		break;
	default: break;
	}
	return a.n;
}
