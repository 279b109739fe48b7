/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fiber.c - fi_close waits for the peers' answers, which are simulated in the same thread: it
 * runs on a stack of its own, and the core under it lets the world go on at each look.
 */
#include "sf.h"

#include <stdlib.h>
#include <ucontext.h>

#define STACK ((size_t)256 << 10)

struct sf_fiber {
	ucontext_t here, back;
	void (*run)(void *arg);
	void *arg;
	struct sf_proc *self;
	bool ended;
	char *stack;
};

static struct sf_fiber *current;

static void enter(void)
{
	struct sf_fiber *f = current;

	f->run(f->arg);
	f->ended = true;
	swapcontext(&f->here, &f->back);
}

struct sf_fiber *sf_fiber_new(void (*run)(void *arg), void *arg)
{
	struct sf_fiber *f = sf_alloc(sizeof *f);

	f->run = run;
	f->arg = arg;
	f->self = sf.self;
	f->stack = sf_alloc(STACK);
	getcontext(&f->here);
	f->here.uc_stack.ss_sp = f->stack;
	f->here.uc_stack.ss_size = STACK;
	makecontext(&f->here, enter, 0);
	return f;
}

bool sf_fiber_resume(struct sf_fiber *f)
{
	struct sf_proc *self = sf.self;

	current = f;
	sf.self = f->self;
	swapcontext(&f->back, &f->here);
	sf.self = self;
	current = NULL;
	return f->ended;
}

void sf_fiber_wait(void)
{
	struct sf_fiber *f = current;

	if (f)
		swapcontext(&f->here, &f->back);
}

void sf_fiber_free(struct sf_fiber *f)
{
	if (!f)
		return;
	sf_free(f->stack);
	sf_free(f);
}
