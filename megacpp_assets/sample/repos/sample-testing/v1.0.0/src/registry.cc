// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "verity/test.h"

namespace verity {
namespace {

// The failures of the test that is running on this thread.
thread_local const ScopedFailures* running_failures = nullptr;

}  // namespace

namespace internal {

const ScopedFailures* ExchangeRunning(const ScopedFailures* failures) {
  return std::exchange(running_failures, failures);
}

}  // namespace internal

bool Test::HasFatalFailure() {
  return running_failures != nullptr && running_failures->has_fatal();
}

void Test::Run() {
  SetUp();
  if (!HasFatalFailure()) TestBody();
  TearDown();
}

Registry& Registry::Global() {
  static Registry* registry = new Registry;
  return *registry;
}

bool Registry::Contains(const std::string& full_name) const {
  for (const TestInfo& info : tests_) {
    if (info.FullName() == full_name) return true;
  }
  return false;
}

bool Registry::Add(TestInfo info) {
  if (Contains(info.FullName())) {
    std::fprintf(stderr, "%s:%d: test %s is defined twice\n", info.file,
                 info.line, info.FullName().c_str());
    std::abort();
  }
  tests_.push_back(std::move(info));
  return true;
}

void Registry::AddDeferred(const DeferredSuite* suite) {
  deferred_.push_back(suite);
}

void Registry::ExpandDeferred() {
  for (const DeferredSuite* suite : std::exchange(deferred_, {})) {
    for (TestInfo& info : suite->Expand()) Add(std::move(info));
  }
}

}  // namespace verity
