// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef GRANARY_DURATION_H_
#define GRANARY_DURATION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "granary/status.h"

namespace granary {

/// A signed length of time, exact to the nanosecond.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration FromNanos(std::int64_t n) { return Duration(n); }

  constexpr std::int64_t nanos() const { return nanos_; }
  constexpr double seconds() const {
    return static_cast<double>(nanos_) / 1e9;
  }

#define GRANARY_DURATION_COMPARE_(op)                        \
  friend constexpr bool operator op(Duration a, Duration b) { \
    return a.nanos_ op b.nanos_;                             \
  }
  GRANARY_DURATION_COMPARE_(==)
  GRANARY_DURATION_COMPARE_(!=)
  GRANARY_DURATION_COMPARE_(<)
  GRANARY_DURATION_COMPARE_(>)
#undef GRANARY_DURATION_COMPARE_

  friend constexpr Duration operator+(Duration a, Duration b) {
    return Duration(a.nanos_ + b.nanos_);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    return Duration(a.nanos_ - b.nanos_);
  }
  friend constexpr Duration operator*(Duration a, std::int64_t k) {
    return Duration(a.nanos_ * k);
  }

 private:
  constexpr explicit Duration(std::int64_t nanos) : nanos_(nanos) {}
  std::int64_t nanos_ = 0;
};

constexpr Duration Nanoseconds(std::int64_t n) {
  return Duration::FromNanos(n);
}
constexpr Duration Microseconds(std::int64_t n) {
  return Nanoseconds(n) * 1000;
}
constexpr Duration Milliseconds(std::int64_t n) {
  return Microseconds(n) * 1000;
}
constexpr Duration Seconds(std::int64_t n) { return Milliseconds(n) * 1000; }
constexpr Duration Minutes(std::int64_t n) { return Seconds(n) * 60; }

/// A reading of the steady clock, good for differences only.
Duration MonotonicNow();

/// "1m30s", "250ms", "-2s": the form that ParseDuration reads.
std::string FormatDuration(Duration duration);
StatusOr<Duration> ParseDuration(std::string_view text);

}  // namespace granary

#endif  // GRANARY_DURATION_H_
