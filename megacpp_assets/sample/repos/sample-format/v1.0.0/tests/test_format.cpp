// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <cmath>
#include <cstdint>
#include <limits>

#include "check.h"

namespace {

enum class level : std::uint8_t { low = 1, high = 9 };

struct point {
  double x, y;
};

}  // namespace

namespace strf {

/// Forwards its specification to both coordinates.
template <>
struct formatter<point> : formatter<double> {
  void format(const point& p, format_context& ctx) const {
    ctx.out().push_back('<');
    formatter<double>::format(p.x, ctx);
    ctx.out().append("; ");
    formatter<double>::format(p.y, ctx);
    ctx.out().push_back('>');
  }
};

}  // namespace strf

namespace {

void test_text_and_indexing() {
  EXPECT_FORMAT("plain", "plain");
  EXPECT_FORMAT("{1}", "{{{}}}", 1);
  EXPECT_FORMAT("b a b", "{1} {0} {1}", 'a', "b");
  EXPECT_ERROR("cannot mix manual and automatic argument indexing", "{} {0}", 1);
  EXPECT_ERROR("argument index out of range", "{} {}", 1);
  EXPECT_ERROR("unmatched '}' in format string", "}", 1);
  EXPECT_ERROR("missing '}' in format string", "{0", 1);
}

void test_integers() {
  EXPECT_FORMAT("-9223372036854775808", "{}", std::numeric_limits<std::int64_t>::min());
  EXPECT_FORMAT("18446744073709551615", "{}", std::numeric_limits<std::uint64_t>::max());
  EXPECT_FORMAT("0xbeef|BEEF|0b101|017", "{:#x}|{:X}|{:#b}|{:#o}", 48879, 48879, 5, 15);
  EXPECT_FORMAT("+0042|  42|42  |*42*", "{:+05}|{:4}|{:<4}|{:*^4}", 42, 42, 42, 42);
  EXPECT_FORMAT("-0x2a", "{:#x}", -42);
  EXPECT_FORMAT("A 65", "{:c} {:d}", 65, 'A');
  EXPECT_FORMAT("9", "{}", level::high);
  EXPECT_ERROR("precision is not allowed for this argument", "{:.2}", 1);
}

void test_floats() {
  EXPECT_FORMAT("0.1 3 1e+30", "{} {} {}", 0.1, 3.0, 1e30);
  EXPECT_FORMAT("3.142|3.14E+00|+3.1", "{:.3f}|{:.2E}|{:+.2}", 3.14159, 3.14159, 3.14159);
  EXPECT_FORMAT("-00012.5", "{:08}", -12.5);
  EXPECT_FORMAT("   inf|NAN|-inf", "{:06}|{:F}|{}", INFINITY, std::nan(""), -INFINITY);
  EXPECT_FORMAT("1.", "{:#.0f}", 1.0);
}

void test_strings() {
  EXPECT_FORMAT("[ab   ][  abc][ab]", "[{:5}][{:>5}][{:.2}]", "ab", "abc",
                std::string("abc"));
  EXPECT_FORMAT("\"say \\\"hi\\\"\\n\\x01\"", "{:?}", "say \"hi\"\n\x01");
  EXPECT_FORMAT("true|1|false", "{}|{:d}|{:s}", true, true, false);
  EXPECT_FORMAT("0x0", "{}", nullptr);
  EXPECT_ERROR("numeric option for a non-numeric argument", "{:+}", "x");
  EXPECT_ERROR("invalid presentation type for this argument", "{:d}", "x");
}

void test_custom() {
  EXPECT_FORMAT("<1; 2.5>", "{}", point{1, 2.5});
  EXPECT_FORMAT("<1.00; 2.50>", STRF_STRING("{:.2f}"), point{1, 2.5});
  EXPECT_FORMAT("x = 007", STRF_STRING("{1} = {0:03}"), 7, "x");
}

void test_buffer() {
  strf::basic_memory_buffer<8> out;
  strf::format_to(out, "{}", "1234567");
  const bool was_inline = !out.on_heap();
  strf::format_to(out, "{:>20}", 8);
  if (!was_inline || !out.on_heap()) ++check::failures;
  check::equal(std::string(out.view()), "1234567                   8", __LINE__);
}

}  // namespace

static_assert(strf::detail::check_format_string<int, const char*>("{:>5d} {:?}"));

int main() {
  test_text_and_indexing();
  test_integers();
  test_floats();
  test_strings();
  test_custom();
  test_buffer();
  return check::failures != 0;
}
