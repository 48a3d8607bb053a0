/* Copyright 2026 The megacpp_assets authors. */
/* Licensed under the Apache License, Version 2.0. */

#ifndef KERN_TESTS_CHECK_H
#define KERN_TESTS_CHECK_H

#include <stdio.h>

static int check_failures;

#define CHECK(cond) do {                                                \
	if (!(cond)) {                                                  \
		fprintf(stderr, "%s:%d: failed: %s\n", __FILE__,        \
			__LINE__, #cond);                               \
		check_failures++;                                       \
	}                                                               \
} while (0)

#endif /* KERN_TESTS_CHECK_H */
