// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "check.hpp"
#include "expr/matrix.hpp"

using namespace expr;

using square = mat<int, 2, 2>;

static_assert(std::is_same_v<decltype(vec(1, 2) * 3 + vec(3, 4))::access,
                             elementwise_access>);
static_assert(std::is_same_v<decltype(vec(1, 2) + square() * vec(3, 4))::access,
                             scattered_access>);

namespace {

/// The n-th Fibonacci number by repeated in-place multiplication.
constexpr int fibonacci(unsigned n) {
  square power = square::identity();
  square base(1, 1, 1, 0);
  for (; n; n >>= 1) {
    if (n & 1)
      power = power * base;
    base = base * base;
  }
  return power(0, 1);
}
static_assert(fibonacci(20) == 6765);

bool equal(const square &a, const square &b) {
  const square d = a - b;
  return trace(d * transpose(d)) == 0;
}

void test_matrix_aliases() {
  square m(1, 2, 3, 4);
  m = transpose(m);
  CHECK(equal(m, square(1, 3, 2, 4)));
  m = m * m - m;
  CHECK(equal(m, square(6, 12, 8, 18)));
}

void test_vector_aliases() {
  vec<int, 2> x(2, 5);
  x = square(0, 1, 1, 0) * x;
  CHECK(x[0] == 5 && x[1] == 2);
  x += square(1, 1, 1, 1) * x;
  CHECK(x[0] == 12 && x[1] == 9);
}

void test_cross() {
  const vec a(1, 2, 3), b(-2, 0, 5);
  const auto c = cross(a, b * 2);
  CHECK(dot(a, c) == 0 && dot(b, c) == 0);
  CHECK(c[0] == 20 && c[1] == -22 && c[2] == 8);
}

}  // namespace

int main() {
  test_matrix_aliases();
  test_vector_aliases();
  test_cross();
  return check::failures != 0;
}
