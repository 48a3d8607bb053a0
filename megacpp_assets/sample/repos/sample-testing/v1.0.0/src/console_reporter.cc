// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/runner.h"

namespace verity {
namespace {

const char* Plural(int count) { return count == 1 ? "" : "s"; }

// Indents continuation lines so that a failure reads as one block.
std::string Indent(const std::string& text, const char* margin) {
  std::string out;
  for (char c : text) {
    out.push_back(c);
    if (c == '\n') out += margin;
  }
  return out;
}

}  // namespace

void ConsoleReporter::OnRunStart(int selected) {
  if (style_ == Style::kBrief) return;
  std::fprintf(out_, "running %d test%s\n", selected, Plural(selected));
}

void ConsoleReporter::OnTestStart(const TestInfo& info) {
  if (style_ == Style::kBrief) return;
  std::fprintf(out_, "[ run  ] %s\n", info.FullName().c_str());
}

void ConsoleReporter::OnTestEnd(const TestInfo& info,
                                const TestResult& result) {
  for (const Failure& failure : result.failures) PrintFailure(failure);
  if (result.passed() && style_ == Style::kBrief) return;
  std::fprintf(out_, "[ %s ] %s (%.1f ms)\n", result.passed() ? " ok " : "FAIL",
               info.FullName().c_str(), result.millis);
}

void ConsoleReporter::PrintFailure(const Failure& failure) {
  const char* kind =
      failure.severity == Severity::kFatal ? "fatal failure" : "failure";
  std::fprintf(out_, "%s:%d: %s\n    %s\n", failure.file, failure.line, kind,
               Indent(failure.text, "    ").c_str());
}

void ConsoleReporter::OnRunEnd(const Summary& summary) {
  std::fprintf(out_, "%d of %d test%s passed\n", summary.run - summary.failed,
               summary.run, Plural(summary.run));
  for (const std::string& name : summary.failed_names) {
    std::fprintf(out_, "  failed: %s\n", name.c_str());
  }
  std::fflush(out_);
}

}  // namespace verity
