// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "granary/duration.h"
#include "granary/flags.h"
#include "granary/status.h"
#include "granary/strings.h"

GRANARY_FLAG(granary::Duration, timeout, granary::Seconds(5), "how long");
GRANARY_FLAG(std::string, label, "none", "what to print");
GRANARY_FLAG(bool, fast, false, "skip slow parts");

namespace {

using granary::Status;
using granary::StatusCode;
using granary::StatusOr;

StatusOr<std::unique_ptr<int>> MakePositive(int n) {
  if (n <= 0) return granary::OutOfRangeError("must be positive");
  return std::make_unique<int>(n);
}

StatusOr<int> Sum(int a, int b) {
  GRANARY_ASSIGN_OR_RETURN(std::unique_ptr<int> left, MakePositive(a));
  GRANARY_ASSIGN_OR_RETURN(std::unique_ptr<int> right, MakePositive(b));
  return *left + *right;
}

void TestStatus() {
  CHECK(*Sum(2, 3) == 5);
  const StatusOr<int> bad = Sum(2, -3);
  CHECK(bad.status().code() == StatusCode::kOutOfRange);
  CHECK(bad.status().ToString() == "OUT_OF_RANGE: must be positive");
  CHECK(bad.value_or(-1) == -1);

  Status first;
  first.Update(granary::NotFoundError("a"));
  first.Update(granary::InvalidArgumentError("b"));
  CHECK(first == granary::NotFoundError("a"));
  CHECK(Status(StatusCode::kOk, "ignored") == granary::OkStatus());
}

void TestStrings() {
  using granary::EmptyPieces;
  CHECK(granary::StrJoin(granary::StrSplit("a,,b", ','), "|") == "a||b");
  CHECK(granary::StrSplit(",a,", ',', EmptyPieces::kSkip).size() == 1);
  CHECK(granary::StrSplit("", ',').size() == 1);
  CHECK(granary::StrCat("n=", -7, ' ', 18446744073709551615u, ' ', 0.5) ==
        "n=-7 18446744073709551615 0.5");
  CHECK(granary::StripWhitespace("\t x y \n") == "x y");
  CHECK(granary::StrJoin(std::vector<int>{1, 2, 3}, "-") == "1-2-3");
}

void TestNumbers() {
  CHECK(*granary::ParseInt64("-9223372036854775808") == INT64_MIN);
  CHECK(*granary::ParseInt64("9223372036854775807") == INT64_MAX);
  CHECK(granary::ParseInt64("9223372036854775808").status().code() ==
        StatusCode::kOutOfRange);
  CHECK(granary::ParseInt64("99999999999999999999").status().code() ==
        StatusCode::kOutOfRange);
  for (const char* bad : {"", "-", "12x", " 1"}) {
    CHECK(!granary::ParseInt64(bad).ok());
    CHECK(!granary::ParseDouble(bad).ok() || *bad == '-');
  }
  CHECK(*granary::ParseDouble("2.5e3") == 2500.0);
}

void TestDuration() {
  using granary::FormatDuration;
  CHECK(FormatDuration(granary::Seconds(90)) == "1m30s");
  CHECK(FormatDuration(granary::Milliseconds(-250)) == "-250ms");
  for (const char* text : {"0s", "1m30s", "-2s5us", "7ns"}) {
    CHECK(FormatDuration(*granary::ParseDuration(text)) == text);
  }
  CHECK(!granary::ParseDuration("5 s").ok());
  CHECK(!granary::ParseDuration("s").ok());
  CHECK(granary::MonotonicNow() > granary::Duration());
}

void TestFlags() {
  const char* const argv[] = {"prog",   "--timeout=1m5s", "input", "--fast",
                              "--label=a=b", "--",        "--label"};
  const auto rest = granary::ParseCommandLine(7, argv);
  CHECK(rest.ok() && granary::StrJoin(*rest, " ") == "input --label");
  CHECK(FLAGS_timeout.Get() == granary::Seconds(65));
  CHECK(FLAGS_fast.Get());
  CHECK(FLAGS_label.Get() == "a=b");

  const char* const unknown[] = {"prog", "--lable=x"};
  CHECK(granary::ParseCommandLine(2, unknown).status().code() ==
        StatusCode::kNotFound);
  const char* const bare[] = {"prog", "--timeout"};
  CHECK(!granary::ParseCommandLine(2, bare).ok());
  CHECK(granary::StartsWith(granary::FlagsHelp(), "--fast=true"));
}

}  // namespace

int main() {
  TestStatus();
  TestStrings();
  TestNumbers();
  TestDuration();
  TestFlags();
  return check::failures == 0 ? 0 : 1;
}
