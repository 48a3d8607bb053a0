/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#include "kern/chrdev.h"

#include <string.h>

#include "kern/hashtable.h"

static DECLARE_HASHTABLE(devices, 4);

/* Registration runs from constructors, so the table is set up on first use. */
static void devices_once(void)
{
	static bool ready;

	if (ready)
		return;
	hash_init(devices);
	ready = true;
}

static struct chrdev *chrdev_find(const char *name)
{
	struct chrdev *dev;

	devices_once();
	hash_for_each_possible(devices, dev, hash, hash_str(name))
		if (!strcmp(dev->name, name))
			return dev;
	return NULL;
}

int chrdev_register(struct chrdev *dev)
{
	if (!dev->name || !dev->ops)
		return -EINVAL_K;
	if (chrdev_find(dev->name))
		return -EEXIST_K;
	kref_init(&dev->ref);
	dev->openers = 0;
	hash_add(devices, &dev->hash, hash_str(dev->name));
	return 0;
}

static void chrdev_unlink(struct kref *ref)
{
	struct chrdev *dev = container_of(ref, struct chrdev, ref);

	hash_del(&dev->hash);
	pr_debug("%s: gone\n", dev->name);
}

int chrdev_unregister(struct chrdev *dev)
{
	if (dev->openers)
		return -EBUSY_K;
	kref_put(&dev->ref, chrdev_unlink);
	return 0;
}

struct chrdev *chrdev_open(const char *name)
{
	struct chrdev *dev = chrdev_find(name);
	int err;

	if (!dev)
		return ERR_PTR(-ENOENT_K);
	if (dev->openers == 0 && dev->ops->open) {
		err = dev->ops->open(dev);
		if (err)
			return ERR_PTR(err);
	}
	dev->openers++;
	kref_get(&dev->ref);
	return dev;
}

void chrdev_close(struct chrdev *dev)
{
	if (--dev->openers == 0 && dev->ops->release)
		dev->ops->release(dev);
	kref_put(&dev->ref, chrdev_unlink);
}

#define CHRDEV_CALL(dev, op, ...) \
	((dev)->ops->op ? (dev)->ops->op(dev, __VA_ARGS__) : -EINVAL_K)

long chrdev_read(struct chrdev *dev, void *buf, size_t len)
{
	return CHRDEV_CALL(dev, read, buf, len);
}

long chrdev_write(struct chrdev *dev, const void *buf, size_t len)
{
	return CHRDEV_CALL(dev, write, buf, len);
}

long chrdev_ioctl(struct chrdev *dev, unsigned int cmd, uintptr_t arg)
{
	return CHRDEV_CALL(dev, ioctl, cmd, arg);
}
