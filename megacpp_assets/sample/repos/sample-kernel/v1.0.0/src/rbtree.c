/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#include "kern/rbtree.h"

static bool is_red(const struct rb_node *n)
{
	return n && n->color == RB_RED;
}

/* The link that points at @n: its parent's child slot, or the root. */
static struct rb_node **link_of(struct rb_root *root, struct rb_node *n)
{
	if (!n->parent)
		return &root->node;
	return n->parent->left == n ? &n->parent->left : &n->parent->right;
}

/* Raises the right (or left) child of @n into its place. */
static void rotate(struct rb_root *root, struct rb_node *n, bool left)
{
	struct rb_node **link = link_of(root, n);
	struct rb_node *child = left ? n->right : n->left;
	struct rb_node *inner = left ? child->left : child->right;

	if (left)
		n->right = inner;
	else
		n->left = inner;
	if (inner)
		inner->parent = n;
	if (left)
		child->left = n;
	else
		child->right = n;
	child->parent = n->parent;
	n->parent = child;
	*link = child;
}

static void insert_fixup(struct rb_root *root, struct rb_node *n)
{
	while (is_red(n->parent)) {
		struct rb_node *parent = n->parent;
		struct rb_node *grand = parent->parent;
		bool left = parent == grand->left;
		struct rb_node *uncle = left ? grand->right : grand->left;

		if (is_red(uncle)) {
			parent->color = RB_BLACK;
			uncle->color = RB_BLACK;
			grand->color = RB_RED;
			n = grand;
			continue;
		}
		if (n == (left ? parent->right : parent->left)) {
			rotate(root, parent, left);
			parent = n;
		}
		parent->color = RB_BLACK;
		grand->color = RB_RED;
		rotate(root, grand, !left);
		break;
	}
	root->node->color = RB_BLACK;
}

void rb_insert(struct rb_root *root, struct rb_node *node, rb_less_t less)
{
	struct rb_node **link = &root->node;
	struct rb_node *parent = NULL;

	while (*link) {
		parent = *link;
		link = less(node, parent) ? &parent->left : &parent->right;
	}
	*node = (struct rb_node){ .parent = parent, .color = RB_RED };
	*link = node;
	insert_fixup(root, node);
}

/* @n (possibly NULL, hence @parent) carries one black too few. */
static void erase_fixup(struct rb_root *root, struct rb_node *n,
			struct rb_node *parent)
{
	while (n != root->node && !is_red(n)) {
		bool left = n == parent->left;
		struct rb_node *sib = left ? parent->right : parent->left;
		struct rb_node *near, *far;

		if (is_red(sib)) {
			sib->color = RB_BLACK;
			parent->color = RB_RED;
			rotate(root, parent, left);
			sib = left ? parent->right : parent->left;
		}
		near = left ? sib->left : sib->right;
		far = left ? sib->right : sib->left;
		if (!is_red(near) && !is_red(far)) {
			sib->color = RB_RED;
			n = parent;
			parent = n->parent;
			continue;
		}
		if (!is_red(far)) {
			near->color = RB_BLACK;
			sib->color = RB_RED;
			rotate(root, sib, !left);
			far = sib;
			sib = near;
		}
		sib->color = parent->color;
		parent->color = RB_BLACK;
		far->color = RB_BLACK;
		rotate(root, parent, left);
		n = root->node;
	}
	if (n)
		n->color = RB_BLACK;
}

static void transplant(struct rb_root *root, struct rb_node *old,
		       struct rb_node *new)
{
	*link_of(root, old) = new;
	if (new)
		new->parent = old->parent;
}

static struct rb_node *leftmost(struct rb_node *n)
{
	while (n && n->left)
		n = n->left;
	return n;
}

void rb_erase(struct rb_root *root, struct rb_node *node)
{
	enum rb_color removed = node->color;
	struct rb_node *child, *parent;

	if (!node->left || !node->right) {
		child = node->left ? node->left : node->right;
		parent = node->parent;
		transplant(root, node, child);
	} else {
		struct rb_node *succ = leftmost(node->right);

		removed = succ->color;
		child = succ->right;
		parent = succ->parent;
		if (parent == node) {
			parent = succ;
		} else {
			transplant(root, succ, child);
			succ->right = node->right;
			succ->right->parent = succ;
		}
		transplant(root, node, succ);
		succ->left = node->left;
		succ->left->parent = succ;
		succ->color = node->color;
	}
	if (removed == RB_BLACK)
		erase_fixup(root, child, parent);
}

struct rb_node *rb_first(const struct rb_root *root)
{
	return leftmost(root->node);
}

struct rb_node *rb_next(const struct rb_node *node)
{
	struct rb_node *parent;

	if (node->right)
		return leftmost(node->right);
	while ((parent = node->parent) && node == parent->right)
		node = parent;
	return parent;
}

static int black_height(const struct rb_node *n)
{
	int left, right;

	if (!n)
		return 0;
	if (is_red(n) && (is_red(n->left) || is_red(n->right)))
		return -1;
	left = black_height(n->left);
	right = black_height(n->right);
	if (left < 0 || left != right)
		return -1;
	return left + (n->color == RB_BLACK);
}

int rb_check(const struct rb_root *root)
{
	return is_red(root->node) ? -1 : black_height(root->node);
}
