/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

/* A pipe of bounded size: what is written can be read back in order. */

#include <stdlib.h>

#include "kern/chrdev.h"
#include "kern/ring.h"

#define RING_DEV_BYTES 64u
BUILD_BUG_ON(!is_power_of_2(RING_DEV_BYTES));

static int ring_dev_open(struct chrdev *dev)
{
	struct ring *r = malloc(sizeof(*r) + RING_DEV_BYTES);
	int err;

	if (!r)
		return -ENOMEM_K;
	err = ring_init(r, r + 1, RING_DEV_BYTES);
	if (err) {
		free(r);
		return err;
	}
	dev->priv = r;
	return 0;
}

static void ring_dev_release(struct chrdev *dev)
{
	free(dev->priv);
	dev->priv = NULL;
}

static long ring_dev_read(struct chrdev *dev, void *buf, size_t len)
{
	size_t n = ring_get(dev->priv, buf, len);

	return n || !len ? (long)n : -EAGAIN_K;
}

static long ring_dev_write(struct chrdev *dev, const void *buf, size_t len)
{
	size_t n = ring_put(dev->priv, buf, len);

	return n || !len ? (long)n : -EAGAIN_K;
}

static long ring_dev_ioctl(struct chrdev *dev, unsigned int cmd, uintptr_t arg)
{
	struct ring *r = dev->priv;

	(void)arg;
	switch (cmd) {
	case CHR_IOC_RESET:
		r->tail = r->head;
		return 0;
	case CHR_IOC_AVAIL:
		return (long)ring_used(r);
	default:
		return -EINVAL_K;
	}
}

static const struct chrdev_ops ring_dev_ops = {
	.open = ring_dev_open,
	.release = ring_dev_release,
	.read = ring_dev_read,
	.write = ring_dev_write,
	.ioctl = ring_dev_ioctl,
};

static struct chrdev ring_dev = { .name = "ring", .ops = &ring_dev_ops };

module_chrdev(ring_dev);
