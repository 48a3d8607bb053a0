// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef VERITY_MOCK_H_
#define VERITY_MOCK_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "verity/matchers.h"

namespace verity {

template <typename Signature>
class MockFunction;

/// What a test expects of the calls whose arguments match.
template <typename R, typename... Args>
class Expectation {
 public:
  using Action = std::function<R(Args...)>;
  using Matchers = std::tuple<Matcher<std::decay_t<Args>>...>;

  Expectation(const char* file, int line, Matchers matchers)
      : file_(file), line_(line), matchers_(std::move(matchers)) {}

  /// Exactly this many calls. Without it: one per WillOnce, else just one.
  Expectation& Times(int count) {
    min_calls_ = max_calls_ = count;
    times_given_ = true;
    return *this;
  }

  /// At least this many calls.
  Expectation& AtLeast(int count) {
    min_calls_ = count;
    max_calls_ = kUnbounded;
    times_given_ = true;
    return *this;
  }

  /// Queues an action for one call.
  Expectation& WillOnce(Action action) {
    once_.push_back(std::move(action));
    if (!times_given_) min_calls_ = max_calls_ = static_cast<int>(once_.size());
    return *this;
  }

  /// Sets the action for every call that has none queued.
  Expectation& WillRepeatedly(Action action) {
    repeated_ = std::move(action);
    if (!times_given_) {
      min_calls_ = static_cast<int>(once_.size());
      max_calls_ = kUnbounded;
    }
    return *this;
  }

  bool Accepts(const std::decay_t<Args>&... args) const {
    return AcceptsImpl(std::index_sequence_for<Args...>{}, args...);
  }

  bool saturated() const {
    return max_calls_ != kUnbounded && calls_ >= max_calls_;
  }

  R Perform(Args... args) {
    ++calls_;
    if (!once_.empty()) {
      Action action = std::move(once_.front());
      once_.pop_front();
      return action(std::forward<Args>(args)...);
    }
    if (repeated_) return repeated_(std::forward<Args>(args)...);
    return R();
  }

  /// Reports a failure if too few calls were seen.
  void Verify(const std::string& name) const {
    if (calls_ >= min_calls_) return;
    ReportFailure({Severity::kNonFatal, file_, line_,
                   "expected " + std::to_string(min_calls_) + " call(s) of " +
                       name + ", saw " + std::to_string(calls_)});
  }

 private:
  static constexpr int kUnbounded = -1;

  template <std::size_t... I>
  bool AcceptsImpl(std::index_sequence<I...>,
                   const std::decay_t<Args>&... args) const {
    return (std::get<I>(matchers_).Matches(args) && ...);
  }

  const char* file_;
  int line_;
  Matchers matchers_;
  int min_calls_ = 1;
  int max_calls_ = 1;
  bool times_given_ = false;
  int calls_ = 0;
  std::list<Action> once_;
  Action repeated_;
};

/// A callable whose behaviour and expected calls are set by the test. Later
/// expectations take precedence over earlier ones.
template <typename R, typename... Args>
class MockFunction<R(Args...)> {
 public:
  using ExpectationType = Expectation<R, Args...>;

  explicit MockFunction(std::string name) : name_(std::move(name)) {}
  MockFunction(const MockFunction&) = delete;
  MockFunction& operator=(const MockFunction&) = delete;
  ~MockFunction() { VerifyAndClear(); }

  ExpectationType& Expect(const char* file, int line,
                          Matcher<std::decay_t<Args>>... matchers) {
    expectations_.emplace_front(
        file, line, typename ExpectationType::Matchers(std::move(matchers)...));
    return expectations_.front();
  }

  R Call(Args... args) {
    bool matched = false;
    for (ExpectationType& expectation : expectations_) {
      if (!expectation.Accepts(args...)) continue;
      matched = true;
      if (!expectation.saturated()) {
        return expectation.Perform(std::forward<Args>(args)...);
      }
    }
    ReportFailure({Severity::kNonFatal, __FILE__, __LINE__,
                   (matched ? "too many calls: " : "unexpected call: ") +
                       DescribeCall(args...)});
    return R();
  }

  void VerifyAndClear() {
    for (const ExpectationType& expectation : expectations_) {
      expectation.Verify(name_);
    }
    expectations_.clear();
  }

 private:
  std::string DescribeCall(const std::decay_t<Args>&... args) const {
    std::string out = name_ + "(";
    const std::size_t bare = out.size();
    ((out += (out.size() == bare ? "" : ", ") + Print(args)), ...);
    return out + ")";
  }

  std::string name_;
  std::list<ExpectationType> expectations_;
};

/// Action: gives back a copy of `value`.
template <typename V>
auto Return(V value) {
  return [value = std::move(value)](const auto&...) { return value; };
}

/// Action: counts calls in `*counter`.
inline auto CountIn(int* counter) {
  return [counter](const auto&...) { ++*counter; };
}

}  // namespace verity

#define MOCK_METHOD0(Ret, Name, spec)                  \
  ::verity::MockFunction<Ret()> mock_##Name{#Name};    \
  Ret Name() spec { return mock_##Name.Call(); }

#define MOCK_METHOD1(Ret, Name, A1, spec)              \
  ::verity::MockFunction<Ret(A1)> mock_##Name{#Name};  \
  Ret Name(A1 a1) spec { return mock_##Name.Call(std::forward<A1>(a1)); }

#define MOCK_METHOD2(Ret, Name, A1, A2, spec)              \
  ::verity::MockFunction<Ret(A1, A2)> mock_##Name{#Name};  \
  Ret Name(A1 a1, A2 a2) spec {                            \
    return mock_##Name.Call(std::forward<A1>(a1), std::forward<A2>(a2)); \
  }

#define EXPECT_CALL0(object, Name) \
  (object).mock_##Name.Expect(__FILE__, __LINE__)
#define EXPECT_CALL(object, Name, ...) \
  (object).mock_##Name.Expect(__FILE__, __LINE__, __VA_ARGS__)

#endif  // VERITY_MOCK_H_
