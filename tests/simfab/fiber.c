/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fiber.c - fi_close waits for the peers' answers, which are simulated in the same thread: it
 * runs on a stack of its own, and the core under it lets the world go on at each look.
 */
#include "sf.h"

#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>

#define STACK ((size_t)256 << 10)

struct side {
	ucontext_t context;
	jmp_buf jump;
	bool begun;
};

struct sf_fiber {
	struct side here, back;
	void (*run)(void *arg);
	void *arg;
	struct sf_proc *self;
	bool ended;
	char *stack;
};

static struct sf_fiber *current;

/*
 * swapcontext(3) asks the kernel for the mask of signals each time, half the time of a run that
 * closes much. So it only begins a fiber; AddressSanitizer follows nothing else.
 */
static void go_over(struct side *from, struct side *to)
{
#ifndef __SANITIZE_ADDRESS__
	if (_setjmp(from->jump))
		return;
	from->begun = true;
	if (to->begun)
		_longjmp(to->jump, 1);
	to->begun = true;
#endif
	swapcontext(&from->context, &to->context);
}

static void enter(void)
{
	struct sf_fiber *f = current;

	f->run(f->arg);
	f->ended = true;
	go_over(&f->here, &f->back);
}

struct sf_fiber *sf_fiber_new(void (*run)(void *arg), void *arg)
{
	struct sf_fiber *f = sf_alloc(sizeof *f);

	f->run = run;
	f->arg = arg;
	f->self = sf.self;
	f->stack = sf_grow(NULL, STACK);
	getcontext(&f->here.context);
	f->here.context.uc_stack.ss_sp = f->stack;
	f->here.context.uc_stack.ss_size = STACK;
	makecontext(&f->here.context, enter, 0);
	return f;
}

bool sf_fiber_resume(struct sf_fiber *f)
{
	struct sf_proc *self = sf.self;

	current = f;
	sf.self = f->self;
	go_over(&f->back, &f->here);
	sf.self = self;
	current = NULL;
	return f->ended;
}

void sf_fiber_wait(void)
{
	struct sf_fiber *f = current;

	if (f)
		go_over(&f->here, &f->back);
}

void sf_fiber_free(struct sf_fiber *f)
{
	if (!f)
		return;
	sf_free(f->stack);
	sf_free(f);
}
