// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <cstdint>
#include <vector>

#include "check.h"
#include "strf/ranges.h"

namespace {

void test_dynamic_fields() {
  EXPECT_FORMAT("   42|3.14", "{:{}}|{:.{}f}", 42, 5, 3.14159, 2);
  EXPECT_FORMAT("***2.50", "{0:*>{2}.{1}f}", 2.5, 2, 7);
  EXPECT_FORMAT("0007", STRF_STRING("{:0{}}"), 7, std::uint8_t{4});
  EXPECT_FORMAT("ab", "{:.{}}", "abcdef", 2);
  EXPECT_FORMAT("[  1,   2]", "{::{}}", std::vector<int>{1, 2}, 3);
}

void test_dynamic_errors() {
  EXPECT_ERROR("negative width or precision", "{:{}}", 1, -5);
  EXPECT_ERROR("number is too big", "{:{}}", 1, std::uint64_t{1} << 40);
  EXPECT_ERROR("width or precision is not an integer", "{:{}}", 1, "5");
  EXPECT_ERROR("argument index out of range", "{:{}}", 1);
  EXPECT_ERROR("cannot mix manual and automatic argument indexing", "{:{1}}", 1, 5);
  EXPECT_ERROR("invalid nested replacement field", "{:{:}}", 1, 5);
  EXPECT_ERROR("precision is not allowed for this argument", "{:.{}}", 1, 2);
}

/// Widths are in code points whatever their encoded length.
void test_code_points() {
  EXPECT_FORMAT("[\xc3\xa9t\xc3\xa9  ]", "[{:5}]", "\xc3\xa9t\xc3\xa9");
  EXPECT_FORMAT("[ \xe2\x82\xac ]", "[{:^3}]", "\xe2\x82\xac");
  EXPECT_FORMAT("\xc3\xa9t", "{:.2}", "\xc3\xa9t\xc3\xa9");
  EXPECT_FORMAT("\xf0\x9f\x98\x80", "{:.1}", "\xf0\x9f\x98\x80!");
}

}  // namespace

static_assert(strf::detail::check_format_string<double, int, int>("{:{}.{}e}"));

int main() {
  test_dynamic_fields();
  test_dynamic_errors();
  test_code_points();
  return check::failures != 0;
}
