/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#include "check.h"
#include "kern/sched.h"

struct meter {
	unsigned int used;
};

static unsigned int burn(struct task *self, void *arg)
{
	struct meter *m = arg;

	(void)self;
	m->used++;
	return 1;
}

static unsigned int doze(struct task *self, void *arg)
{
	(void)arg;
	task_sleep(self, 1000000);
	return 1;
}

static unsigned int try_suicide(struct task *self, void *arg)
{
	int *err = arg;

	*err = task_kill(self->sched, self->pid);
	return 0;
}

static void test_shares(void)
{
	struct meter urgent = { 0 }, normal = { 0 }, idle = { 0 };
	struct scheduler s;

	sched_init(&s);
	CHECK(task_set_nice(task_spawn(&s, "urgent", burn, &urgent), -5) == 0);
	CHECK(task_set_nice(task_spawn(&s, "idle", burn, &idle), 5) == 0);
	CHECK(task_set_nice(task_spawn(&s, "normal", burn, &normal), 6) == -EINVAL_K);
	sched_run(&s, 4480);

	/* Weights 3121 : 1024 : 335 out of 4480. */
	CHECK(urgent.used > 3100 && urgent.used < 3140);
	CHECK(normal.used > 1010 && normal.used < 1040);
	CHECK(idle.used > 325 && idle.used < 345);
	sched_destroy(&s);
}

static void test_kill(void)
{
	struct meter m = { 0 };
	struct scheduler s;
	struct task *sleeper, *runner;
	int err = 0;

	sched_init(&s);
	sleeper = task_spawn(&s, "sleeper", doze, NULL);
	runner = task_spawn(&s, "runner", burn, &m);
	task_spawn(&s, "self", try_suicide, &err);
	sched_run(&s, 10);
	CHECK(err == -EBUSY_K);
	CHECK(task_kill(&s, sleeper->pid) == 0);
	CHECK(task_kill(&s, runner->pid) == 0);
	CHECK(task_kill(&s, 99) == -ENOENT_K);
	CHECK(s.nr_tasks == 0 && sched_run(&s, 10) == 0);
	sched_destroy(&s);
}

static void test_shrink(void)
{
	struct slab_cache cache;
	void *obj[200];

	SLAB_CACHE_INIT(&cache, task, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(obj); i++)
		obj[i] = slab_alloc(&cache);
	CHECK(cache.nr_slabs > 2 && cache.nr_empty == 0);
	for (size_t i = 0; i < ARRAY_SIZE(obj); i++)
		slab_free(&cache, obj[i]);
	CHECK(cache.nr_slabs == 1 && cache.nr_empty == 1);
	CHECK(slab_cache_shrink(&cache) == 1);
	CHECK(cache.nr_slabs == 0 && cache.nr_empty == 0);
	slab_cache_destroy(&cache);
}

int main(void)
{
	test_shares();
	test_kill();
	test_shrink();
	return check_failures != 0;
}
