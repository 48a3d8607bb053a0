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
