// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/assertion.h"

#include <cmath>
#include <cstdio>

namespace verity {
namespace {

thread_local FailureSink* current_sink = nullptr;

void AppendEscaped(unsigned char c, std::string* out) {
  switch (c) {
    case '\n':
      *out += "\\n";
      return;
    case '\t':
      *out += "\\t";
      return;
    case '"':
    case '\\':
      out->push_back('\\');
      break;
    default:
      if (c < 0x20 || c == 0x7f) {
        char buffer[8];
        std::snprintf(buffer, sizeof(buffer), "\\x%02x", c);
        *out += buffer;
        return;
      }
  }
  out->push_back(static_cast<char>(c));
}

}  // namespace

ScopedFailures::ScopedFailures() : previous_(current_sink) {
  current_sink = this;
}

ScopedFailures::~ScopedFailures() { current_sink = previous_; }

void ScopedFailures::Report(const Failure& failure) {
  failures_.push_back(failure);
}

bool ScopedFailures::has_fatal() const {
  for (const Failure& failure : failures_) {
    if (failure.severity == Severity::kFatal) return true;
  }
  return false;
}

void ReportFailure(const Failure& failure) {
  if (current_sink != nullptr) {
    current_sink->Report(failure);
    return;
  }
  std::fprintf(stderr, "%s:%d: failure outside of any test: %s\n",
               failure.file, failure.line, failure.text.c_str());
}

namespace internal {

std::string Quote(const std::string& text) {
  std::string out = "\"";
  for (char c : text) AppendEscaped(static_cast<unsigned char>(c), &out);
  out.push_back('"');
  return out;
}

std::string FormatDouble(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.17g", value);
  return buffer;
}

AssertHelper::AssertHelper(Severity severity, const char* file, int line,
                           std::string reason)
    : severity_(severity),
      file_(file),
      line_(line),
      reason_(std::move(reason)) {}

void AssertHelper::operator=(const Message& message) const {
  std::string text = reason_;
  if (!message.text().empty()) text += "\n" + message.text();
  ReportFailure(Failure{severity_, file_, line_, std::move(text)});
}

std::string ComparisonText(const char* left_expr, const char* op,
                           const char* right_expr, const std::string& left,
                           const std::string& right) {
  std::string text = std::string("expected: ") + left_expr + " " + op + " " +
                     right_expr + "\n  left: " + left;
  // A literal prints as itself; saying so twice would only add noise.
  if (right != right_expr) text += "\n right: " + right;
  return text;
}

AssertionResult CompareNear(const char* left_expr, const char* right_expr,
                            double left, double right, double tolerance) {
  const double distance = std::fabs(left - right);
  if (distance <= tolerance) return AssertionResult::Success();
  return AssertionResult::Fail(
      std::string("the distance between ") + left_expr + " and " + right_expr +
      " is " + FormatDouble(distance) + ", more than " +
      FormatDouble(tolerance));
}

AssertionResult CheckBool(const char* expr, bool actual, bool expected) {
  if (actual == expected) return AssertionResult::Success();
  return AssertionResult::Fail(std::string(expr) + " is " + Print(actual) +
                               ", expected " + Print(expected));
}

}  // namespace internal
}  // namespace verity
