/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#ifndef KERN_KREF_H
#define KERN_KREF_H

#include "kern/kernel.h"

struct kref {
	unsigned int count;	/* only touched atomically */
};

static inline void kref_init(struct kref *ref)
{
	__atomic_store_n(&ref->count, 1, __ATOMIC_RELAXED);
}

static inline void kref_get(struct kref *ref)
{
	__atomic_add_fetch(&ref->count, 1, __ATOMIC_RELAXED);
}

/* Calls @release on the last put. Returns true when it did. */
static inline bool kref_put(struct kref *ref, void (*release)(struct kref *))
{
	if (__atomic_sub_fetch(&ref->count, 1, __ATOMIC_ACQ_REL) != 0)
		return false;
	release(ref);
	return true;
}

#endif /* KERN_KREF_H */
