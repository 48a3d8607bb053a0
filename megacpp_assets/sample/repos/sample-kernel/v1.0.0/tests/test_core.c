/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#include <string.h>

#include "check.h"
#include "kern/chrdev.h"
#include "kern/ring.h"
#include "kern/sched.h"

struct item {
	int key;
	struct rb_node rb;
	struct list_head link;
};

static bool item_less(const struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct item, rb)->key < rb_entry(b, struct item, rb)->key;
}

static void test_rbtree(void)
{
	enum { COUNT = 257 };
	static struct item items[COUNT];
	struct rb_root root = RB_ROOT;
	struct rb_node *pos;
	int expected = 0;

	for (int i = 0; i < COUNT; i++) {
		items[i].key = (i * 101) % COUNT;
		rb_insert(&root, &items[i].rb, item_less);
		CHECK(rb_check(&root) >= 0);
	}
	rb_for_each(pos, &root)
		CHECK(rb_entry(pos, struct item, rb)->key == expected++);
	CHECK(expected == COUNT);

	for (int i = 0; i < COUNT; i++) {
		rb_erase(&root, &items[(i * 60) % COUNT].rb);
		CHECK(rb_check(&root) >= 0);
	}
	CHECK(rb_first(&root) == NULL);
}

static void test_list(void)
{
	struct item items[5];
	struct item *pos, *n;
	LIST_HEAD(head);
	int sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		items[i].key = (int)i;
		list_add_tail(&items[i].link, &head);
	}
	list_for_each_entry_safe(pos, n, &head, link)
		if (pos->key % 2)
			list_del_init(&pos->link);
	list_for_each_entry(pos, &head, link)
		sum = sum * 10 + pos->key;
	CHECK(sum == 24);
}

static void test_ring(void)
{
	char buf[8], out[8];
	struct ring r;

	CHECK(ring_init(&r, buf, 6) == -EINVAL_K);
	CHECK(ring_init(&r, buf, sizeof(buf)) == 0);
	CHECK(ring_put(&r, "abcdef", 6) == 6);
	CHECK(ring_get(&r, out, 4) == 4 && !memcmp(out, "abcd", 4));
	CHECK(ring_put(&r, "ghijklm", 7) == 6);
	CHECK(ring_space(&r) == 0);
	CHECK(ring_get(&r, out, 8) == 8 && !memcmp(out, "efghijkl", 8));
}

static void test_slab(void)
{
	struct slab_cache cache;
	void *obj[100];

	SLAB_CACHE_INIT(&cache, item, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(obj); i++)
		obj[i] = slab_alloc(&cache);
	CHECK(cache.nr_active == 100);
	CHECK(cache.nr_slabs == (100 + cache.per_slab - 1) / cache.per_slab);
	slab_free(&cache, obj[42]);
	CHECK(slab_alloc(&cache) == obj[42]);
	for (size_t i = 0; i < ARRAY_SIZE(obj); i++)
		slab_free(&cache, obj[i]);
	CHECK(cache.nr_active == 0);
	slab_cache_destroy(&cache);
	CHECK(cache.nr_slabs == 0);
}

static void test_chrdev(void)
{
	struct chrdev *dev = chrdev_open("ring");
	struct chrdev dup = { .name = "ring", .ops = dev->ops };
	char buf[16];

	CHECK(PTR_ERR(chrdev_open("nope")) == -ENOENT_K);
	CHECK(chrdev_register(&dup) == -EEXIST_K);
	CHECK(chrdev_write(dev, "hello", 5) == 5);
	CHECK(chrdev_ioctl(dev, CHR_IOC_AVAIL, 0) == 5);
	CHECK(chrdev_read(dev, buf, sizeof(buf)) == 5);
	CHECK(chrdev_read(dev, buf, sizeof(buf)) == -EAGAIN_K);
	CHECK(chrdev_unregister(dev) == -EBUSY_K);
	chrdev_close(dev);
	CHECK(chrdev_unregister(dev) == 0);
	CHECK(IS_ERR(chrdev_open("ring")));
}

static unsigned int burn(struct task *self, void *arg)
{
	unsigned int *used = arg;

	(void)self;
	*used += 4;
	return 4;
}

static unsigned int nap_then_stop(struct task *self, void *arg)
{
	(void)arg;
	if (self->steps)
		return 0;
	task_sleep(self, 50);
	return 1;
}

static void test_sched(void)
{
	unsigned int a = 0, b = 0;
	struct scheduler s;
	struct task *napper;
	pid_k pid;

	sched_init(&s);
	CHECK(PTR_ERR(task_spawn(&s, "none", NULL, NULL)) == -EINVAL_K);
	task_spawn(&s, "a", burn, &a);
	task_spawn(&s, "b", burn, &b);
	napper = task_spawn(&s, "napper", nap_then_stop, NULL);
	pid = napper->pid;
	CHECK(sched_run(&s, 9) == 9);
	CHECK(a == b);
	CHECK(task_find(&s, pid) == napper && napper->state == TASK_SLEEPING);
	sched_run(&s, 20);
	CHECK(task_find(&s, pid) == NULL && s.nr_tasks == 2);
	sched_destroy(&s);
}

int main(void)
{
	test_rbtree();
	test_list();
	test_ring();
	test_slab();
	test_chrdev();
	test_sched();
	return check_failures != 0;
}
