// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef EXPR_VECTOR_HPP
#define EXPR_VECTOR_HPP

#include <cmath>
#include <cstddef>

#include "expr/traits.hpp"

namespace expr {

/// CRTP root of all vector expressions. `E` provides `operator[]`, `extent`
/// and `is_terminal`; nothing is computed until an element is read.
template <typename E>
struct vector_expr {
  constexpr const E &self() const { return static_cast<const E &>(*this); }
};

template <typename T, std::size_t N>
class vec : public vector_expr<vec<T, N>> {
public:
  using shape = vector_shape;
  using value_type = T;
  static constexpr std::size_t extent = N;
  static constexpr bool is_terminal = true;

  constexpr vec() = default;

  template <typename... Us, typename = std::enable_if_t<
                                sizeof...(Us) == N && (is_scalar_v<Us> && ...)>>
  constexpr explicit vec(Us... values) : data_{static_cast<T>(values)...} {}

  template <typename E>
  constexpr vec(const vector_expr<E> &e) {
    *this = e;
  }

  template <typename E>
  constexpr vec &operator=(const vector_expr<E> &e) {
    static_assert(E::extent == N, "vector sizes differ");
    for (std::size_t i = 0; i < N; ++i)
      data_[i] = static_cast<T>(e.self()[i]);
    return *this;
  }

  template <typename E>
  constexpr vec &operator+=(const vector_expr<E> &e) {
    return *this = *this + e.self();
  }

  constexpr T &operator[](std::size_t i) { return data_[i]; }
  constexpr const T &operator[](std::size_t i) const { return data_[i]; }

  constexpr const T *begin() const { return data_; }
  constexpr const T *end() const { return data_ + N; }

private:
  T data_[N] = {};
};

template <typename First, typename... Rest>
vec(First, Rest...) -> vec<First, 1 + sizeof...(Rest)>;

/// Element-wise combination of two vector expressions.
template <typename Op, typename L, typename R>
class vector_zip : public vector_expr<vector_zip<Op, L, R>> {
  static_assert(L::extent == R::extent, "vector sizes differ");

public:
  using shape = vector_shape;
  using value_type =
      result_of_op<Op, typename L::value_type, typename R::value_type>;
  static constexpr std::size_t extent = L::extent;
  static constexpr bool is_terminal = false;

  constexpr vector_zip(const L &l, const R &r) : l_(l), r_(r) {}
  constexpr value_type operator[](std::size_t i) const {
    return Op::apply(l_[i], r_[i]);
  }

private:
  operand_t<L> l_;
  operand_t<R> r_;
};

/// Combination of every element with one scalar.
template <typename Op, typename E, typename S>
class vector_scale : public vector_expr<vector_scale<Op, E, S>> {
public:
  using shape = vector_shape;
  using value_type = result_of_op<Op, typename E::value_type, S>;
  static constexpr std::size_t extent = E::extent;
  static constexpr bool is_terminal = false;

  constexpr vector_scale(const E &e, S s) : e_(e), s_(s) {}
  constexpr value_type operator[](std::size_t i) const {
    return Op::apply(e_[i], s_);
  }

private:
  operand_t<E> e_;
  S s_;
};

template <typename L, typename R>
constexpr vector_zip<plus_op, L, R> operator+(const vector_expr<L> &l,
                                              const vector_expr<R> &r) {
  return {l.self(), r.self()};
}

template <typename L, typename R>
constexpr vector_zip<minus_op, L, R> operator-(const vector_expr<L> &l,
                                               const vector_expr<R> &r) {
  return {l.self(), r.self()};
}

template <typename E, typename S, enable_scalar<S> = 0>
constexpr vector_scale<times_op, E, S> operator*(const vector_expr<E> &e, S s) {
  return {e.self(), s};
}

template <typename E, typename S, enable_scalar<S> = 0>
constexpr auto operator*(S s, const vector_expr<E> &e) {
  return e * s;
}

template <typename E, typename S, enable_scalar<S> = 0>
constexpr vector_scale<over_op, E, S> operator/(const vector_expr<E> &e, S s) {
  return {e.self(), s};
}

template <typename L, typename R>
constexpr auto dot(const vector_expr<L> &l, const vector_expr<R> &r) {
  const vector_zip<times_op, L, R> products(l.self(), r.self());
  typename vector_zip<times_op, L, R>::value_type sum{};
  for (std::size_t i = 0; i < L::extent; ++i)
    sum += products[i];
  return sum;
}

template <typename E>
auto norm(const vector_expr<E> &e) {
  return std::sqrt(dot(e, e));
}

}  // namespace expr

#endif  // EXPR_VECTOR_HPP
