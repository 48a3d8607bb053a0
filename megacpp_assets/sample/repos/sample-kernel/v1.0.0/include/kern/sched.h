/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#ifndef KERN_SCHED_H
#define KERN_SCHED_H

#include "kern/hashtable.h"
#include "kern/rbtree.h"
#include "kern/slab.h"

typedef uint32_t pid_k;

enum task_state { TASK_RUNNING, TASK_SLEEPING, TASK_DEAD };

struct task;

/* One step of work. Returns the ticks it took; 0 ends the task. */
typedef unsigned int (*task_fn)(struct task *self, void *arg);

struct task {
	pid_k pid;
	enum task_state state;
	const char *name;
	task_fn fn;
	void *arg;
	uint64_t vruntime;
	uint64_t wake_at;
	uint64_t steps;
	struct rb_node run;
	struct list_head sleep;
	struct list_head hash;
	struct scheduler *sched;
};

#define PID_HASH_ORDER 5

struct scheduler {
	struct rb_root runqueue;
	struct list_head sleepers;
	DECLARE_HASHTABLE(pids, PID_HASH_ORDER);
	struct slab_cache tasks;
	uint64_t clock;
	uint64_t min_vruntime;
	pid_k next_pid;
	unsigned int nr_tasks;
};

void sched_init(struct scheduler *s);
void sched_destroy(struct scheduler *s);

/* New runnable task, or an ERR_PTR. */
struct task *task_spawn(struct scheduler *s, const char *name, task_fn fn, void *arg);
struct task *task_find(struct scheduler *s, pid_k pid);

/* For use from inside a task function: stay off the queue for @ticks. */
void task_sleep(struct task *t, uint64_t ticks);

/* Runs until every task ended or @max_steps were taken; returns the steps. */
unsigned int sched_run(struct scheduler *s, unsigned int max_steps);

#endif /* KERN_SCHED_H */
