// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "granary/strings.h"

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace granary {
namespace {

constexpr bool IsSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

constexpr char ToLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

Status BadNumber(const char* kind, std::string_view text) {
  return InvalidArgumentError(StrCat("not ", kind, ": '", text, "'"));
}

}  // namespace

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool ConsumePrefix(std::string_view* text, std::string_view prefix) {
  if (!StartsWith(*text, prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

std::string_view StripWhitespace(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::string AsciiToLower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ToLower(c);
  return out;
}

std::vector<std::string_view> StrSplit(std::string_view text, char delimiter,
                                       EmptyPieces empty) {
  return SplitIf(text, [delimiter](char c) { return c == delimiter; }, empty);
}

namespace internal {

AlphaNum::AlphaNum(unsigned long long v) {
  char* const end = digits_ + sizeof(digits_);
  char* begin = end;
  do {
    *--begin = static_cast<char>('0' + v % 10);
    v /= 10;
  } while (v != 0);
  piece_ = std::string_view(begin, static_cast<std::size_t>(end - begin));
}

AlphaNum::AlphaNum(long long v) {
  const int length = std::snprintf(digits_, sizeof(digits_), "%lld", v);
  piece_ = std::string_view(digits_, static_cast<std::size_t>(length));
}

AlphaNum::AlphaNum(double v) {
  const int length = std::snprintf(digits_, sizeof(digits_), "%.6g", v);
  piece_ = std::string_view(digits_, static_cast<std::size_t>(length));
}

}  // namespace internal

StatusOr<std::int64_t> ParseInt64(std::string_view text) {
  std::string_view digits = text;
  const bool negative = ConsumePrefix(&digits, "-");
  if (digits.empty()) return BadNumber("an integer", text);

  /* Accumulate below zero: the smallest value has no positive counterpart. */
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  std::int64_t value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return BadNumber("an integer", text);
    const int digit = c - '0';
    if (value < (kMin + digit) / 10) {
      return OutOfRangeError(StrCat("integer too large: ", text));
    }
    value = value * 10 - digit;
  }
  if (negative) return value;
  if (value == kMin) return OutOfRangeError(StrCat("too large: ", text));
  return -value;
}

StatusOr<double> ParseDouble(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || IsSpace(copy[0]) || *end != '\0') {
    return BadNumber("a number", text);
  }
  return value;
}

StatusOr<bool> ParseBool(std::string_view text) {
  const std::string lower = AsciiToLower(text);
  for (const char* yes : {"true", "yes", "1"}) {
    if (lower == yes) return true;
  }
  for (const char* no : {"false", "no", "0"}) {
    if (lower == no) return false;
  }
  return BadNumber("a boolean", text);
}

}  // namespace granary
