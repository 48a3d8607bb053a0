// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef STRF_TESTS_CHECK_H
#define STRF_TESTS_CHECK_H

#include <cstdio>
#include <string>

#include "strf/format.h"

namespace check {

inline int failures = 0;

inline void equal(const std::string& got, const std::string& want, int line) {
  if (got == want) return;
  std::fprintf(stderr, "line %d: got \"%s\", want \"%s\"\n", line, got.c_str(),
               want.c_str());
  ++failures;
}

/// The message of the format_error that `f` throws, or an empty string.
template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const strf::format_error& e) {
    return e.what();
  }
  return {};
}

}  // namespace check

#define EXPECT_FORMAT(want, ...) ::check::equal(strf::format(__VA_ARGS__), want, __LINE__)
#define EXPECT_ERROR(want, ...) \
  ::check::equal(::check::error_of([&] { strf::format(__VA_ARGS__); }), want, __LINE__)

#endif  // STRF_TESTS_CHECK_H
