/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#ifndef KERN_RBTREE_H
#define KERN_RBTREE_H

#include "kern/kernel.h"

enum rb_color { RB_RED, RB_BLACK };

struct rb_node {
	struct rb_node *parent, *left, *right;
	enum rb_color color;
};

struct rb_root {
	struct rb_node *node;
};

#define RB_ROOT ((struct rb_root){ NULL })
#define rb_entry(ptr, type, member) container_of(ptr, type, member)

typedef bool (*rb_less_t)(const struct rb_node *a, const struct rb_node *b);

/* Equal keys keep insertion order. */
void rb_insert(struct rb_root *root, struct rb_node *node, rb_less_t less);
void rb_erase(struct rb_root *root, struct rb_node *node);

struct rb_node *rb_first(const struct rb_root *root);
struct rb_node *rb_next(const struct rb_node *node);

/* Black height of the tree, or -1 when an invariant does not hold. */
int rb_check(const struct rb_root *root);

#define rb_for_each(pos, root) \
	for (pos = rb_first(root); pos; pos = rb_next(pos))

#endif /* KERN_RBTREE_H */
