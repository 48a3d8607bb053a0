// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/runner.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

namespace verity {
namespace internal {
// Defined next to Test::HasFatalFailure in registry.cc.
const ScopedFailures* ExchangeRunning(const ScopedFailures* failures);
}  // namespace internal

namespace {

using Clock = std::chrono::steady_clock;

/// Makes a test's failures visible to HasFatalFailure while it runs.
class RunningScope {
 public:
  explicit RunningScope(const ScopedFailures* failures)
      : previous_(internal::ExchangeRunning(failures)) {}
  ~RunningScope() { internal::ExchangeRunning(previous_); }

 private:
  const ScopedFailures* previous_;
};

void RunGuarded(const TestInfo& info) {
#if defined(__cpp_exceptions)
  try {
    info.factory()->Run();
  } catch (const std::exception& e) {
    ReportFailure({Severity::kFatal, info.file, info.line,
                   std::string("unexpected exception: ") + e.what()});
  } catch (...) {
    ReportFailure({Severity::kFatal, info.file, info.line,
                   "unexpected exception of unknown type"});
  }
#else
  info.factory()->Run();
#endif
}

/* A linear congruential step is plenty to break up an order, and unlike
   std::shuffle it gives the same order with every standard library. */
class OrderSource {
 public:
  explicit OrderSource(std::uint32_t seed) : state_(seed) {}

  std::size_t Below(std::size_t bound) {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) % bound;
  }

 private:
  std::uint32_t state_;
};

void Shuffle(OrderSource* source, std::vector<const TestInfo*>* tests) {
  for (std::size_t i = tests->size(); i > 1; --i) {
    std::swap((*tests)[i - 1], (*tests)[source->Below(i)]);
  }
}

bool ParseCount(const char* text, unsigned long* value) {
  char* end = nullptr;
  *value = std::strtoul(text, &end, 10);
  return end != text && *end == '\0' && *value > 0;
}

const char* ValueOf(const char* argument, const char* name) {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0) return nullptr;
  return argument[length] == '=' ? argument + length + 1 : nullptr;
}

bool Reject(const char* argument, std::string* error) {
  *error = argument;
  return false;
}

}  // namespace

bool ParseOptions(int argc, char** argv, RunOptions* options,
                  std::string* error) {
  unsigned long count = 0;
  for (int i = 1; i < argc; ++i) {
    if (const char* filter = ValueOf(argv[i], "--filter")) {
      options->filter = filter;
    } else if (const char* repeat = ValueOf(argv[i], "--repeat")) {
      if (!ParseCount(repeat, &count)) return Reject(argv[i], error);
      options->repeat = static_cast<int>(count);
    } else if (const char* seed = ValueOf(argv[i], "--shuffle")) {
      if (!ParseCount(seed, &count)) return Reject(argv[i], error);
      options->shuffle_seed = static_cast<std::uint32_t>(count);
    } else if (std::strcmp(argv[i], "--list") == 0) {
      options->list_only = true;
    } else if (std::strcmp(argv[i], "--brief") == 0) {
      options->brief = true;
    } else {
      return Reject(argv[i], error);
    }
  }
  return true;
}

std::vector<const TestInfo*> Runner::Select(const Filter& filter) const {
  registry_->ExpandDeferred();
  std::vector<const TestInfo*> selected;
  for (const TestInfo& info : registry_->tests()) {
    if (filter.Matches(info.FullName())) selected.push_back(&info);
  }
  return selected;
}

TestResult Runner::RunOne(const TestInfo& info) {
  TestResult result;
  const Clock::time_point start = Clock::now();
  ScopedFailures failures;
  {
    RunningScope scope(&failures);
    RunGuarded(info);
  }
  const std::chrono::duration<double, std::milli> elapsed =
      Clock::now() - start;
  result.failures = failures.Take();
  result.millis = elapsed.count();
  return result;
}

void Runner::RunPass(const std::vector<const TestInfo*>& tests,
                     Summary* summary) {
  for (const TestInfo* info : tests) {
    for (Listener* listener : listeners_) listener->OnTestStart(*info);
    const TestResult result = RunOne(*info);
    for (Listener* listener : listeners_) listener->OnTestEnd(*info, result);
    ++summary->run;
    if (!result.passed()) {
      ++summary->failed;
      summary->failed_names.push_back(info->FullName());
    }
  }
}

Summary Runner::Run(const RunOptions& options) {
  std::vector<const TestInfo*> selected = Select(Filter(options.filter));
  for (Listener* listener : listeners_) {
    listener->OnRunStart(static_cast<int>(selected.size()) * options.repeat);
  }
  Summary summary;
  OrderSource source(options.shuffle_seed);
  for (int pass = 0; pass < options.repeat; ++pass) {
    if (options.shuffle_seed != 0) Shuffle(&source, &selected);
    RunPass(selected, &summary);
  }
  for (Listener* listener : listeners_) listener->OnRunEnd(summary);
  return summary;
}

int RunAllTests(int argc, char** argv) {
  RunOptions options;
  std::string error;
  if (!ParseOptions(argc, argv, &options, &error)) {
    std::fprintf(stderr, "unknown option: %s\n", error.c_str());
    return 2;
  }
  Runner runner(&Registry::Global());
  if (options.list_only) {
    for (const TestInfo* info : runner.Select(Filter(options.filter))) {
      std::printf("%s\n", info->FullName().c_str());
    }
    return 0;
  }
  ConsoleReporter reporter(stdout, options.brief
                                       ? ConsoleReporter::Style::kBrief
                                       : ConsoleReporter::Style::kFull);
  runner.AddListener(&reporter);
  return runner.Run(options).failed == 0 ? 0 : 1;
}

}  // namespace verity
