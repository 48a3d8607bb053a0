// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include "check.hpp"
#include "expr/matrix.hpp"

using namespace expr;

namespace {

constexpr double compile_time_dot() {
  const vec a(1.0, 2.0, 3.0);
  const vec b(4.0, 5.0, 6.0);
  return dot(a + b, a - b);
}
static_assert(compile_time_dot() == -63.0);

static_assert(has_shape<vec<int, 2>, vector_shape>::value);
static_assert(has_shape<decltype(vec<int, 2>() * 2), vector_shape>::value);
static_assert(!has_shape<mat<int, 2, 2>, vector_shape>::value);
static_assert(!is_expression_v<int>);
static_assert(std::is_same_v<decltype(vec(1, 2) / 2.0)::value_type, double>);

void test_vectors() {
  const vec a(3, 4);
  CHECK(norm(a) == 5.0);
  vec<double, 2> sum = 0.5 * a + a / 2.0;
  CHECK(sum[0] == 3.0 && sum[1] == 4.0);
  sum += a * 2;
  CHECK(sum[1] == 12.0);
  double total = 0;
  for (double x : sum)
    total += x;
  CHECK(total == 21.0);
}

void test_matrices() {
  const mat<int, 2, 3> m(1, 2, 3, 4, 5, 6);
  const mat<int, 2, 2> gram = m * transpose(m);
  CHECK(gram(0, 0) == 14 && gram(0, 1) == 32 && gram(1, 1) == 77);
  CHECK(trace(gram + mat<int, 2, 2>::identity()) == 93);

  const vec<int, 2> image = m * vec(1, 0, -1);
  CHECK(image[0] == -2 && image[1] == -2);
}

void test_mixed_nesting() {
  const mat<double, 2, 2> turn(0, -1, 1, 0);
  const vec<double, 2> x(2.0, 1.0);
  const vec<double, 2> y = turn * (turn * x) + x;
  CHECK(norm(y) == 0.0);
}

}  // namespace

int main() {
  test_vectors();
  test_matrices();
  test_mixed_nesting();
  return check::failures != 0;
}
