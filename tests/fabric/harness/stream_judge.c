/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_judge.c - what became of the messages of a stream: the rule of stream.h. */
#include "stream.h"

/* Is the receiver, who misses something, told by the next send? */
static bool learns(struct ft_stream *s)
{
	uint64_t word = 0;
	struct ft_op op;
	double end = ft_now() + ft_ms(6000) * 1e-3;
	ssize_t ret;

	FT_HERE();
	do {
		ret = fi_tsend(s->ep->ep, &word, 8, NULL, s->ep->peer[s->other], ~0ull,
			       ft_fresh(&op));
		ft_progress();
	} while (ret == -FI_EAGAIN && ft_now() < end);
	while (!ret && !op.done && ft_now() < end)
		ft_progress();
	return ret ? ret != -FI_EAGAIN : op.done && op.err;
}

void ft_stream_judge(struct ft_stream *s)
{
	_Atomic uint8_t *outcome = ft.sh->outcome[s->other];
	size_t lost = 0, failed = 0, first = 0;
	uint64_t last = 0;

	for (size_t i = 0; s->receives && i < s->n; i++) {
		if (s->place[i]) {
			if (s->place[i] < last)
				ft_fail("message %zu came before one that was sent earlier", i);
			last = s->place[i];
			continue;
		}
		if (outcome[i] == FT_SENT && s->delivery)
			ft_fail("message %zu was delivered, says its sender, and never came", i);
		if (outcome[i] == FT_SENT && !lost++)
			first = i;
		failed += outcome[i] == FT_FAILED;
	}
	if (lost && !ft.sh->word[FT_WORD_TOLD_TX + s->other])
		ft_fail("%zu of %zu messages of %zu B lost without a word to the sender, the first "
			"is %zu",
			lost, s->n, s->len, first);
	if (lost + failed && !ft.sh->word[FT_WORD_TOLD_RX + ft.rank] && !learns(s))
		ft_fail("%zu of %zu messages of %zu B do not come, %zu of them failed: the receiver "
			"is not told",
			lost + failed, s->n, s->len, failed);
}
