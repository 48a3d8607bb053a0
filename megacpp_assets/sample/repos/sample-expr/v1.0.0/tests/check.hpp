// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef EXPR_TESTS_CHECK_HPP
#define EXPR_TESTS_CHECK_HPP

#include <cstdio>

namespace check {

inline int failures = 0;

inline void report(bool ok, const char *text, const char *file, int line) {
  if (ok)
    return;
  std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
  ++failures;
}

inline bool near(double a, double b) { return a - b < 1e-9 && b - a < 1e-9; }

}  // namespace check

#define CHECK(...) ::check::report((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

#endif  // EXPR_TESTS_CHECK_HPP
