// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <map>
#include <vector>

#include "check.h"
#include "strf/ranges.h"

int main() {
  const std::vector<int> numbers = {1, 20, 300};
  EXPECT_FORMAT("[1, 20, 300]", "{}", numbers);
  EXPECT_FORMAT("1, 20, 300", "{:n}", numbers);
  EXPECT_FORMAT("[0x01, 0x14, 0x12c]", "{::#04x}", numbers);
  EXPECT_FORMAT("[]", "{}", std::vector<double>());

  const std::vector<std::vector<char>> grid = {{'a', 'b'}, {}, {'\n'}};
  EXPECT_FORMAT("[['a', 'b'], [], ['\\n']]", "{}", grid);
  EXPECT_FORMAT("[[a, b], [], [\n]]", "{:::c}", grid);

  EXPECT_FORMAT("(1, \"two\", 3.5)", "{}", std::make_tuple(1, "two", 3.5));
  const std::map<std::string, std::pair<int, bool>> table = {{"k", {1, true}}};
  EXPECT_FORMAT("[(\"k\", (1, true))]", "{}", table);

  EXPECT_FORMAT("001-020-300", STRF_STRING("{:03}"), strf::join(numbers, "-"));
  EXPECT_ERROR("invalid presentation type for this argument", "{::s}", numbers);
  EXPECT_ERROR("invalid format specification", "{:q}", numbers);
  return check::failures != 0;
}
