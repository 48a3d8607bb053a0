// Comments and literals of C and C++, by their first and last bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace megacpp {

// Ranges are pairs of offsets, half-open, ascending; marks are one byte per byte of the text, 1 inside a range.
struct Tokens {
  std::vector<std::int64_t> comments, literals;
  std::vector<std::int64_t> directive_lines;  // where a line begins whose first byte but space is a `#` that is code
  std::vector<std::uint8_t> commented, quoted;
};

// An unterminated comment or raw string ends with the text, another literal with its line.
Tokens find_tokens(std::string_view code);

inline bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// Whether the byte may stand in a name.
inline bool is_word(char byte) {
  return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

// Whether anything in `code` looks like an `#if…` to the preprocessor; without one, it drops no text.
bool may_hold_condition(std::string_view code);

}  // namespace megacpp
