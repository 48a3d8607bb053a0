/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#include <string.h>

#include "kern/chrdev.h"
#include "kern/sched.h"

struct job {
	struct chrdev *in;
	struct chrdev *out;
	unsigned int left;	/* items to produce, or empty reads to endure */
	size_t bytes;
};

/* Copies numbers from the counter into the pipe, then naps. */
static unsigned int produce(struct task *self, void *arg)
{
	struct job *job = arg;
	char text[24];
	long n;

	if (job->left-- == 0)
		return 0;
	n = chrdev_read(job->in, text, sizeof(text));
	if (n < 0)
		return 0;
	job->bytes += (size_t)max(chrdev_write(job->out, text, (size_t)n), 0L);
	task_sleep(self, 3);
	return 2;
}

static unsigned int consume(struct task *self, void *arg)
{
	struct job *job = arg;
	char text[4];
	long n = chrdev_read(job->in, text, sizeof(text));

	if (n == -EAGAIN_K) {
		if (job->left-- == 0)
			return 0;
		task_sleep(self, 5);
		return 1;
	}
	job->bytes += (size_t)n;
	pr_info("%s: %.*s", self->name, (int)n, text);
	return 1;
}

int main(void)
{
	struct chrdev *count = chrdev_open("count");
	struct chrdev *pipe = chrdev_open("ring");
	struct job source = { count, pipe, 10, 0 };
	struct job sink = { pipe, NULL, 12, 0 };
	struct scheduler sched;
	unsigned int steps;

	if (IS_ERR(count) || IS_ERR(pipe)) {
		fprintf(stderr, "kdemo: devices are missing\n");
		return 1;
	}
	chrdev_ioctl(count, CHR_IOC_RESET, 100);
	sched_init(&sched);
	if (IS_ERR(task_spawn(&sched, "source", produce, &source)) ||
	    IS_ERR(task_spawn(&sched, "sink", consume, &sink)))
		return 1;
	steps = sched_run(&sched, 1000);
	pr_info("%u steps, %llu ticks, %zu bytes\n", steps,
		(unsigned long long)sched.clock, sink.bytes);

	sched_destroy(&sched);
	chrdev_close(pipe);
	chrdev_close(count);
	return sink.bytes == source.bytes && sink.bytes == 40 ? 0 : 1;
}
