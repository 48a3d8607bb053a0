/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

/* Reading yields a decimal sequence number; each read advances it. */

#include <string.h>

#include "kern/chrdev.h"

struct counter {
	unsigned long next;
};

static struct counter counter_state;

static long count_read(struct chrdev *dev, void *buf, size_t len)
{
	struct counter *c = dev->priv;
	char text[24];
	int n = snprintf(text, sizeof(text), "%lu\n", c->next);

	if ((size_t)n > len)
		return -EINVAL_K;
	memcpy(buf, text, (size_t)n);
	c->next++;
	return n;
}

static long count_ioctl(struct chrdev *dev, unsigned int cmd, uintptr_t arg)
{
	struct counter *c = dev->priv;

	if (cmd != CHR_IOC_RESET)
		return -EINVAL_K;
	c->next = arg;
	return 0;
}

static const struct chrdev_ops count_ops = {
	.read = count_read,
	.ioctl = count_ioctl,
};

static struct chrdev count_dev = {
	.name = "count",
	.ops = &count_ops,
	.priv = &counter_state,
};

module_chrdev(count_dev);
