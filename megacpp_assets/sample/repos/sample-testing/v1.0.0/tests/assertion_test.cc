// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "verity/matchers.h"
#include "verity/test.h"

namespace {

enum class Color { kRed = 3 };

struct Version {
  int major;
  int minor;
  std::string ToString() const {
    return "v" + std::to_string(major) + "." + std::to_string(minor);
  }
};

struct Opaque {
  char bytes[5];
};

using verity::Print;

TEST(PrintTest, RendersScalarsAndText) {
  EXPECT_EQ(Print(42), "42");
  EXPECT_EQ(Print(true), "true");
  EXPECT_EQ(Print('x'), "'x'");
  EXPECT_EQ(Print(Color::kRed), "3");
  EXPECT_EQ(Print("tab\there"), "\"tab\\there\"");
  EXPECT_EQ(Print(nullptr), "nullptr");
}

TEST(PrintTest, RendersStructuredValues) {
  EXPECT_EQ(Print(std::vector<int>{1, 2, 3}), "{1, 2, 3}");
  EXPECT_EQ(Print(std::make_pair(1, std::string("one"))), "(1, \"one\")");
  EXPECT_EQ(Print(Version{2, 7}), "v2.7");
  EXPECT_EQ(Print(Opaque{}), "<5-byte object>");
}

TEST(PrintTest, CutsLongRanges) {
  const std::string text = Print(std::vector<int>(40, 0));
  EXPECT_THAT(text, verity::HasSubstr("...}"));
}

/// Runs `body` with failures captured and gives back what was reported.
template <typename Body>
std::vector<verity::Failure> Capture(Body body) {
  verity::ScopedFailures failures;
  body();
  return failures.Take();
}

TEST(AssertionTest, ExpectGoesOnAfterAFailure) {
  int reached = 0;
  const auto failures = Capture([&] {
    EXPECT_EQ(1 + 1, 3) << "sum " << 2;
    ++reached;
    EXPECT_TRUE(reached > 5);
  });
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(reached, 1);
  EXPECT_THAT(failures[0].text, verity::HasSubstr("1 + 1 == 3"));
  EXPECT_THAT(failures[0].text, verity::HasSubstr("sum 2"));
  EXPECT_TRUE(failures[1].severity == verity::Severity::kNonFatal);
}

TEST(AssertionTest, AssertLeavesTheFunction) {
  bool reached = false;
  const auto failures = Capture([&] {
    ASSERT_GT(1, 2);
    reached = true;
  });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_FALSE(reached);
  EXPECT_TRUE(failures[0].severity == verity::Severity::kFatal);
}

TEST(AssertionTest, BindsLikeOneStatement) {
  const bool taken = false;
  if (taken)
    FAIL();
  else
    EXPECT_FALSE(taken);
}

TEST(AssertionTest, ComparesFloatingPointWithinTolerance) {
  EXPECT_NEAR(0.1 + 0.2, 0.3, 1e-12);
  const auto failures = Capture([] { EXPECT_NEAR(1.0, 2.0, 0.5); });
  EXPECT_EQ(failures.size(), 1u);
}

TEST(AssertionTest, ChecksExceptions) {
  EXPECT_THROW(throw std::out_of_range("index"), std::logic_error);
  const auto failures = Capture([] {
    EXPECT_THROW(throw 1, std::logic_error);
    EXPECT_THROW(std::string("quiet").size(), std::logic_error);
  });
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_THAT(failures[1].text, verity::HasSubstr("nothing was thrown"));
}

}  // namespace
