/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_hls_sim.h - hls::stream and dataflow stages in plain C++14.
 *
 * Two ways to run a flow. In turn: each stage runs to its end before the next begins, and streams
 * hold what they are given; quick, and blind for streams that are too short. Bounded: each stage is
 * a thread and a stream holds what its hardware would, so that a flow which would stand still in
 * hardware stands still here: as soon as every stage that has not ended waits for another, that is
 * known for certain, without a clock. Then all stages end, and qv_sim::stuck() counts one.
 */
#ifndef QV_HLS_SIM_H
#define QV_HLS_SIM_H

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace qv_sim
{
/* What all flows and streams of the program share: simulations run one at a time. */
struct state {
	std::mutex lock;
	std::condition_variable changed;
	bool bounded = false;   /* how flows run */
	bool dead = false;      /* the running flow stands still */
	unsigned live = 0;      /* stages that have not ended */
	unsigned waiting = 0;   /* of these, have found no way on since the last change */
	unsigned long turn = 0; /* counts changes */
	unsigned long stuck = 0;
	bool say = true; /* a line on stderr for each */
};

inline state &shared()
{
	static state s;

	return s;
}

/* How flows run from now on. */
inline void set_bounded(bool bounded, bool say = true)
{
	shared().bounded = bounded;
	shared().say = say;
}

/* How many flows have stood still. */
inline unsigned long stuck()
{
	return shared().stuck;
}

/* Thrown in a stage that can never go on. */
struct never {
};

inline void stand_still(state &s, const char *why)
{
	s.dead = true;
	s.stuck++;
	if (s.say)
		std::fprintf(stderr, "a flow stands still: %s\n", why);
	s.changed.notify_all();
}

/* Something has changed that others may wait for. */
inline void moved(state &s)
{
	if (!s.waiting)
		return;
	s.waiting = 0;
	s.turn++;
	s.changed.notify_all();
}

/* Wait, in a stage that is a thread, until ready(). */
template <class F>
void wait_until(state &s, std::unique_lock<std::mutex> &held, const char *why, F ready)
{
	while (!s.dead && !ready()) {
		const unsigned long turn = s.turn;

		if (++s.waiting == s.live)
			stand_still(s, why);
		else
			s.changed.wait(held, [&] { return s.dead || s.turn != turn; });
	}
	if (s.dead)
		throw never();
}

class flow
{
	std::vector<std::thread> threads;
	std::vector<std::function<void()>> stages;

	static void in_turn(const std::function<void()> &stage)
	{
		try {
			stage();
		} catch (const never &) {
		}
	}

	static void as_thread(const std::function<void()> &stage)
	{
		state &s = shared();

		in_turn(stage);
		std::unique_lock<std::mutex> held(s.lock);
		if (--s.live && s.waiting == s.live && !s.dead)
			stand_still(s, "a stage has ended that others wait for");
	}

      public:
	flow()
	{
		shared().dead = false;
	}

	flow(const flow &) = delete;
	flow &operator=(const flow &) = delete;

	/* Bounded stages start together, when all are known. */
	void run(std::function<void()> stage)
	{
		if (shared().bounded)
			stages.push_back(std::move(stage));
		else
			in_turn(stage);
	}

	~flow()
	{
		shared().live = static_cast<unsigned>(stages.size());
		shared().waiting = 0;
		for (const auto &stage : stages)
			threads.emplace_back([&stage] { as_thread(stage); });
		for (auto &thread : threads)
			thread.join();
	}
};
} // namespace qv_sim

namespace hls
{
/* DEPTH 0: the two elements that hardware has if nothing is said. */
template <class T, int DEPTH = 0> class stream
{
	std::deque<T> held;

	T take()
	{
		T value = held.front();

		held.pop_front();
		return value;
	}

      public:
	stream() = default;
	stream(const stream &) = delete;
	stream &operator=(const stream &) = delete;

	T read()
	{
		qv_sim::state &s = qv_sim::shared();

		if (!s.bounded) {
			if (held.empty()) {
				qv_sim::stand_still(s, "a stage reads what nobody has written");
				throw qv_sim::never();
			}
			return take();
		}
		std::unique_lock<std::mutex> lock(s.lock);
		qv_sim::wait_until(s, lock, "nothing comes any more",
				   [&] { return !held.empty(); });
		qv_sim::moved(s);
		return take();
	}

	void write(const T &value)
	{
		qv_sim::state &s = qv_sim::shared();

		if (!s.bounded) {
			held.push_back(value);
			return;
		}
		std::unique_lock<std::mutex> lock(s.lock);
		qv_sim::wait_until(s, lock, "a stream is full that nobody reads", [&] {
			return held.size() < static_cast<size_t>(DEPTH ? DEPTH : 2);
		});
		held.push_back(value);
		qv_sim::moved(s);
	}
};
} // namespace hls

#endif /* QV_HLS_SIM_H */
