/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#ifndef KERN_KERNEL_H
#define KERN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The enclosing structure of @member, given a pointer to the member. */
#define container_of(ptr, type, member) ({                              \
	const __typeof__(((type *)0)->member) *__mptr = (ptr);          \
	(type *)((uintptr_t)__mptr - offsetof(type, member)); })

#define min(a, b) ({                                                    \
	__typeof__(a) __min_a = (a);                                    \
	__typeof__(b) __min_b = (b);                                    \
	__min_a < __min_b ? __min_a : __min_b; })

#define max(a, b) ({                                                    \
	__typeof__(a) __max_a = (a);                                    \
	__typeof__(b) __max_b = (b);                                    \
	__max_a > __max_b ? __max_a : __max_b; })

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define BUILD_BUG_ON(cond) _Static_assert(!(cond), #cond)

#define ALIGN_UP(x, a)	(((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define is_power_of_2(n) ((n) != 0 && ((n) & ((n) - 1)) == 0)

/* Small negative error codes, optionally carried inside a pointer. */
enum kern_errno {
	ENOENT_K = 2,
	EAGAIN_K = 11,
	ENOMEM_K = 12,
	EBUSY_K = 16,
	EEXIST_K = 17,
	EINVAL_K = 22,
};

#define MAX_ERRNO 4095

static inline void *ERR_PTR(long error)
{
	return (void *)error;
}

static inline long PTR_ERR(const void *ptr)
{
	return (long)ptr;
}

static inline bool IS_ERR(const void *ptr)
{
	return unlikely((uintptr_t)ptr >= (uintptr_t)-MAX_ERRNO);
}

#ifdef KERN_DEBUG
#define pr_debug(...) fprintf(stderr, "debug: " __VA_ARGS__)
#else
#define pr_debug(...) ((void)0)
#endif
#define pr_info(...) printf(__VA_ARGS__)

#endif /* KERN_KERNEL_H */
