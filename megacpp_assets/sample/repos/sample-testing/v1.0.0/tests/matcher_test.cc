// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/matchers.h"

#include <string>
#include <vector>

#include "verity/test.h"

namespace {

using verity::AllOf;
using verity::AnyOf;
using verity::Contains;
using verity::ElementsAre;
using verity::Eq;
using verity::Gt;
using verity::HasSubstr;
using verity::Lt;
using verity::Matcher;
using verity::Not;

TEST(MatcherTest, ComparesAndCombines) {
  EXPECT_THAT(5, AllOf(Gt(1), Lt(10), Not(7)));
  EXPECT_THAT(11, AnyOf(Lt(3), Eq(11)));
  EXPECT_THAT(std::string("verity"), HasSubstr("rit"));
}

TEST(MatcherTest, LooksIntoContainers) {
  const std::vector<int> primes{2, 3, 5, 7};
  EXPECT_THAT(primes, Contains(5));
  EXPECT_THAT(primes, Not(Contains(Gt(7))));
  EXPECT_THAT(primes, ElementsAre(2, 3, Gt(4), verity::_));
  EXPECT_THAT(primes, Not(ElementsAre(2, 3, 5)));
  EXPECT_THAT(primes, Not(ElementsAre(2, 3, 5, 7, 11)));
}

TEST(MatcherTest, DescribesItself) {
  const Matcher<int> matcher = AllOf(Gt(1), Not(Lt(0)));
  EXPECT_EQ(matcher.Describe(), "is greater than 1 and not (is less than 0)");
  const Matcher<std::string> literal = "abc";
  EXPECT_EQ(literal.Describe(), "is equal to \"abc\"");
}

/// Pairs of a year and whether it is a leap year.
using YearCase = std::pair<int, bool>;

class LeapYearTest : public verity::TestWithParam<YearCase> {
 protected:
  static bool IsLeap(int year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  }
};

TEST_P(LeapYearTest, FollowsTheCalendar) {
  EXPECT_EQ(IsLeap(GetParam().first), GetParam().second)
      << "year " << GetParam().first;
}

INSTANTIATE_TEST_SUITE_P(Known, LeapYearTest,
                         verity::Values(YearCase{1900, false},
                                        YearCase{2000, true},
                                        YearCase{2023, false},
                                        YearCase{2024, true}));

class SquareTest : public verity::TestWithParam<int> {};

TEST_P(SquareTest, IsNeverNegative) { EXPECT_GE(GetParam() * GetParam(), 0); }

TEST_P(SquareTest, GrowsAwayFromZero) {
  const int n = GetParam();
  EXPECT_THAT((n + 1) * (n + 1), Gt(n * n - 2 * (n < 0 ? -n : n)));
}

INSTANTIATE_TEST_SUITE_P(Small, SquareTest, verity::Range(-3, 4));
INSTANTIATE_TEST_SUITE_P(Sparse, SquareTest, verity::Range(10, 100, 30));

}  // namespace
