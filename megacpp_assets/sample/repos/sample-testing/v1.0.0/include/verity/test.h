// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef VERITY_TEST_H_
#define VERITY_TEST_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "verity/assertion.h"

namespace verity {

/// Base of every fixture. A fresh object is made for each test.
class Test {
 public:
  virtual ~Test() = default;

  /// Runs SetUp, the body and TearDown. A fatal failure in SetUp skips the
  /// body; TearDown always runs.
  void Run();

 protected:
  Test() = default;
  virtual void SetUp() {}
  virtual void TearDown() {}
  virtual void TestBody() = 0;

  /// True once the running test has failed in a way that ends it.
  static bool HasFatalFailure();
};

using TestFactory = std::function<std::unique_ptr<Test>()>;

struct TestInfo {
  std::string suite;
  std::string name;
  const char* file;
  int line;
  TestFactory factory;

  std::string FullName() const { return suite + "." + name; }
};

/// A suite whose tests are only known once its generators have run.
class DeferredSuite {
 public:
  virtual ~DeferredSuite() = default;
  virtual std::vector<TestInfo> Expand() const = 0;
};

/// Every test of a program. Tests enter the global registry before main().
class Registry {
 public:
  static Registry& Global();

  bool Add(TestInfo info);
  void AddDeferred(const DeferredSuite* suite);

  /// Turns parameterised suites into plain tests. Does nothing the second
  /// time.
  void ExpandDeferred();

  const std::vector<TestInfo>& tests() const { return tests_; }

 private:
  bool Contains(const std::string& full_name) const;

  std::vector<TestInfo> tests_;
  std::vector<const DeferredSuite*> deferred_;
};

/// Base of fixtures that run once per parameter value.
template <typename T>
class TestWithParam : public Test {
 public:
  using ParamType = T;

  static void SetParam(const T* param) { param_ = param; }

 protected:
  const T& GetParam() const { return *param_; }

 private:
  inline static const T* param_ = nullptr;
};

/// Lists parameter values given one by one.
template <typename T, typename... Rest>
std::vector<std::decay_t<T>> Values(T first, Rest... rest) {
  return {std::move(first), std::decay_t<T>(std::move(rest))...};
}

/// Lists `begin`, `begin + step`, ... as long as the value is below `end`.
template <typename T>
std::vector<T> Range(T begin, T end, T step = T(1)) {
  std::vector<T> values;
  for (T value = begin; value < end; value += step) values.push_back(value);
  return values;
}

namespace internal {

/// Cross product of the tests and the instantiations of one fixture.
template <typename Fixture>
class ParamSuite : public DeferredSuite {
 public:
  using Param = typename Fixture::ParamType;

  static ParamSuite& Instance() {
    static ParamSuite* suite = [] {
      auto* created = new ParamSuite;
      Registry::Global().AddDeferred(created);
      return created;
    }();
    return *suite;
  }

  bool AddTest(TestInfo pattern) {
    patterns_.push_back(std::move(pattern));
    return true;
  }

  bool AddInstance(std::string prefix, std::vector<Param> params) {
    instances_.push_back({std::move(prefix), std::move(params)});
    return true;
  }

  std::vector<TestInfo> Expand() const override {
    std::vector<TestInfo> expanded;
    for (const Instance_& instance : instances_) {
      for (const TestInfo& pattern : patterns_) {
        AppendInstance(instance, pattern, &expanded);
      }
    }
    return expanded;
  }

 private:
  struct Instance_ {
    std::string prefix;
    std::vector<Param> params;
  };

  static void AppendInstance(const Instance_& instance,
                             const TestInfo& pattern,
                             std::vector<TestInfo>* out) {
    int index = 0;
    for (const Param& param : instance.params) {
      TestInfo info = pattern;
      info.suite = instance.prefix + "/" + pattern.suite;
      info.name = pattern.name + "/" + std::to_string(index++);
      info.factory = [make = pattern.factory, value = &param] {
        Fixture::SetParam(value);
        return make();
      };
      out->push_back(std::move(info));
    }
  }

  std::vector<TestInfo> patterns_;
  std::vector<Instance_> instances_;
};

}  // namespace internal
}  // namespace verity

#define VERITY_CLASS_(suite, name) suite##_##name##_Test

#define VERITY_TEST_(suite, name, base, add)                              \
  class VERITY_CLASS_(suite, name) : public base {                        \
   private:                                                               \
    void TestBody() override;                                             \
    static const bool registered_;                                        \
  };                                                                      \
  const bool VERITY_CLASS_(suite, name)::registered_ =                    \
      (add)({#suite, #name, __FILE__, __LINE__,                           \
             [] { return std::make_unique<VERITY_CLASS_(suite, name)>(); }}); \
  void VERITY_CLASS_(suite, name)::TestBody()

/// Defines a test that needs no fixture.
#define TEST(suite, name) \
  VERITY_TEST_(suite, name, ::verity::Test, ::verity::Registry::Global().Add)

/// Defines a test in the scope of `fixture`.
#define TEST_F(fixture, name) \
  VERITY_TEST_(fixture, name, fixture, ::verity::Registry::Global().Add)

/// Defines a test that runs for every value of every instantiation.
#define TEST_P(fixture, name)          \
  VERITY_TEST_(fixture, name, fixture, \
               ::verity::internal::ParamSuite<fixture>::Instance().AddTest)

#define INSTANTIATE_TEST_SUITE_P(prefix, fixture, values)                \
  static const bool verity_instance_##prefix##_##fixture =               \
      ::verity::internal::ParamSuite<fixture>::Instance().AddInstance(   \
          #prefix, values)

#endif  // VERITY_TEST_H_
