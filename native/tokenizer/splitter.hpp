// The pre-tokenizer: cuts text into words exactly as the recipe's regular expression does in the pinned wheel.
// Guard strings (all hold '>') are cut out first, leftmost-longest; then each remaining piece is split on its own.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "code_words.hpp"
#include "general_words.hpp"
#include "text.hpp"

namespace megacpp {

// Number of bytes at `p` for which `mask16` sets bits from the lowest on, at most 16; 0 where a vector cannot be read.
// Most words are shorter than a vector, so their end is found without a branch per byte.
#if defined(__SSE2__)
using Bytes16 = __m128i;

inline Bytes16 within(Bytes16 value, char low, char width) {  // unsigned low <= value < low + width
  const __m128i shifted = _mm_sub_epi8(value, _mm_set1_epi8(low));
  return _mm_cmpeq_epi8(_mm_min_epu8(shifted, _mm_set1_epi8(static_cast<char>(width - 1))), shifted);
}
inline Bytes16 is_ascii_letter(Bytes16 text) { return within(_mm_or_si128(text, _mm_set1_epi8(0x20)), 'a', 26); }
inline Bytes16 is_ascii_digit(Bytes16 text) { return within(text, '0', 10); }

template <class Mask>
std::size_t prefix16(const Byte* p, const Byte* end, Mask&& mask16) {
  if (end - p < 16) return 0;
  const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return static_cast<std::size_t>(std::countr_one(static_cast<unsigned>(_mm_movemask_epi8(mask16(text)))));
}

inline std::size_t ascii_word_prefix(const Byte* p, const Byte* end) {  // [A-Za-z0-9_]
  return prefix16(p, end, [](Bytes16 text) {
    const Bytes16 underscores = _mm_cmpeq_epi8(text, _mm_set1_epi8('_'));
    return _mm_or_si128(_mm_or_si128(is_ascii_letter(text), is_ascii_digit(text)), underscores);
  });
}
inline std::size_t ascii_letter_prefix(const Byte* p, const Byte* end) {
  return prefix16(p, end, [](Bytes16 text) { return is_ascii_letter(text); });
}
// Printable ASCII that is neither letter nor digit nor space.
inline std::size_t ascii_symbol_prefix(const Byte* p, const Byte* end) {
  return prefix16(p, end, [](Bytes16 text) {
    return _mm_andnot_si128(_mm_or_si128(is_ascii_letter(text), is_ascii_digit(text)), within(text, '!', 94));
  });
}
#else
inline std::size_t ascii_word_prefix(const Byte*, const Byte*) { return 0; }
inline std::size_t ascii_letter_prefix(const Byte*, const Byte*) { return 0; }
inline std::size_t ascii_symbol_prefix(const Byte*, const Byte*) { return 0; }
#endif

// Fixed names, found without a copy of the word.
struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
};
using Names = std::unordered_set<std::string, NameHash, std::equal_to<>>;

// A whitespace recipe, as the flags of its regular expression.
struct Rules {
  bool operator_runs = false;          // punctuation runs are one word; else the operators of a fixed list
  bool space_before_operator = false;  // a run takes one space on its left
  bool space_after_operator = false;   // a run takes one space on its right
  bool newline_indent = false;         // newlines take their indentation, and a run goes on across both
  bool space_before_word = false;      // an identifier or number takes one space on its left
  bool space_within_run = false;       // a run goes on across one space
  bool general = false;                // the split of GPT-4, which knows nothing of code; the other flags are not read

  // Whether this is the recipe of that name, whose words are found by bit arithmetic.
  bool operators_carry_spaces() const {
    return operator_runs && space_before_operator && space_after_operator && newline_indent && !space_before_word &&
           space_within_run && !general;
  }
};

class Splitter {
 public:
  Splitter(Rules rules, const std::vector<std::array<std::uint32_t, 3>>& classes, std::vector<std::string> guards,
           const std::vector<std::string>& directives, const std::vector<std::string>& commands,
           std::vector<std::string> operators);

  // Splits any bytes: `words(p, ends, count)` for words of valid UTF-8, the first of which begins at `p` and each other one
  // where the one before it ends, `guard(index, p, length)` for a guard string, `stray(p)` for a byte that is not part of
  // valid UTF-8. In order, nothing left out.
  template <class Words, class Guard, class Stray>
  void split(const Byte* p, const Byte* end, Words&& words, Guard&& guard, Stray&& stray) const {
    while (p < end) {
      const Byte* stop = valid_until(p, end);
      split_valid(p, stop, words, guard);
      p = stop;
      if (p < end) stray(p++);
    }
  }

  // As `split`, for text that is valid UTF-8.
  template <class Words, class Guard>
  void split_valid(const Byte* p, const Byte* end, Words&& words, Guard&& guard) const {
    CodeWords code(*this, p, end);
    while (p < end) {
      const GuardMatch match = next_guard(p, end);
      if (rules_.general) {
        split_general(p, match.start, words);
      } else if (rules_.operators_carry_spaces()) {
        split_code(code, p, match.start, words);
      } else {
        for (const Byte* stop; p < match.start; p = stop) words(p, &(stop = word_end(p, match.start)), std::size_t{1});
      }
      if (match.start == end) return;
      guard(match.index, match.start, match.length);
      p = match.start + match.length;
    }
  }

  // End of the word that starts at `p`; at least one character.
  const Byte* word_end(const Byte* p, const Byte* end) const {
    switch (kind_[*p]) {
      case Kind::word: return identifier(p, end);
      case Kind::digit: return number(p, end);
      case Kind::space: return spaced(p, end);
      case Kind::tab: return rules_.newline_indent ? blanks(p, end) : repeated(p, end, 8);
      case Kind::newline: return lines(p, end);
      case Kind::hash: return directive(p, end);
      case Kind::backslash: return escape(p, end);
      case Kind::colon:
        if (p + 1 < end && p[1] == ':') return p + 2;
        return operators(p, end);
      case Kind::punctuation: return operators(p, end);
      case Kind::wide: return wide(p, end);
      default: return p + 1;
    }
  }

  // End of the word of the general split that starts at `p`.
  const Byte* general_word(const Byte* p, const Byte* end) const;

  const std::vector<std::string>& guards() const { return guards_; }

 private:
  struct GuardMatch {
    const Byte* start;
    std::size_t index, length;
  };
  // A node of the trie of guard strings; children by ASCII byte, 0 for none.
  struct GuardNode {
    std::array<std::uint16_t, 128> child{};
    std::uint32_t guard = kNoGuard;
  };
  static constexpr std::uint32_t kNoGuard = 0xFFFFFFFFu;
  enum class Kind : Byte { other, word, digit, space, tab, newline, hash, backslash, colon, punctuation, wide };

  template <class Words>
  void split_general(const Byte* p, const Byte* end, Words&& words) const {
    GeneralWords general(*this, p, end);
    const Byte* ends[GeneralWords::kMost];
    for (std::size_t count; (count = general.next(ends)) != 0; p = ends[count - 1]) words(p, ends, count);
  }

  template <class Words>
  void split_code(CodeWords& code, const Byte* p, const Byte* end, Words&& words) const {
    const Byte* ends[CodeWords::kMost];
    for (std::size_t count; (count = code.next(p, end, ends)) != 0; p = ends[count - 1]) words(p, ends, count);
  }

  GuardMatch next_guard(const Byte* p, const Byte* end) const;
  void add_guard(std::size_t index);

  Byte classes_at(const Byte* p) const { return *p < 0x80 ? ascii_[*p] : classes_[decode(p)]; }
  bool continues(const Byte* p, const Byte* end) const { return p < end && (classes_at(p) & kContinue) != 0; }
  bool is_operator(const Byte* p, const Byte* end) const {
    return kind_[*p] == Kind::punctuation || (*p == ':' && !(p + 1 < end && p[1] == ':'));
  }

  const Byte* identifier(const Byte* p, const Byte* end) const {
    const Byte* start = p;
    p = continue_run(p, end);
    if (p - start == 3 && end - p >= 2 && std::memcmp(start, "std::", 5) == 0) return p + 2;
    if (p - start == 8 && p < end && std::memcmp(start, "template<", 9) == 0) return p + 1;
    return p;
  }

  const Byte* continue_run(const Byte* p, const Byte* end) const {
    while (p < end) {
      if (*p < 0x80) {
        p += ascii_word_prefix(p, end);
        if (p == end) return p;
        if (*p >= 0x80) continue;
        if ((ascii_[*p] & kContinue) == 0) return p;
        ++p;
      } else {
        if ((classes_[decode(p)] & kContinue) == 0) return p;
        p += char_length(*p);
      }
    }
    return p;
  }

  const Byte* general_blanks(const Byte* p, const Byte* end) const;
  bool is_letter(const Byte* p) const { return *p != '_' && (classes_at(p) & kStart) != 0; }
  bool is_number(const Byte* p) const { return (classes_at(p) & kNumber) != 0; }
  bool is_symbol(const Byte* p) const { return !is_letter(p) && !is_number(p) && !is_space(p); }
  static bool is_space(const Byte* p);
  const Byte* letters(const Byte* p, const Byte* end) const {
    p += ascii_letter_prefix(p, end);
    while (p < end && is_letter(p)) p += char_length(*p);
    return p;
  }
  const Byte* symbols(const Byte* p, const Byte* end) const {
    p += ascii_symbol_prefix(p, end);
    while (p < end && is_symbol(p)) p += char_length(*p);
    while (p < end && (*p == '\r' || *p == '\n')) ++p;
    return p;
  }

  const Byte* number(const Byte* p, const Byte* end) const;
  const Byte* wide(const Byte* p, const Byte* end) const;
  const Byte* spaced(const Byte* p, const Byte* end) const;
  const Byte* operators(const Byte* p, const Byte* end) const;
  const Byte* lines(const Byte* p, const Byte* end) const;
  const Byte* directive(const Byte* p, const Byte* end) const;
  const Byte* escape(const Byte* p, const Byte* end) const;

  static const Byte* blanks(const Byte* p, const Byte* end) {
    while (p < end && (*p == ' ' || *p == '\t')) ++p;
    return p;
  }

  static const Byte* repeated(const Byte* p, const Byte* end, std::ptrdiff_t most) {
    const Byte* stop = end - p > most ? p + most : end;
    const Byte first = *p;
    while (p < stop && *p == first) ++p;
    return p;
  }

  // Past one line ending, or `p`.
  static const Byte* line_ending(const Byte* p, const Byte* end) {
    if (p < end && *p == '\n') return p + 1;
    if (end - p >= 2 && p[0] == '\r' && p[1] == '\n') return p + 2;
    return p;
  }

  // Past line endings, each with the blanks after it.
  static const Byte* indented_lines(const Byte* p, const Byte* end) {
    for (const Byte* next = line_ending(p, end); next != p; next = line_ending(p, end)) p = blanks(next, end);
    return p;
  }

  // Past the name of a fixed set that starts at `p` and is not the start of a longer word, or `p`.
  const Byte* known_name(const Names& names, const Byte* p, const Byte* end) const {
    constexpr std::ptrdiff_t kLongest = 32;  // bytes; a character of 4 bytes after them shows that the word goes on
    const Byte* stop = continue_run(p, p + std::min(end - p, kLongest + 4));
    const std::string_view name(reinterpret_cast<const char*>(p), static_cast<std::size_t>(stop - p));
    return stop - p <= kLongest && names.contains(name) ? stop : p;
  }

  Rules rules_;
  CharClasses classes_;
  std::array<Byte, 128> ascii_{};
  std::array<Kind, 256> kind_{};
  std::vector<std::string> guards_;
  std::vector<GuardNode> trie_;
  std::size_t lookbehind_ = 0;  // most bytes that any guard has before its first '>'
  Names directives_, commands_;
  std::vector<std::string> operators_;  // longest first
};

}  // namespace megacpp
