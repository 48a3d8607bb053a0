/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#include "kern/sched.h"

static bool earlier(const struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct task, run)->vruntime <
	       rb_entry(b, struct task, run)->vruntime;
}

static void task_ctor(void *obj)
{
	struct task *t = obj;

	INIT_LIST_HEAD(&t->sleep);
	INIT_LIST_HEAD(&t->hash);
}

void sched_init(struct scheduler *s)
{
	*s = (struct scheduler){ .runqueue = RB_ROOT, .next_pid = 1 };
	INIT_LIST_HEAD(&s->sleepers);
	hash_init(s->pids);
	SLAB_CACHE_INIT(&s->tasks, task, task_ctor);
}

void sched_destroy(struct scheduler *s)
{
	slab_cache_destroy(&s->tasks);
}

static void enqueue(struct scheduler *s, struct task *t)
{
	/* A task that was away must not monopolise the queue afterwards. */
	t->vruntime = max(t->vruntime, s->min_vruntime);
	t->state = TASK_RUNNING;
	rb_insert(&s->runqueue, &t->run, earlier);
}

static struct task *pick_next(struct scheduler *s)
{
	struct rb_node *first = rb_first(&s->runqueue);
	struct task *t;

	if (!first)
		return NULL;
	rb_erase(&s->runqueue, first);
	t = rb_entry(first, struct task, run);
	s->min_vruntime = max(s->min_vruntime, t->vruntime);
	return t;
}

struct task *task_spawn(struct scheduler *s, const char *name, task_fn fn, void *arg)
{
	struct task *t;

	if (!fn)
		return ERR_PTR(-EINVAL_K);
	t = slab_alloc(&s->tasks);
	if (!t)
		return ERR_PTR(-ENOMEM_K);
	t->pid = s->next_pid++;
	t->name = name;
	t->fn = fn;
	t->arg = arg;
	t->sched = s;
	hash_add(s->pids, &t->hash, t->pid);
	s->nr_tasks++;
	enqueue(s, t);
	return t;
}

struct task *task_find(struct scheduler *s, pid_k pid)
{
	struct task *t;

	hash_for_each_possible(s->pids, t, hash, pid)
		if (t->pid == pid)
			return t;
	return NULL;
}

void task_sleep(struct task *t, uint64_t ticks)
{
	t->state = TASK_SLEEPING;
	t->wake_at = t->sched->clock + ticks;
}

static void task_reap(struct scheduler *s, struct task *t)
{
	pr_debug("%s[%u] done after %llu steps\n", t->name, t->pid,
		 (unsigned long long)t->steps);
	t->state = TASK_DEAD;
	hash_del(&t->hash);
	s->nr_tasks--;
	slab_free(&s->tasks, t);
}

static void wake_expired(struct scheduler *s)
{
	struct task *t, *n;

	list_for_each_entry_safe(t, n, &s->sleepers, sleep) {
		if (t->wake_at > s->clock)
			continue;
		list_del_init(&t->sleep);
		enqueue(s, t);
	}
}

/* With nobody runnable, jump straight to the next wake-up. */
static bool idle_until_wake(struct scheduler *s)
{
	uint64_t next = UINT64_MAX;
	struct task *t;

	list_for_each_entry(t, &s->sleepers, sleep)
		next = min(next, t->wake_at);
	if (next == UINT64_MAX)
		return false;
	s->clock = max(s->clock, next);
	wake_expired(s);
	return true;
}

static void run_one(struct scheduler *s, struct task *t)
{
	unsigned int ticks = t->fn(t, t->arg);

	t->steps++;
	s->clock += ticks;
	t->vruntime += ticks;
	if (ticks == 0)
		task_reap(s, t);
	else if (t->state == TASK_SLEEPING)
		list_add_tail(&t->sleep, &s->sleepers);
	else
		enqueue(s, t);
}

unsigned int sched_run(struct scheduler *s, unsigned int max_steps)
{
	unsigned int steps = 0;

	while (steps < max_steps) {
		struct task *t = pick_next(s);

		if (!t) {
			if (!idle_until_wake(s))
				break;
			continue;
		}
		run_one(s, t);
		steps++;
		wake_expired(s);
	}
	return steps;
}
