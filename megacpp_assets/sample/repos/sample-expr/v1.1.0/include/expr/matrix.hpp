// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef EXPR_MATRIX_HPP
#define EXPR_MATRIX_HPP

#include "expr/vector.hpp"

namespace expr {

/// CRTP root of matrix expressions: `operator()(row, col)`, `rows`, `cols`.
template <typename E>
struct matrix_expr {
  constexpr const E &self() const { return static_cast<const E &>(*this); }
};

template <typename T, std::size_t R, std::size_t C>
class mat : public matrix_expr<mat<T, R, C>> {
public:
  using shape = matrix_shape;
  using value_type = T;
  using access = elementwise_access;
  static constexpr std::size_t rows = R, cols = C;
  static constexpr bool is_terminal = true;

  constexpr mat() = default;

  /// Row-major element list.
  template <typename... Us, typename = std::enable_if_t<
                                sizeof...(Us) == R * C && (is_scalar_v<Us> && ...)>>
  constexpr explicit mat(Us... values) : data_{static_cast<T>(values)...} {}

  template <typename E>
  constexpr mat(const matrix_expr<E> &e) {
    assign(e.self(), elementwise_access());
  }

  template <typename E>
  constexpr mat &operator=(const matrix_expr<E> &e) {
    assign(e.self(), typename E::access());
    return *this;
  }

  static constexpr mat identity() {
    static_assert(R == C, "only square matrices have an identity");
    mat m;
    for (std::size_t i = 0; i < R; ++i)
      m(i, i) = T(1);
    return m;
  }

  constexpr T &operator()(std::size_t r, std::size_t c) { return data_[r * C + c]; }
  constexpr const T &operator()(std::size_t r, std::size_t c) const {
    return data_[r * C + c];
  }

private:
  template <typename E>
  constexpr void assign(const E &e, elementwise_access) {
    static_assert(E::rows == R && E::cols == C, "matrix sizes differ");
    for (std::size_t r = 0; r < R; ++r)
      for (std::size_t c = 0; c < C; ++c)
        (*this)(r, c) = static_cast<T>(e(r, c));
  }
  template <typename E>
  constexpr void assign(const E &e, scattered_access) {
    assign(mat(e), elementwise_access());
  }

  T data_[R * C] = {};
};

template <typename Op, typename L, typename R>
class matrix_zip : public matrix_expr<matrix_zip<Op, L, R>> {
  static_assert(L::rows == R::rows && L::cols == R::cols, "matrix sizes differ");

public:
  using shape = matrix_shape;
  using value_type =
      result_of_op<Op, typename L::value_type, typename R::value_type>;
  using access = combined_access<L, R>;
  static constexpr std::size_t rows = L::rows, cols = L::cols;
  static constexpr bool is_terminal = false;

  constexpr matrix_zip(const L &l, const R &r) : l_(l), r_(r) {}
  constexpr value_type operator()(std::size_t r, std::size_t c) const {
    return Op::apply(l_(r, c), r_(r, c));
  }

private:
  operand_t<L> l_;
  operand_t<R> r_;
};

template <typename E>
class matrix_transpose : public matrix_expr<matrix_transpose<E>> {
public:
  using shape = matrix_shape;
  using value_type = typename E::value_type;
  using access = scattered_access;
  static constexpr std::size_t rows = E::cols, cols = E::rows;
  static constexpr bool is_terminal = false;

  constexpr explicit matrix_transpose(const E &e) : e_(e) {}
  constexpr value_type operator()(std::size_t r, std::size_t c) const {
    return e_(c, r);
  }

private:
  operand_t<E> e_;
};

/// Lazy product; each element read runs over the shared dimension.
template <typename L, typename R>
class matrix_product : public matrix_expr<matrix_product<L, R>> {
  static_assert(L::cols == R::rows, "inner matrix dimensions differ");

public:
  using shape = matrix_shape;
  using value_type =
      result_of_op<times_op, typename L::value_type, typename R::value_type>;
  using access = scattered_access;
  static constexpr std::size_t rows = L::rows, cols = R::cols;
  static constexpr bool is_terminal = false;

  constexpr matrix_product(const L &l, const R &r) : l_(l), r_(r) {}
  constexpr value_type operator()(std::size_t r, std::size_t c) const {
    value_type sum{};
    for (std::size_t k = 0; k < L::cols; ++k)
      sum += l_(r, k) * r_(k, c);
    return sum;
  }

private:
  operand_t<L> l_;
  operand_t<R> r_;
};

/// A matrix applied to a vector is itself a vector expression.
template <typename M, typename V>
class matrix_apply : public vector_expr<matrix_apply<M, V>> {
  static_assert(M::cols == V::extent, "matrix and vector sizes differ");

public:
  using shape = vector_shape;
  using value_type =
      result_of_op<times_op, typename M::value_type, typename V::value_type>;
  using access = scattered_access;
  static constexpr std::size_t extent = M::rows;
  static constexpr bool is_terminal = false;

  constexpr matrix_apply(const M &m, const V &v) : m_(m), v_(v) {}
  constexpr value_type operator[](std::size_t i) const {
    value_type sum{};
    for (std::size_t k = 0; k < M::cols; ++k)
      sum += m_(i, k) * v_[k];
    return sum;
  }

private:
  operand_t<M> m_;
  operand_t<V> v_;
};

template <typename L, typename R>
constexpr matrix_zip<plus_op, L, R> operator+(const matrix_expr<L> &l,
                                              const matrix_expr<R> &r) {
  return {l.self(), r.self()};
}

template <typename L, typename R>
constexpr matrix_zip<minus_op, L, R> operator-(const matrix_expr<L> &l,
                                               const matrix_expr<R> &r) {
  return {l.self(), r.self()};
}

template <typename L, typename R>
constexpr matrix_product<L, R> operator*(const matrix_expr<L> &l,
                                         const matrix_expr<R> &r) {
  return {l.self(), r.self()};
}

template <typename M, typename V>
constexpr matrix_apply<M, V> operator*(const matrix_expr<M> &m,
                                       const vector_expr<V> &v) {
  return {m.self(), v.self()};
}

template <typename E>
constexpr matrix_transpose<E> transpose(const matrix_expr<E> &e) {
  return matrix_transpose<E>(e.self());
}

template <typename E>
constexpr auto trace(const matrix_expr<E> &e) {
  static_assert(E::rows == E::cols, "trace needs a square matrix");
  typename E::value_type sum{};
  for (std::size_t i = 0; i < E::rows; ++i)
    sum += e.self()(i, i);
  return sum;
}

}  // namespace expr

#endif  // EXPR_MATRIX_HPP
