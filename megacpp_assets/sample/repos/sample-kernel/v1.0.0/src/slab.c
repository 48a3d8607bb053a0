/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#include "kern/slab.h"

#include <stdlib.h>
#include <string.h>

#define SLAB_BYTES 4096u
#define SLAB_ALIGN ((size_t)_Alignof(max_align_t))

/*
 * Every object is preceded by a header that names its slab while the object
 * is live, and links the slab's free list while it is not.
 */
struct slab;

union obj_header {
	struct slab *owner;
	union obj_header *next_free;
	max_align_t align;
};

struct slab {
	struct list_head node;
	union obj_header *free;
	unsigned int in_use;
};

/* The objects follow the slab itself, suitably aligned. */
#define SLAB_HEADER ALIGN_UP(sizeof(struct slab), SLAB_ALIGN)

BUILD_BUG_ON(sizeof(union obj_header) % _Alignof(max_align_t) != 0);

static size_t slot_size(const struct slab_cache *cache)
{
	return sizeof(union obj_header) + cache->obj_size;
}

static union obj_header *slot_at(const struct slab_cache *cache,
				 struct slab *slab, unsigned int index)
{
	return (void *)((char *)slab + SLAB_HEADER + index * slot_size(cache));
}

void slab_cache_init(struct slab_cache *cache, const char *name, size_t size,
		     slab_ctor_t ctor)
{
	*cache = (struct slab_cache){
		.name = name,
		.obj_size = ALIGN_UP(max(size, (size_t)1), SLAB_ALIGN),
		.ctor = ctor,
	};
	cache->per_slab = (unsigned int)max(SLAB_BYTES / slot_size(cache), (size_t)1);
	INIT_LIST_HEAD(&cache->partial);
	INIT_LIST_HEAD(&cache->full);
}

static struct slab *slab_grow(struct slab_cache *cache)
{
	struct slab *slab = malloc(SLAB_HEADER + cache->per_slab * slot_size(cache));

	if (!slab)
		return NULL;
	slab->in_use = 0;
	slab->free = NULL;
	for (unsigned int i = cache->per_slab; i-- > 0;) {
		union obj_header *hdr = slot_at(cache, slab, i);

		hdr->next_free = slab->free;
		slab->free = hdr;
	}
	list_add(&slab->node, &cache->partial);
	cache->nr_slabs++;
	pr_debug("%s: grew to %u slabs\n", cache->name, cache->nr_slabs);
	return slab;
}

static void slab_release(struct slab_cache *cache, struct slab *slab)
{
	list_del_init(&slab->node);
	cache->nr_slabs--;
	free(slab);
}

void *slab_alloc(struct slab_cache *cache)
{
	struct slab *slab;
	union obj_header *hdr;

	if (list_empty(&cache->partial))
		slab = slab_grow(cache);
	else
		slab = list_first_entry(&cache->partial, struct slab, node);
	if (unlikely(!slab))
		return NULL;

	hdr = slab->free;
	slab->free = hdr->next_free;
	hdr->owner = slab;
	if (++slab->in_use == cache->per_slab)
		list_move(&slab->node, &cache->full);
	cache->nr_active++;

	memset(hdr + 1, 0, cache->obj_size);
	if (cache->ctor)
		cache->ctor(hdr + 1);
	return hdr + 1;
}

void slab_free(struct slab_cache *cache, void *obj)
{
	union obj_header *hdr = (union obj_header *)obj - 1;
	struct slab *slab = hdr->owner;

	if (slab->in_use-- == cache->per_slab)
		list_move(&slab->node, &cache->partial);
	hdr->next_free = slab->free;
	slab->free = hdr;
	cache->nr_active--;
}

static void release_all(struct slab_cache *cache, struct list_head *head)
{
	struct slab *slab, *n;

	list_for_each_entry_safe(slab, n, head, node)
		slab_release(cache, slab);
}

void slab_cache_destroy(struct slab_cache *cache)
{
	release_all(cache, &cache->partial);
	release_all(cache, &cache->full);
}
