/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#ifndef KERN_HASHTABLE_H
#define KERN_HASHTABLE_H

#include "kern/list.h"

#define GOLDEN_RATIO_32 0x61C88647u

static inline uint32_t hash_32(uint32_t val, unsigned int bits)
{
	return (val * GOLDEN_RATIO_32) >> (32 - bits);
}

/* FNV-1a over a string, folded to 32 bits. */
static inline uint32_t hash_str(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

#define DECLARE_HASHTABLE(name, order)                                  \
	struct {                                                        \
		struct list_head bucket[1u << (order)];                 \
	} name

#define HASH_BITS(table) \
	((unsigned int)__builtin_ctz((unsigned int)ARRAY_SIZE((table).bucket)))

#define hash_bucket(table, key) (&(table).bucket[hash_32(key, HASH_BITS(table))])

#define hash_init(table) do {                                           \
	for (size_t __i = 0; __i < ARRAY_SIZE((table).bucket); __i++)   \
		INIT_LIST_HEAD(&(table).bucket[__i]);                   \
} while (0)

#define hash_add(table, node, key) list_add(node, hash_bucket(table, key))
#define hash_del(node) list_del_init(node)

/* Visits everything that shares a bucket with @key; callers compare keys. */
#define hash_for_each_possible(table, pos, member, key) \
	list_for_each_entry(pos, hash_bucket(table, key), member)

#endif /* KERN_HASHTABLE_H */
