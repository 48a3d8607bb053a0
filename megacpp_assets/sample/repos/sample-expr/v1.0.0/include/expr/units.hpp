// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef EXPR_UNITS_HPP
#define EXPR_UNITS_HPP

#include <type_traits>

namespace expr {
namespace units {

/// Exponents of metre, kilogram and second.
template <int M, int Kg, int S>
struct dimension {
  static constexpr int metre = M, kilogram = Kg, second = S;
};

template <typename A, typename B>
using multiply_dim = dimension<A::metre + B::metre, A::kilogram + B::kilogram,
                               A::second + B::second>;
template <typename A, typename B>
using divide_dim = dimension<A::metre - B::metre, A::kilogram - B::kilogram,
                             A::second - B::second>;

/// A number with a dimension, stored in SI base units.
template <typename Dim, typename Rep = double>
class quantity {
public:
  using dimension_type = Dim;
  using rep = Rep;

  constexpr quantity() = default;
  constexpr explicit quantity(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  /// The number of `unit`s in this quantity.
  constexpr Rep in(quantity unit) const { return value_ / unit.value_; }

  constexpr quantity operator-() const { return quantity(-value_); }
  constexpr quantity &operator+=(quantity o) {
    value_ += o.value_;
    return *this;
  }

  friend constexpr quantity operator+(quantity a, quantity b) {
    return quantity(a.value_ + b.value_);
  }
  friend constexpr quantity operator-(quantity a, quantity b) {
    return quantity(a.value_ - b.value_);
  }
  friend constexpr bool operator==(quantity a, quantity b) {
    return a.value_ == b.value_;
  }
  friend constexpr bool operator<(quantity a, quantity b) {
    return a.value_ < b.value_;
  }
  friend constexpr quantity operator*(quantity q, Rep k) {
    return quantity(q.value_ * k);
  }
  friend constexpr quantity operator*(Rep k, quantity q) { return q * k; }

private:
  Rep value_{};
};

using scalar_dim = dimension<0, 0, 0>;

namespace detail {
/// Dimensionless results decay to the plain representation.
template <typename Dim, typename Rep>
using normalized =
    std::conditional_t<std::is_same_v<Dim, scalar_dim>, Rep, quantity<Dim, Rep>>;
}  // namespace detail

template <typename A, typename B, typename Rep>
constexpr auto operator*(quantity<A, Rep> a, quantity<B, Rep> b) {
  return detail::normalized<multiply_dim<A, B>, Rep>(a.value() * b.value());
}

template <typename A, typename B, typename Rep>
constexpr auto operator/(quantity<A, Rep> a, quantity<B, Rep> b) {
  return detail::normalized<divide_dim<A, B>, Rep>(a.value() / b.value());
}

using length = quantity<dimension<1, 0, 0>>;
using mass = quantity<dimension<0, 1, 0>>;
using duration = quantity<dimension<0, 0, 1>>;
using speed = quantity<dimension<1, 0, -1>>;
using force = quantity<dimension<1, 1, -2>>;
using energy = quantity<dimension<2, 1, -2>>;

namespace literals {

#define EXPR_UNIT_LITERAL(type, suffix, factor)                        \
  constexpr type operator""_##suffix(long double v) {                  \
    return type(static_cast<double>(v) * (factor));                    \
  }                                                                    \
  constexpr type operator""_##suffix(unsigned long long v) {           \
    return type(static_cast<double>(v) * (factor));                    \
  }

EXPR_UNIT_LITERAL(length, m, 1.0)
EXPR_UNIT_LITERAL(length, km, 1000.0)
EXPR_UNIT_LITERAL(mass, kg, 1.0)
EXPR_UNIT_LITERAL(duration, s, 1.0)
EXPR_UNIT_LITERAL(duration, h, 3600.0)

#undef EXPR_UNIT_LITERAL

}  // namespace literals
}  // namespace units
}  // namespace expr

#endif  // EXPR_UNITS_HPP
