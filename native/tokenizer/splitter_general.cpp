// The split of GPT-4 (cl100k): contractions, words with one character before them, digits in threes, symbols, blanks.
#include "splitter.hpp"

namespace megacpp {

namespace {
inline Byte lower_letter(Byte c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; }
}  // namespace

bool Splitter::is_space(const Byte* p) {
  if (*p < 0x80) return *p == ' ' || (*p >= '\t' && *p <= '\r');
  const std::uint32_t c = decode(p);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

const Byte* Splitter::general_word(const Byte* p, const Byte* end) const {
  if (*p == '\'' && p + 1 < end) {  // '(?:[sdmt]|ll|ve|re)
    const Byte first = lower_letter(p[1]);
    if (first == 's' || first == 'd' || first == 'm' || first == 't') return p + 2;
    const Byte second = p + 2 < end ? lower_letter(p[2]) : 0;
    if ((first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e')) return p + 3;
  }
  if (is_letter(p)) return letters(p, end);
  const Byte* next = p + char_length(*p);
  if (is_number(p)) {  // \p{N}{1,3}
    for (int more = 0; more < 2 && next < end && is_number(next); ++more) next += char_length(*next);
    return next;
  }
  if (*p != '\r' && *p != '\n' && next < end && is_letter(next)) return letters(next, end);
  const Byte* symbol = *p == ' ' && next < end ? next : p;  // ?[^\s\p{L}\p{N}]+[\r\n]*
  if (is_symbol(symbol)) return symbols(symbol, end);
  return general_blanks(p, end);
}

// \s*[\r\n]+|\s+(?!\S)|\s+
const Byte* Splitter::general_blanks(const Byte* p, const Byte* end) const {
  const Byte* stop = p;
  const Byte* after_line = nullptr;
  const Byte* last = p;
  while (stop < end && is_space(stop)) {
    last = stop;
    stop += char_length(*stop);
    if (*last == '\r' || *last == '\n') after_line = stop;
  }
  if (after_line != nullptr) return after_line;
  return stop == end || last == p ? stop : last;
}

}  // namespace megacpp
