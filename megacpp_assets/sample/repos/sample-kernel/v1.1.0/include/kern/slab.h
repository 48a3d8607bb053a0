/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#ifndef KERN_SLAB_H
#define KERN_SLAB_H

#include "kern/list.h"

typedef void (*slab_ctor_t)(void *obj);

/* A source of equally sized objects, carved out of larger slabs. */
struct slab_cache {
	const char *name;
	size_t obj_size;
	unsigned int per_slab;
	slab_ctor_t ctor;
	struct list_head partial;	/* slabs with free objects */
	struct list_head full;
	unsigned int nr_slabs;
	unsigned int nr_empty;
	unsigned int nr_active;
};

void slab_cache_init(struct slab_cache *cache, const char *name, size_t size,
		     slab_ctor_t ctor);
void slab_cache_destroy(struct slab_cache *cache);

/* Constructed object, or NULL when memory is exhausted. */
void *slab_alloc(struct slab_cache *cache);
void slab_free(struct slab_cache *cache, void *obj);

/* Returns empty slabs to the system; the number of slabs released. */
unsigned int slab_cache_shrink(struct slab_cache *cache);

#define SLAB_CACHE_INIT(cache, type, ctor) \
	slab_cache_init(cache, #type, sizeof(struct type), ctor)

#endif /* KERN_SLAB_H */
