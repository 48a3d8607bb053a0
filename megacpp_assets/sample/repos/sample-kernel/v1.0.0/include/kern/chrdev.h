/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#ifndef KERN_CHRDEV_H
#define KERN_CHRDEV_H

#include "kern/kref.h"
#include "kern/list.h"

struct chrdev;

/* Operations of a character driver; a missing one yields -EINVAL_K. */
struct chrdev_ops {
	int (*open)(struct chrdev *dev);
	void (*release)(struct chrdev *dev);
	long (*read)(struct chrdev *dev, void *buf, size_t len);
	long (*write)(struct chrdev *dev, const void *buf, size_t len);
	long (*ioctl)(struct chrdev *dev, unsigned int cmd, uintptr_t arg);
};

struct chrdev {
	const char *name;
	const struct chrdev_ops *ops;
	void *priv;
	struct kref ref;
	struct list_head hash;
	unsigned int openers;
};

#define CHR_IOC(group, nr) (((unsigned int)(group) << 8) | (nr))
#define CHR_IOC_RESET CHR_IOC('k', 1)
#define CHR_IOC_AVAIL CHR_IOC('k', 2)

int chrdev_register(struct chrdev *dev);
int chrdev_unregister(struct chrdev *dev);

/* A referenced device, or an ERR_PTR. */
struct chrdev *chrdev_open(const char *name);
void chrdev_close(struct chrdev *dev);

long chrdev_read(struct chrdev *dev, void *buf, size_t len);
long chrdev_write(struct chrdev *dev, const void *buf, size_t len);
long chrdev_ioctl(struct chrdev *dev, unsigned int cmd, uintptr_t arg);

/* Registers @dev before main() runs. */
#define module_chrdev(dev)                                              \
	static void __attribute__((constructor)) dev##_module_init(void) \
	{                                                               \
		if (chrdev_register(&(dev)))                            \
			fprintf(stderr, "%s: not registered\n", (dev).name); \
	}                                                               \
	struct chrdev_ops /* swallow the semicolon */

#endif /* KERN_CHRDEV_H */
