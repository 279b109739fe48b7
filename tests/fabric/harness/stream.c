/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - numbered messages between two ranks while something goes wrong. */
#include "stream.h"

enum { MULTI_BUFS = 2, MULTI_MESSAGES = 40 };

struct ft_slot { /* a send or a receive */
	struct ft_op op;
	struct ft_stream *s;
	char *buf;
	size_t number; /* of the message; of the receive */
	bool busy, cancelled;
};

static void told(int word)
{
	ft.sh->word[word + ft.rank] = 1;
}

static size_t slots(const struct ft_stream *s)
{
	return s->multi ? MULTI_BUFS : s->window;
}

static size_t room(const struct ft_stream *s)
{
	return s->multi ? s->len * MULTI_MESSAGES : s->len;
}

static void moved(struct ft_stream *s)
{
	s->moved = ft_now();
}

/* Sending. */

static uint64_t seed(int from, size_t i)
{
	return (uint64_t)i * 2 + (uint64_t)from;
}

static bool may_send(const struct ft_stream *s)
{
	if (!s->sends || s->next == s->n)
		return false;
	return !s->lockstep ||
	       (ft.rank < s->other ? s->received == s->next : s->received > s->next);
}

static void sent(struct ft_stream *s, size_t i, bool well)
{
	ft.sh->outcome[ft.rank][i] = well ? FT_SENT : FT_FAILED;
	s->sent += well;
	s->failed += !well;
	if (!well)
		told(FT_WORD_TOLD_TX);
	moved(s);
}

static void send_next(struct ft_stream *s, struct ft_slot *slot)
{
	uint64_t number = s->next;
	ssize_t ret;

	ft_fill(slot->buf + 8, s->len - 8, seed(ft.rank, s->next));
	memcpy(slot->buf, &number, 8);
	ft_fresh(&slot->op);
	if (s->multi)
		ret = fi_send(s->ep->ep, slot->buf, s->len, NULL, s->ep->peer[s->other], &slot->op);
	else
		ret = fi_tsend(s->ep->ep, slot->buf, s->len, NULL, s->ep->peer[s->other], number,
			       &slot->op);
	if (ret == -FI_EAGAIN)
		return;
	slot->number = s->next++;
	slot->busy = ret == 0;
	if (ret)
		sent(s, slot->number, false);
}

static void move_sends(struct ft_stream *s)
{
	for (size_t i = 0; s->sends && i < s->window; i++) {
		struct ft_slot *slot = &s->tx[i];

		if (slot->busy && slot->op.done) {
			slot->busy = false;
			sent(s, slot->number, slot->op.err == 0);
		}
		if (!slot->busy && may_send(s))
			send_next(s, slot);
	}
}

/* Receiving. */

static void take(struct ft_stream *s, const char *at, size_t len, uint64_t place, size_t guarded)
{
	uint64_t number;

	CHECK_EQ(len, s->len);
	memcpy(&number, at, 8);
	CHECK(number < s->n);
	if (s->place[number])
		ft_fail("message %llu came twice", (unsigned long long)number);
	ft_verify(at + 8, len - 8, seed(s->other, number), guarded - 8);
	s->place[number] = place + 1;
	s->received++;
	moved(s);
}

static void recv_failed(struct ft_stream *s, const struct ft_slot *slot)
{
	if (slot->cancelled && slot->op.err == FI_ECANCELED)
		return;
	s->recv_failed++;
	told(FT_WORD_TOLD_RX);
	moved(s);
}

/* Several messages end in one buffer. */
static void on_multi(struct ft_op *op)
{
	struct ft_slot *slot = (struct ft_slot *)(void *)op;
	struct ft_stream *s = slot->s;
	size_t offset;

	if (op->err) {
		recv_failed(s, slot);
		slot->busy = false;
		return;
	}
	if (op->flags & FI_RECV && !(op->flags & FI_MULTI_RECV && op->len == 0)) {
		offset = (size_t)((char *)op->buf - slot->buf);
		CHECK(offset + op->len <= room(s));
		take(s, op->buf, op->len, slot->number * room(s) + offset, op->len - FT_GUARD);
	}
	if (op->flags & FI_MULTI_RECV)
		slot->busy = false;
}

static void post(struct ft_stream *s, struct ft_slot *slot)
{
	struct iovec iov = {slot->buf, room(s)};
	struct fi_msg msg = {.msg_iov = &iov,
			     .iov_count = 1,
			     .addr = FI_ADDR_UNSPEC,
			     .context = ft_fresh(&slot->op)};
	ssize_t ret;

	ft_guard(slot->buf, room(s));
	slot->s = s;
	slot->cancelled = false;
	if (s->multi) {
		slot->op.on = on_multi;
		ret = fi_recvmsg(s->ep->ep, &msg, FI_MULTI_RECV | FI_COMPLETION);
	} else {
		ret = fi_trecv(s->ep->ep, slot->buf, s->len, NULL, ft_addr(s->ep, s->other), 0,
			       ~0ull, &slot->op);
	}
	if (ret == -FI_EAGAIN)
		return;
	slot->number = s->posted++;
	slot->busy = ret == 0;
	if (ret) {
		s->recv_failed++;
		told(FT_WORD_TOLD_RX);
	}
}

static void end_recv(struct ft_stream *s, struct ft_slot *slot)
{
	slot->busy = false;
	if (slot->op.err)
		recv_failed(s, slot);
	else
		take(s, slot->buf, slot->op.len, slot->number, room(s));
}

static void move_receives(struct ft_stream *s)
{
	size_t busy = 0;

	if (!s->receives || ft_now() - s->start < s->late)
		return;
	for (size_t i = 0; i < slots(s); i++) {
		if (s->rx[i].busy && s->rx[i].op.done && !s->multi)
			end_recv(s, &s->rx[i]);
		busy += s->rx[i].busy;
	}
	for (size_t i = 0; i < slots(s); i++) {
		if (!s->rx[i].busy && (s->multi || s->received + busy < s->n) &&
		    s->received < s->n && s->recv_failed < 2 * s->n) {
			post(s, &s->rx[i]);
			busy += s->rx[i].busy;
		}
	}
}

/* What was posted for messages that do not come. */
static void cancel_receives(struct ft_stream *s)
{
	double end = ft_now() + ft_ms(5000) * 1e-3;

	for (size_t i = 0; s->receives && i < slots(s); i++) {
		struct ft_slot *slot = &s->rx[i];

		if (!slot->busy)
			continue;
		slot->cancelled = true;
		fi_cancel(&s->ep->ep->fid, &slot->op);
		FT_HERE();
		while (slot->busy && !(slot->op.done && !s->multi)) {
			ft_progress();
			if (ft_now() > end)
				ft_fail("a cancelled receive does not end");
		}
		if (slot->busy)
			end_recv(s, slot);
	}
}

/* All of it. */

static bool anybody_told(const struct ft_stream *s)
{
	for (int w = FT_WORD_TOLD_TX; w <= FT_WORD_TOLD_RX; w += FT_WORD_TOLD_RX - FT_WORD_TOLD_TX)
		if (ft.sh->word[w + ft.rank] || ft.sh->word[w + s->other])
			return true;
	return false;
}

static bool sends_over(struct ft_stream *s)
{
	if (!s->sends)
		return true;
	for (size_t i = 0; i < s->window; i++)
		if (s->tx[i].busy)
			return false;
	return s->next == s->n || (s->lockstep && anybody_told(s));
}

/* With errors nobody knows how many come: none for a while is the end of them. */
static bool receives_over(struct ft_stream *s)
{
	double quiet = ft_now() - s->moved;

	if (!s->receives || s->received == s->n)
		return true;
	return ft.sh->word[FT_WORD_SENT + s->other] &&
	       quiet > (anybody_told(s) ? 1.5 : FT_STILL * ft.patience);
}

static void run(struct ft_stream *s)
{
	for (;;) {
		bool over;

		if (s->step)
			s->step(s, s->arg);
		move_sends(s);
		move_receives(s);
		ft_progress();
		over = sends_over(s);
		if (over)
			ft.sh->word[FT_WORD_SENT + ft.rank] = 1;
		if (over && receives_over(s))
			break;
		if (ft_now() - s->moved > (FT_STILL + 2) * ft.patience)
			ft_fail("nothing ends for %d s: %zu of %zu sends ended, %zu of them in "
				"an error; %zu came, %zu receives failed",
				FT_STILL, s->sent + s->failed, s->sends ? s->n : 0, s->failed,
				s->received, s->recv_failed);
	}
	cancel_receives(s);
}

static void allot(struct ft_stream *s, struct ft_slot **array, size_t n, size_t len)
{
	*array = calloc(n, sizeof(**array));
	CHECK(*array);
	for (size_t i = 0; i < n; i++)
		(*array)[i].buf = ft_buf(len);
	(void)s;
}

static void free_slots(struct ft_slot *array, size_t n)
{
	for (size_t i = 0; array && i < n; i++)
		free(array[i].buf);
	free(array);
}

bool ft_stream(struct ft_stream *s)
{
	bool clean;

	CHECK(s->len >= 8 && s->n <= FT_STREAM_MOST);
	s->next = s->sent = s->failed = s->posted = s->received = s->recv_failed = 0;
	s->tx = s->rx = NULL;
	s->place = calloc(s->n, sizeof(*s->place));
	CHECK(s->place);
	if (s->sends)
		allot(s, &s->tx, s->window, s->len);
	if (s->receives)
		allot(s, &s->rx, slots(s), room(s));
	if (s->multi)
		OK(fi_setopt(&s->ep->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &s->len,
			     sizeof(s->len)));
	ft.sh->word[FT_WORD_SENT + ft.rank] = 0;
	ft.sh->word[FT_WORD_TOLD_TX + ft.rank] = ft.sh->word[FT_WORD_TOLD_RX + ft.rank] = 0;
	for (size_t i = 0; i < s->n; i++)
		ft.sh->outcome[ft.rank][i] = FT_UNSENT;
	ft_barrier();
	s->start = s->moved = ft_now();
	run(s);
	ft_barrier();
	ft_stream_judge(s);
	ft_barrier();
	clean = !anybody_told(s);
	free_slots(s->tx, s->window);
	free_slots(s->rx, slots(s));
	free(s->place);
	ft_barrier(); /* the words are read */
	return clean;
}

void ft_stream_works(struct ft_ep *ep, int other)
{
	struct ft_stream s = {.ep = ep,
			      .other = other,
			      .n = 10,
			      .len = 8,
			      .window = 1,
			      .sends = true,
			      .receives = true,
			      .lockstep = true};

	for (int tries = 0; !ft_stream(&s); tries++) {
		if (tries == 10)
			ft_fail("nothing goes there and back any more");
		ft_progress_for(0.3);
	}
}
