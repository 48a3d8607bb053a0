// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "write.h"

namespace strf {
namespace detail {
namespace {

constexpr int max_digits = 17;

bool is_upper(char type) { return type >= 'A' && type <= 'Z'; }

std::string printed(double v, int precision, char type, bool alternate) {
  const char conversion[] = {'%', alternate ? '#' : '.', alternate ? '.' : '*',
                             alternate ? '*' : type, alternate ? type : '\0', '\0'};
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
  const int length = std::snprintf(nullptr, 0, conversion, precision, v);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), conversion, precision, v);
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
  text.pop_back();
  return text;
}

/// The fewest significant digits that read back as the same value.
std::string shortest(double v, bool alternate) {
  std::string text;
  for (int digits = 1; digits <= max_digits; ++digits) {
    text = printed(v, digits, 'g', alternate);
    if (std::strtod(text.c_str(), nullptr) == v) break;
  }
  return text;
}

std::string digits_of(double magnitude, const format_spec& spec) {
  if (spec.type == 0)
    return spec.precision < 0 ? shortest(magnitude, spec.alternate)
                              : printed(magnitude, spec.precision, 'g', spec.alternate);
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  return printed(magnitude, precision, spec.type, spec.alternate);
}

std::string_view nonfinite_text(double v, bool upper) {
  if (std::isnan(v)) return upper ? "NAN" : "nan";
  return upper ? "INF" : "inf";
}

}  // namespace

void write(buffer& out, double v, const format_spec& spec) {
  const std::string_view prefix = sign_text(std::signbit(v), spec);
  if (std::isfinite(v))
    return write_number(out, prefix, digits_of(std::fabs(v), spec), spec);
  // Zero padding would turn infinities into nonsense such as "000inf".
  format_spec plain = spec;
  plain.zero_pad = false;
  write_number(out, prefix, nonfinite_text(v, is_upper(spec.type)), plain);
}

}  // namespace detail
}  // namespace strf
