// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef VERITY_RUNNER_H_
#define VERITY_RUNNER_H_

#include <cstdio>
#include <string>
#include <vector>

#include "verity/test.h"

namespace verity {

/// Selects tests by name: patterns separated by ':', where '*' stands for any
/// text and '?' for one character. An empty filter takes every test.
class Filter {
 public:
  Filter() = default;
  explicit Filter(const std::string& spec);

  bool Matches(const std::string& full_name) const;

 private:
  std::vector<std::string> patterns_;
};

struct TestResult {
  std::vector<Failure> failures;
  double millis = 0;

  bool passed() const { return failures.empty(); }
};

struct Summary {
  int run = 0;
  int failed = 0;
  std::vector<std::string> failed_names;
};

/// Told about the progress of a run, in order and on one thread.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnRunStart(int /*selected*/) {}
  virtual void OnTestStart(const TestInfo& /*info*/) {}
  virtual void OnTestEnd(const TestInfo& /*info*/,
                         const TestResult& /*result*/) {}
  virtual void OnRunEnd(const Summary& /*summary*/) {}
};

/// Writes progress and failures in plain text.
class ConsoleReporter : public Listener {
 public:
  enum class Style { kFull, kBrief };

  explicit ConsoleReporter(std::FILE* out, Style style = Style::kFull)
      : out_(out), style_(style) {}

  void OnRunStart(int selected) override;
  void OnTestStart(const TestInfo& info) override;
  void OnTestEnd(const TestInfo& info, const TestResult& result) override;
  void OnRunEnd(const Summary& summary) override;

 private:
  void PrintFailure(const Failure& failure);

  std::FILE* out_;
  Style style_;
};

struct RunOptions {
  std::string filter;
  bool list_only = false;
  bool brief = false;
};

/// Reads the options of a test program. Returns false, naming the argument in
/// `*error`, when one is not understood.
bool ParseOptions(int argc, char** argv, RunOptions* options,
                  std::string* error);

/// Runs the selected tests of a registry, one after another.
class Runner {
 public:
  explicit Runner(Registry* registry) : registry_(registry) {}

  void AddListener(Listener* listener) { listeners_.push_back(listener); }
  std::vector<const TestInfo*> Select(const Filter& filter) const;
  Summary Run(const RunOptions& options);

 private:
  TestResult RunOne(const TestInfo& info);

  Registry* registry_;
  std::vector<Listener*> listeners_;
};

/// The whole of a test program: parse, list or run, and the exit status.
int RunAllTests(int argc, char** argv);

}  // namespace verity

#endif  // VERITY_RUNNER_H_
