// The price of context, in steps of worth as `megacpp_assets/semantic/documents/context/prices.py` defines them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

namespace megacpp {

constexpr double kNeeded = std::numeric_limits<double>::infinity();

class Prices {
 public:
  // Without a price: all context is affordable.
  Prices() : Prices(-kNeeded, 0) {}
  Prices(double least, std::int64_t spare) : least_(least), spare_(spare) {}

  bool is_free() const { return least_ == -kNeeded; }

  bool is_affordable(double worth, std::int64_t chars) const {
    const double step = step_of(worth);
    return step > least_ || step == kNeeded || (step == least_ && chars <= spare_);
  }

  void take(double worth, std::int64_t chars) {
    const double step = step_of(worth);
    taken[step] += chars;
    if (step == least_) spare_ -= chars;
  }

  // The lowest worth at which context is shown.
  double least() const { return std::isfinite(least_) ? std::pow(2.0, least_ / kSteps) : std::max(0.0, least_); }

  // The characters of shown context by step.
  std::map<double, std::int64_t> taken;

 private:
  static constexpr double kSteps = 32;

  static double step_of(double worth) {
    if (worth > 0 && worth < kNeeded) return std::floor(std::log2(worth) * kSteps);
    return worth > 0 ? kNeeded : -kNeeded;
  }

  double least_;
  std::int64_t spare_;
};

}  // namespace megacpp
