// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef VERITY_ASSERTION_H_
#define VERITY_ASSERTION_H_

#include <string>
#include <utility>
#include <vector>

#include "verity/printer.h"

namespace verity {

enum class Severity { kNonFatal, kFatal };

/// One failed check, with the place in the source where it was written.
struct Failure {
  Severity severity;
  const char* file;
  int line;
  std::string text;
};

/// Receives failures. The innermost sink of a thread gets them all.
class FailureSink {
 public:
  virtual ~FailureSink() = default;
  virtual void Report(const Failure& failure) = 0;
};

/// Collects failures for as long as it lives, shadowing the sink before it.
/// The runner opens one per test; tests of assertions open their own.
class ScopedFailures : public FailureSink {
 public:
  ScopedFailures();
  ~ScopedFailures() override;
  ScopedFailures(const ScopedFailures&) = delete;
  ScopedFailures& operator=(const ScopedFailures&) = delete;

  void Report(const Failure& failure) override;

  bool empty() const { return failures_.empty(); }
  bool has_fatal() const;
  const std::vector<Failure>& failures() const { return failures_; }
  std::vector<Failure> Take() { return std::exchange(failures_, {}); }

 private:
  FailureSink* previous_;
  std::vector<Failure> failures_;
};

/// Hands a failure to the innermost sink, or to stderr when there is none.
void ReportFailure(const Failure& failure);

/// Outcome of a predicate together with the reason, if it did not hold.
class AssertionResult {
 public:
  static AssertionResult Success() { return AssertionResult(true, {}); }
  static AssertionResult Fail(std::string why) {
    return AssertionResult(false, std::move(why));
  }

  explicit operator bool() const { return ok_; }
  const std::string& text() const { return text_; }

 private:
  AssertionResult(bool ok, std::string text)
      : ok_(ok), text_(std::move(text)) {}

  bool ok_;
  std::string text_;
};

namespace internal {

/// Target of the `=` in the assertion macros: joins the reason of the failure
/// with the text streamed by the user, then reports both.
class AssertHelper {
 public:
  AssertHelper(Severity severity, const char* file, int line,
               std::string reason);
  void operator=(const Message& message) const;

 private:
  Severity severity_;
  const char* file_;
  int line_;
  std::string reason_;
};

std::string ComparisonText(const char* left_expr, const char* op,
                           const char* right_expr, const std::string& left,
                           const std::string& right);

#define VERITY_DEFINE_COMPARE_(Name, op)                                     \
  template <typename L, typename R>                                          \
  AssertionResult Compare##Name(const char* left_expr,                       \
                                const char* right_expr, const L& left,       \
                                const R& right) {                            \
    if (left op right) return AssertionResult::Success();                    \
    return AssertionResult::Fail(ComparisonText(                             \
        left_expr, #op, right_expr, Print(left), Print(right)));             \
  }

VERITY_DEFINE_COMPARE_(Eq, ==)
VERITY_DEFINE_COMPARE_(Ne, !=)
VERITY_DEFINE_COMPARE_(Lt, <)
VERITY_DEFINE_COMPARE_(Le, <=)
VERITY_DEFINE_COMPARE_(Gt, >)
VERITY_DEFINE_COMPARE_(Ge, >=)
#undef VERITY_DEFINE_COMPARE_

AssertionResult CompareNear(const char* left_expr, const char* right_expr,
                            double left, double right, double tolerance);
AssertionResult CheckBool(const char* expr, bool actual, bool expected);

template <typename E, typename Statement>
AssertionResult CheckThrows(const char* type_name, Statement&& statement) {
#if defined(__cpp_exceptions)
  try {
    std::forward<Statement>(statement)();
  } catch (const E&) {
    return AssertionResult::Success();
  } catch (...) {
    return AssertionResult::Fail(std::string("expected ") + type_name +
                                 ", but another type was thrown");
  }
  return AssertionResult::Fail(std::string("expected ") + type_name +
                               ", but nothing was thrown");
#else
  static_cast<void>(statement);
  return AssertionResult::Fail(std::string(type_name) +
                               " cannot be thrown: exceptions are disabled");
#endif
}

}  // namespace internal
}  // namespace verity

// Keeps an `else` written after a macro from binding to the macro's own `if`.
#define VERITY_BLOCK_ \
  switch (0)          \
  case 0:             \
  default:

#define VERITY_CHECK_(severity, on_failure, result)                       \
  VERITY_BLOCK_                                                           \
  if (const ::verity::AssertionResult verity_result_ = (result)) {        \
  } else                                                                  \
    on_failure ::verity::internal::AssertHelper(                          \
        ::verity::Severity::severity, __FILE__, __LINE__,                 \
        verity_result_.text()) = ::verity::Message()

#define VERITY_EXPECT_(result) VERITY_CHECK_(kNonFatal, , result)
#define VERITY_ASSERT_(result) VERITY_CHECK_(kFatal, return, result)
#define VERITY_CMP_(name, a, b) ::verity::internal::Compare##name(#a, #b, a, b)
#define VERITY_BOOL_(expr, expected) \
  ::verity::internal::CheckBool(#expr, static_cast<bool>(expr), expected)

#define EXPECT_TRUE(expr) VERITY_EXPECT_(VERITY_BOOL_(expr, true))
#define EXPECT_FALSE(expr) VERITY_EXPECT_(VERITY_BOOL_(expr, false))
#define ASSERT_TRUE(expr) VERITY_ASSERT_(VERITY_BOOL_(expr, true))
#define ASSERT_FALSE(expr) VERITY_ASSERT_(VERITY_BOOL_(expr, false))

#define EXPECT_EQ(a, b) VERITY_EXPECT_(VERITY_CMP_(Eq, a, b))
#define EXPECT_NE(a, b) VERITY_EXPECT_(VERITY_CMP_(Ne, a, b))
#define EXPECT_LT(a, b) VERITY_EXPECT_(VERITY_CMP_(Lt, a, b))
#define EXPECT_LE(a, b) VERITY_EXPECT_(VERITY_CMP_(Le, a, b))
#define EXPECT_GT(a, b) VERITY_EXPECT_(VERITY_CMP_(Gt, a, b))
#define EXPECT_GE(a, b) VERITY_EXPECT_(VERITY_CMP_(Ge, a, b))
#define ASSERT_EQ(a, b) VERITY_ASSERT_(VERITY_CMP_(Eq, a, b))
#define ASSERT_NE(a, b) VERITY_ASSERT_(VERITY_CMP_(Ne, a, b))
#define ASSERT_GT(a, b) VERITY_ASSERT_(VERITY_CMP_(Gt, a, b))

#define EXPECT_NEAR(a, b, tolerance) \
  VERITY_EXPECT_(::verity::internal::CompareNear(#a, #b, a, b, tolerance))
#define EXPECT_THROW(statement, type)                       \
  VERITY_EXPECT_((::verity::internal::CheckThrows<type>(    \
      #type, [&] { static_cast<void>(statement); })))

#define ADD_FAILURE() VERITY_EXPECT_(::verity::AssertionResult::Fail("failed"))
#define FAIL() VERITY_ASSERT_(::verity::AssertionResult::Fail("failed"))

#endif  // VERITY_ASSERTION_H_
