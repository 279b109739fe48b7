// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_cam_rtl.cpp - the match unit as Verilator has compiled it, with the host's list behind it,
 * against one plain list.
 *
 *     test_cam_rtl random N SEED    N random commands (times QV_TEST_SCALE)
 *     test_cam_rtl corpus FILE      the batches of the vector corpus that have its kind of keys
 * Compiled for one DEPTH, ENTRY_MASK, QUERY_MASK and PIPELINED of the unit.
 */
#include "Vqv_cam.h"
#include "tests/offload/vectors.h"
#include "verilated.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <vector>

#define LATENCY (QV_RTL_PIPELINED ? 3 : 2)
#define MISS    (-1)

namespace
{
struct entry {
	qv_offload_key key;
	long number; /* of the command that brought it */
	uint16_t id;
};

struct search {
	qv_offload_key key;
	long number;
	int expected; /* id, or MISS */
	unsigned due; /* in so many cycles */
};

struct counts {
	long commands, cycles, offered, taken, full, overflowed, refilled, hits, beyond, wrong;
} count;

bool accepts(const qv_offload_key &e, const qv_offload_key &q)
{
	return ((e.tag ^ q.tag) & ~(e.ignore | q.ignore)) == 0 &&
	       (e.src == q.src || e.src == QV_SRC_ANY || q.src == QV_SRC_ANY);
}

/* Take the first that accepts; only entries older than `before`. */
int take(std::list<entry> &list, const qv_offload_key &key, long before)
{
	for (auto it = list.begin(); it != list.end() && it->number < before; ++it)
		if (accepts(it->key, key)) {
			const int id = it->id;

			list.erase(it);
			return id;
		}
	return MISS;
}

void wrong(const char *what, long got, long expected)
{
	if (count.wrong++ < 10)
		std::fprintf(stderr, "wrong: cycle %ld: %s is %ld, not %ld\n", count.cycles, what,
			     got, expected);
}

/* The unit, and the host that has what does not fit. */
class machine
{
	VerilatedContext context;
	Vqv_cam unit;
	std::list<entry> all;  /* the definition: every entry, oldest first */
	std::list<entry> host; /* younger than all in the unit */
	std::deque<search> under_way;
	size_t inside = 0; /* entries in the unit, with those that searches under way will take */
	long next = 0;

	void put(const qv_offload_key &k)
	{
		unit.tag = k.tag;
		unit.care = ~k.ignore;
		unit.src = k.src;
		unit.any_src = k.src == QV_SRC_ANY;
	}

	/* One cycle: true if the command was taken. */
	bool cycle(bool valid, bool is_search)
	{
		unit.valid = valid;
		unit.search = is_search;
		unit.clk = 0;
		unit.eval();
		const bool taken = valid && unit.ready;
		count.offered += valid && !(unit.full && !is_search);
		count.taken += taken;
		if (!unit.full && !unit.ready)
			wrong("ready while not full", 0, 1);
		unit.clk = 1;
		unit.eval();
		count.cycles++;
		return taken;
	}

	void answers()
	{
		for (search &s : under_way)
			s.due--;
		const bool due = !under_way.empty() && !under_way.front().due;
		if (unit.answer != due)
			wrong("an answer", unit.answer, due);
		if (!due)
			return;
		const search s = under_way.front();
		under_way.pop_front();
		int id = unit.hit ? unit.hit_id : MISS;
		if (unit.hit)
			inside--;
		else if ((id = take(host, s.key, s.number)) != MISS)
			count.beyond++;
		if (id != s.expected)
			wrong("the entry", id, s.expected);
		count.hits += id != MISS;
	}

      public:
	machine() : unit{&context}
	{
		unit.reset = 1;
		for (int i = 0; i < 4; i++)
			cycle(false, true);
		unit.reset = 0;
	}

	bool is_full()
	{
		return unit.full;
	}

	void idle()
	{
		/* What is on the wires does not matter then. */
		cycle(false, count.cycles % 2);
		answers();
	}

	/* An entry: to the unit, or to the host behind others and where there is no room. */
	void append(const qv_offload_key &k)
	{
		const entry e = {k, next++, static_cast<uint16_t>(next)};

		all.push_back(e);
		count.commands++;
		put(k);
		unit.id = e.id;
		if (host.empty() && cycle(true, false)) {
			inside++;
		} else {
			if (!host.empty())
				cycle(false, false);
			host.push_back(e);
			count.overflowed++;
		}
		answers();
	}

	/* Offered while there is no room: not taken, and nothing happens. */
	void append_in_vain(const qv_offload_key &k)
	{
		put(k);
		unit.id = 0xdead;
		count.full++;
		if (cycle(true, false))
			wrong("taken while full", 1, 0);
		answers();
	}

	/* The oldest of the host's into the unit; not while searches have yet to go on
	 * in the list. */
	void refill()
	{
		if (host.empty() || !under_way.empty() || unit.full)
			return;
		put(host.front().key);
		unit.id = host.front().id;
		if (!cycle(true, false))
			wrong("taken", 0, 1);
		host.pop_front();
		inside++;
		count.refilled++;
		answers();
	}

	void find(const qv_offload_key &k)
	{
		search s = {k, next++, MISS, LATENCY};

		s.expected = take(all, k, s.number);
		count.commands++;
		put(k);
		if (!cycle(true, true))
			wrong("a search taken", 0, 1);
		under_way.push_back(s);
		answers();
	}

	void drain()
	{
		while (!under_way.empty())
			idle();
		if (inside + host.size() != all.size())
			wrong("entries left", static_cast<long>(inside + host.size()),
			      static_cast<long>(all.size()));
	}

	/* Empty it. */
	void clear()
	{
		const qv_offload_key none = {0, 0, 0, 0};

		drain();
		unit.reset = 1;
		put(none);
		cycle(false, false);
		unit.reset = 0;
		all.clear();
		host.clear();
		inside = 0;
		for (int i = 0; i < LATENCY; i++)
			idle();
	}
};

/* Few tags, at both ends of the word, so that most searches find something. */
qv_offload_key draw(struct qv_vec_rnd *rnd, bool wild)
{
	const uint64_t r = qv_vec_random(rnd);
	qv_offload_key k = {(r & 1) << 63 | (r >> 1 & 3) << 30 | (r >> 3) % 3, 0,
			    static_cast<uint32_t>((r >> 8) % 3) * 0x55555555u, 0};

	if (!wild)
		return k;
	switch (r >> 16 & 15) {
	case 0:
	case 1: k.ignore = 3; break;
	case 2: k.ignore = UINT64_MAX; break;
	case 3: k.ignore = qv_vec_random(rnd); break;
	}
	if ((r >> 20 & 3) == 0)
		k.src = QV_SRC_ANY;
	return k;
}

void random_commands(long total, uint64_t seed)
{
	struct qv_vec_rnd rnd = {seed};
	machine m;
	unsigned appends = 50; /* per cent; changes, so that it runs full and empty */

	while (count.commands < total && count.wrong < 10) {
		const uint64_t r = qv_vec_random(&rnd);

		if (r % 101 == 0)
			appends = 30 + static_cast<unsigned>(r >> 8) % 45;
		if (r % 13 == 0)
			m.idle();
		else if ((r >> 16) % 100 >= appends)
			m.find(draw(&rnd, QV_RTL_QUERY_MASK));
		else if ((r >> 24) % 3 == 0)
			m.refill();
		else if (m.is_full() && (r >> 32) % 2)
			m.append_in_vain(draw(&rnd, QV_RTL_ENTRY_MASK));
		else
			m.append(draw(&rnd, QV_RTL_ENTRY_MASK));
		if (r % 50021 == 7)
			m.clear();
	}
	m.drain();
}

bool has_masks(const qv_offload_key *k, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (k[i].ignore || k[i].src == QV_SRC_ANY)
			return true;
	return false;
}

void corpus(const char *file)
{
	struct qv_vectors all;
	struct qv_vec_match v;
	long batches = 0;
	machine m;

	if (qv_vec_open(&all, file))
		std::exit(1);
	while (qv_vec_next_match(&all, &v)) {
		if ((!QV_RTL_ENTRY_MASK && has_masks(v.entries, v.n)) ||
		    (!QV_RTL_QUERY_MASK && has_masks(v.queries, v.m)))
			continue;
		for (uint32_t i = 0; i < v.n; i++)
			m.append(v.entries[i]);
		for (uint32_t i = 0; i < v.m; i++)
			m.find(v.queries[i]);
		m.clear();
		batches++;
	}
	qv_vec_close(&all);
	std::printf("%ld batches of the corpus\n", batches);
	if (!batches)
		wrong("batches", 0, 1);
}
} // namespace

int main(int argc, char **argv)
{
	const char *scale = std::getenv("QV_TEST_SCALE");

	if (argc == 3 && !std::strcmp(argv[1], "corpus"))
		corpus(argv[2]);
	else if (argc == 4)
		random_commands(
			static_cast<long>(std::atof(argv[2]) * (scale ? std::atof(scale) : 1)),
			std::strtoull(argv[3], nullptr, 10));
	else
		return 2;
	std::printf(
		"cam: depth %d, %ld commands in %ld cycles, %ld found, %ld of them in the host's "
		"list, %ld entries beyond the unit, %ld moved into it, %ld offers while full; %ld of "
		"%ld commands taken at once while not full: %ld wrong\n",
		QV_RTL_DEPTH, count.commands, count.cycles, count.hits, count.beyond,
		count.overflowed, count.refilled, count.full, count.taken, count.offered,
		count.wrong);
	return count.wrong || count.taken != count.offered || !count.hits || !count.beyond;
}
