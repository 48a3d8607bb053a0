// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/runner.h"

#include <chrono>
#include <cstring>
#include <exception>

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

const char* ValueOf(const char* argument, const char* name) {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0) return nullptr;
  return argument[length] == '=' ? argument + length + 1 : nullptr;
}

}  // namespace

bool ParseOptions(int argc, char** argv, RunOptions* options,
                  std::string* error) {
  for (int i = 1; i < argc; ++i) {
    if (const char* filter = ValueOf(argv[i], "--filter")) {
      options->filter = filter;
    } else if (std::strcmp(argv[i], "--list") == 0) {
      options->list_only = true;
    } else if (std::strcmp(argv[i], "--brief") == 0) {
      options->brief = true;
    } else {
      *error = argv[i];
      return false;
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

Summary Runner::Run(const RunOptions& options) {
  const std::vector<const TestInfo*> selected = Select(Filter(options.filter));
  for (Listener* listener : listeners_) {
    listener->OnRunStart(static_cast<int>(selected.size()));
  }
  Summary summary;
  for (const TestInfo* info : selected) {
    for (Listener* listener : listeners_) listener->OnTestStart(*info);
    const TestResult result = RunOne(*info);
    for (Listener* listener : listeners_) listener->OnTestEnd(*info, result);
    ++summary.run;
    if (!result.passed()) {
      ++summary.failed;
      summary.failed_names.push_back(info->FullName());
    }
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
