// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/runner.h"

#include <stdexcept>
#include <string>

#include "verity/matchers.h"

namespace {

using verity::Filter;
using verity::Registry;
using verity::RunOptions;
using verity::Summary;
using verity::TestInfo;

/// A test made from a callable, for registries that a test fills itself.
class LambdaTest : public verity::Test {
 public:
  explicit LambdaTest(std::function<void()> body) : body_(std::move(body)) {}

 private:
  void TestBody() override { body_(); }
  std::function<void()> body_;
};

class RunnerTest : public verity::Test {
 protected:
  void Define(const char* suite, const char* name, std::function<void()> body) {
    registry_.Add(TestInfo{suite, name, __FILE__, __LINE__, [body] {
                             return std::make_unique<LambdaTest>(body);
                           }});
  }

  Summary Run(const std::string& filter = {}) {
    verity::Runner runner(&registry_);
    RunOptions options;
    options.filter = filter;
    return runner.Run(options);
  }

  Registry registry_;
};

TEST_F(RunnerTest, CountsPassesAndFailures) {
  Define("Math", "Good", [] { EXPECT_EQ(2 + 2, 4); });
  Define("Math", "Bad", [] { EXPECT_EQ(2 + 2, 5); });
  Define("Math", "Throws", [] { throw std::runtime_error("boom"); });
  const Summary summary = Run();
  EXPECT_EQ(summary.run, 3);
  EXPECT_EQ(summary.failed, 2);
  EXPECT_THAT(summary.failed_names,
              verity::ElementsAre("Math.Bad", "Math.Throws"));
  EXPECT_FALSE(HasFatalFailure());
}

TEST_F(RunnerTest, RunsOnlyWhatTheFilterTakes) {
  int runs = 0;
  for (const char* name : {"Alpha", "Beta", "Gamma"}) {
    Define("Greek", name, [&runs] { ++runs; });
  }
  Run("*.Alpha:Greek.Gam?a");
  EXPECT_EQ(runs, 2);
  Run("Latin.*");
  EXPECT_EQ(runs, 2);
}

TEST_F(RunnerTest, RepeatsAndShufflesReproducibly) {
  std::string order;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    Define("Letters", name, [&order, name] { order += name; });
  }
  verity::Runner runner(&registry_);
  RunOptions options;
  options.repeat = 2;
  EXPECT_EQ(runner.Run(options).run, 10);
  EXPECT_EQ(order, "abcdeabcde");

  options.shuffle_seed = 7;
  order.clear();
  runner.Run(options);
  const std::string first = std::exchange(order, {});
  runner.Run(options);
  EXPECT_EQ(order, first);
  EXPECT_NE(first, "abcdeabcde");
}

TEST(FilterTest, Excludes) {
  const Filter filter("Net.*-*Slow*:Net.Flaky");
  EXPECT_TRUE(filter.Matches("Net.Fast"));
  EXPECT_FALSE(filter.Matches("Net.SlowOne"));
  EXPECT_FALSE(filter.Matches("Net.Flaky"));
  EXPECT_FALSE(filter.Matches("Disk.Fast"));
  EXPECT_TRUE(Filter("-Net.*").Matches("Disk.Fast"));
}

TEST(FilterTest, MatchesGlobs) {
  EXPECT_TRUE(Filter().Matches("Any.Thing"));
  EXPECT_TRUE(Filter("A*.*b*c").Matches("Aa.xbxbc"));
  EXPECT_FALSE(Filter("A*.b").Matches("Aa.bc"));
  EXPECT_TRUE(Filter("::X.y").Matches("X.y"));
}

TEST(OptionsTest, ParsesAndRejects) {
  std::string program = "prog", filter = "--filter=A.*", brief = "--brief";
  std::string bad = "--colour";
  char* argv[] = {program.data(), filter.data(), brief.data(), bad.data()};
  RunOptions options;
  std::string error;
  EXPECT_TRUE(verity::ParseOptions(3, argv, &options, &error));
  EXPECT_EQ(options.filter, "A.*");
  EXPECT_TRUE(options.brief);
  EXPECT_FALSE(options.list_only);
  EXPECT_FALSE(verity::ParseOptions(4, argv, &options, &error));
  EXPECT_EQ(error, "--colour");
}

TEST(ConsoleReporterTest, WritesAReadableFailure) {
  std::FILE* file = std::tmpfile();
  ASSERT_TRUE(file != nullptr);
  verity::ConsoleReporter reporter(file,
                                   verity::ConsoleReporter::Style::kBrief);
  verity::TestResult result;
  result.failures.push_back(
      {verity::Severity::kFatal, "unit.cc", 12, "first\nsecond"});
  reporter.OnTestEnd(TestInfo{"S", "T", "unit.cc", 1, nullptr}, result);
  std::rewind(file);
  char buffer[256] = {};
  const std::size_t read = std::fread(buffer, 1, sizeof(buffer) - 1, file);
  std::fclose(file);
  EXPECT_THAT(std::string(buffer, read),
              verity::HasSubstr(
                  "unit.cc:12: fatal failure\n    first\n    second\n[ FAIL ]"));
}

}  // namespace
