/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#ifndef KERN_RING_H
#define KERN_RING_H

#include "kern/kernel.h"

/*
 * Byte queue over a caller-supplied power-of-two buffer. The counters run
 * freely and are masked on access, so a full ring needs no spare slot.
 */
struct ring {
	uint8_t *data;
	uint32_t mask;
	uint32_t head;	/* next byte to write */
	uint32_t tail;	/* next byte to read */
};

static inline int ring_init(struct ring *r, void *buf, uint32_t size)
{
	if (!is_power_of_2(size))
		return -EINVAL_K;
	*r = (struct ring){ .data = buf, .mask = size - 1 };
	return 0;
}

static inline uint32_t ring_used(const struct ring *r)
{
	return r->head - r->tail;
}

static inline uint32_t ring_space(const struct ring *r)
{
	return r->mask + 1 - ring_used(r);
}

/* Both return the number of bytes moved, which may be short. */
static inline size_t ring_put(struct ring *r, const void *src, size_t len)
{
	const uint8_t *bytes = src;
	size_t n = min(len, (size_t)ring_space(r));

	for (size_t i = 0; i < n; i++)
		r->data[r->head++ & r->mask] = bytes[i];
	return n;
}

static inline size_t ring_get(struct ring *r, void *dst, size_t len)
{
	uint8_t *bytes = dst;
	size_t n = min(len, (size_t)ring_used(r));

	for (size_t i = 0; i < n; i++)
		bytes[i] = r->data[r->tail++ & r->mask];
	return n;
}

#endif /* KERN_RING_H */
