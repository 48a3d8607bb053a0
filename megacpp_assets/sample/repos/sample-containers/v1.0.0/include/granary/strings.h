// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef GRANARY_STRINGS_H_
#define GRANARY_STRINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "granary/status.h"

namespace granary {

bool StartsWith(std::string_view text, std::string_view prefix);
bool ConsumePrefix(std::string_view* text, std::string_view prefix);
std::string_view StripWhitespace(std::string_view text);
std::string AsciiToLower(std::string_view text);

/// What StrSplit does with the empty pieces between two delimiters.
enum class EmptyPieces { kKeep, kSkip };

std::vector<std::string_view> StrSplit(std::string_view text, char delimiter,
                                       EmptyPieces empty = EmptyPieces::kKeep);

/// Like StrSplit, but calls `is_delimiter(char)`.
template <typename Predicate>
std::vector<std::string_view> SplitIf(std::string_view text,
                                      Predicate is_delimiter,
                                      EmptyPieces empty) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && !is_delimiter(text[i])) continue;
    if (i > begin || empty == EmptyPieces::kKeep) {
      pieces.push_back(text.substr(begin, i - begin));
    }
    begin = i + 1;
  }
  return pieces;
}

namespace internal {

/// One argument of StrCat, rendered into a buffer of its own if need be.
class AlphaNum {
 public:
  AlphaNum(const char* text) : piece_(text) {}         // NOLINT
  AlphaNum(std::string_view text) : piece_(text) {}    // NOLINT
  AlphaNum(const std::string& text) : piece_(text) {}  // NOLINT
  AlphaNum(char c) : piece_(digits_, 1) { digits_[0] = c; }  // NOLINT
  AlphaNum(int v) : AlphaNum(static_cast<long long>(v)) {}   // NOLINT
  AlphaNum(long v) : AlphaNum(static_cast<long long>(v)) {}  // NOLINT
  AlphaNum(long long v);                                     // NOLINT
  AlphaNum(unsigned v)                                       // NOLINT
      : AlphaNum(static_cast<unsigned long long>(v)) {}
  AlphaNum(unsigned long v)  // NOLINT
      : AlphaNum(static_cast<unsigned long long>(v)) {}
  AlphaNum(unsigned long long v);  // NOLINT
  AlphaNum(double v);              // NOLINT
  AlphaNum(const AlphaNum&) = delete;
  AlphaNum& operator=(const AlphaNum&) = delete;

  std::string_view piece() const { return piece_; }

 private:
  std::string_view piece_;
  char digits_[32];
};

}  // namespace internal

template <typename... Args>
void StrAppend(std::string* out, const Args&... args) {
  (out->append(internal::AlphaNum(args).piece()), ...);
}

template <typename... Args>
std::string StrCat(const Args&... args) {
  std::string out;
  StrAppend(&out, args...);
  return out;
}

template <typename Range>
std::string StrJoin(const Range& range, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& element : range) {
    if (!first) out.append(separator);
    first = false;
    StrAppend(&out, element);
  }
  return out;
}

/// Decimal parsing of the whole text. Overflow is OUT_OF_RANGE.
StatusOr<std::int64_t> ParseInt64(std::string_view text);
StatusOr<double> ParseDouble(std::string_view text);
StatusOr<bool> ParseBool(std::string_view text);

}  // namespace granary

#endif  // GRANARY_STRINGS_H_
