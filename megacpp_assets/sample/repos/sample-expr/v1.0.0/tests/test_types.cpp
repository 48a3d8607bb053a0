// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <cstdint>
#include <memory>
#include <string>

#include "check.hpp"
#include "expr/one_of.hpp"
#include "expr/units.hpp"

using namespace expr;
using namespace expr::units::literals;

using numbers = type_list<int, float, std::uint8_t, double>;

static_assert(numbers::size == 4);
static_assert(std::is_same_v<at_t<2, numbers>, std::uint8_t>);
static_assert(index_of<double>(numbers{}) == 3);
static_assert(!contains_v<long, numbers>);
static_assert(std::is_same_v<filter_t<std::is_floating_point, numbers>,
                             type_list<float, double>>);
static_assert(std::is_same_v<transform_t<std::add_pointer, type_list<int, char>>,
                             type_list<int *, char *>>);
static_assert(std::is_same_v<concat_t<type_list<int>, type_list<>, type_list<char>>,
                             type_list<int, char>>);

// Units are checked and folded at compile time.
static_assert(90_km / 1_h == 25_m / 1_s);
static_assert((1.5_km).in(1_m) == 1500.0);
static_assert(std::is_same_v<decltype(6_m / 2_m), double>);
static_assert(std::is_same_v<decltype(2_kg * (3_m / 1_s) / 1_s), units::force>);

namespace {

struct counted {
  explicit counted(int &n) : live(&n) { ++*live; }
  counted(counted &&o) noexcept : live(o.live) { ++*live; }
  ~counted() { --*live; }
  int *live;
};

void test_one_of() {
  using value = one_of<int, std::string, std::unique_ptr<int>>;
  value v = 3;
  CHECK(v.is<int>() && v.as<int>() == 3);
  v = value(std::string("three"));
  CHECK(v.index() == 1 && v.as<std::string>() == "three");
  v = value(std::make_unique<int>(4));

  const int described = v.visit(overloaded{
      [](int n) { return n; },
      [](const std::string &s) { return static_cast<int>(s.size()); },
      [](const std::unique_ptr<int> &p) { return 10 * *p; },
  });
  CHECK(described == 40);
}

void test_lifetime() {
  int live = 0;
  {
    one_of<int, counted> a = counted(live);
    one_of<int, counted> b = 1;
    CHECK(live == 1);
    b = std::move(a);
    CHECK(live == 2);
    a = one_of<int, counted>(7);
    CHECK(live == 1);
  }
  CHECK(live == 0);
}

void test_for_each() {
  std::size_t total = 0;
  for_each_type(numbers{}, [&](auto tag) {
    total += sizeof(typename decltype(tag)::type);
  });
  CHECK(total == sizeof(int) + sizeof(float) + 1 + sizeof(double));
}

}  // namespace

int main() {
  test_one_of();
  test_lifetime();
  test_for_each();
  return check::failures != 0;
}
