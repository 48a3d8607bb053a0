// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef GRANARY_STATUS_H_
#define GRANARY_STATUS_H_

#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace granary {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument,
  kNotFound,
  kAlreadyExists,
  kOutOfRange,
  kFailedPrecondition,
  kInternal,
};

std::string_view StatusCodeName(StatusCode code);

/// The outcome of an operation: OK, or a code with a message.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string_view message);

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  std::string ToString() const;

  /// Keeps the first error seen: takes over `other` only while OK.
  void Update(const Status& other);

  friend bool operator==(const Status& a, const Status& b) {
    return a.code_ == b.code_ && a.message_ == b.message_;
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }
Status InvalidArgumentError(std::string_view message);
Status NotFoundError(std::string_view message);
Status OutOfRangeError(std::string_view message);

namespace internal {
/// Ends the program: a value was asked of a StatusOr that holds an error.
[[noreturn]] void CrashOnBadAccess(const Status& status);
}  // namespace internal

/// A value, or the error that explains why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
  static_assert(!std::is_same_v<T, Status>, "StatusOr<Status> is ambiguous");

 public:
  using value_type = T;

  StatusOr(Status status)  // NOLINT(google-explicit-constructor)
      : status_(std::move(status)) {
    if (status_.ok()) {
      status_ = Status(StatusCode::kInternal, "OK status without a value");
    }
  }
  StatusOr(T value) {  // NOLINT(google-explicit-constructor)
    ::new (&storage_) T(std::move(value));
  }
  StatusOr(const StatusOr& other) : status_(other.status_) {
    if (ok()) ::new (&storage_) T(other.storage_);
  }
  StatusOr(StatusOr&& other) noexcept : status_(other.status_) {
    if (ok()) ::new (&storage_) T(std::move(other.storage_));
  }
  StatusOr& operator=(StatusOr other) noexcept {
    Clear();
    status_ = std::move(other.status_);
    if (ok()) ::new (&storage_) T(std::move(other.storage_));
    return *this;
  }
  ~StatusOr() { Clear(); }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

  T& value() & {
    EnsureOk();
    return storage_;
  }
  const T& value() const& {
    EnsureOk();
    return storage_;
  }
  T&& value() && {
    EnsureOk();
    return std::move(storage_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }

  template <typename U>
  T value_or(U&& fallback) const& {
    return ok() ? storage_ : static_cast<T>(std::forward<U>(fallback));
  }

 private:
  void EnsureOk() const {
    if (!ok()) internal::CrashOnBadAccess(status_);
  }
  void Clear() {
    if (ok()) storage_.~T();
  }

  Status status_;
  union {
    T storage_;
  };
};

}  // namespace granary

#define GRANARY_CONCAT_IMPL_(a, b) a##b
#define GRANARY_CONCAT_(a, b) GRANARY_CONCAT_IMPL_(a, b)

/// Leaves the function with the error of `expr`, if it has one.
#define GRANARY_RETURN_IF_ERROR(expr)                          \
  do {                                                         \
    ::granary::Status granary_status_ = (expr);                \
    if (!granary_status_.ok()) return granary_status_;         \
  } while (false)

/// Declares or assigns `lhs` from a StatusOr, or leaves with its error.
#define GRANARY_ASSIGN_OR_RETURN(lhs, expr) \
  GRANARY_ASSIGN_OR_RETURN_(GRANARY_CONCAT_(statusor_, __LINE__), lhs, expr)
#define GRANARY_ASSIGN_OR_RETURN_(temp, lhs, expr) \
  auto temp = (expr);                              \
  if (!temp.ok()) return temp.status();            \
  lhs = std::move(temp).value()

#endif  // GRANARY_STATUS_H_
