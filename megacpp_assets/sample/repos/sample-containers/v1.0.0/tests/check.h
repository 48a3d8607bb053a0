// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef GRANARY_TESTS_CHECK_H_
#define GRANARY_TESTS_CHECK_H_

#include <cstdio>

namespace check {

inline int failures = 0;

inline void Report(bool ok, const char* expr, const char* file, int line) {
  if (ok) return;
  ++failures;
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, expr);
}

}  // namespace check

#define CHECK(...) \
  ::check::Report(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, \
                  __LINE__)

#endif  // GRANARY_TESTS_CHECK_H_
