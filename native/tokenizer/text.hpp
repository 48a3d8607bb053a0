// UTF-8 and the character classes of the splitter. Classes come from the pinned tokenizers wheel, as ranges.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace megacpp {

using Byte = std::uint8_t;

inline constexpr Byte kStart = 1;     // may begin an identifier: letter or '_'
inline constexpr Byte kContinue = 2;  // may continue one: letter, mark, number or '_'
inline constexpr Byte kNumber = 4;    // may begin a number
inline constexpr std::uint32_t kCodePoints = 0x110000;

// Length in bytes of the character that starts with `lead`, which must be a lead byte of valid UTF-8.
inline unsigned char_length(Byte lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xE0) return 2;
  return lead < 0xF0 ? 3 : 4;
}

inline bool is_lead(Byte byte) { return (byte & 0xC0) != 0x80; }

// Code point at `p` of valid UTF-8.
inline std::uint32_t decode(const Byte* p) {
  if (p[0] < 0x80) return p[0];
  if (p[0] < 0xE0) return (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
  if (p[0] < 0xF0) return (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
  return (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}

// Length of the well-formed sequence at `p` (Unicode 15, table 3-7), or 0.
inline unsigned well_formed(const Byte* p, const Byte* end) {
  const Byte c = p[0];
  if (c < 0x80) return 1;
  if (c < 0xC2 || c > 0xF4) return 0;
  const unsigned length = char_length(c);
  if (static_cast<std::size_t>(end - p) < length) return 0;
  Byte low = 0x80, high = 0xBF;
  if (c == 0xE0) low = 0xA0;
  if (c == 0xED) high = 0x9F;
  if (c == 0xF0) low = 0x90;
  if (c == 0xF4) high = 0x8F;
  if (p[1] < low || p[1] > high) return 0;
  for (unsigned i = 2; i < length; ++i)
    if ((p[i] & 0xC0) != 0x80) return 0;
  return length;
}

// Whether every byte is below 0x80.
inline bool is_ascii(const Byte* p, const Byte* end) {
  std::uint64_t high = 0;
  for (; end - p >= 8; p += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, p, 8);
    high |= eight;
  }
  for (; p < end; ++p) high |= *p;
  return (high & 0x8080808080808080u) == 0;
}

// End of the longest valid stretch that starts at `p`.
inline const Byte* valid_until(const Byte* p, const Byte* end) {
  while (p < end) {
    std::uint64_t eight;
    while (end - p >= 8 && (std::memcpy(&eight, p, 8), (eight & 0x8080808080808080u) == 0)) p += 8;
    if (p == end) break;
    const unsigned length = well_formed(p, end);
    if (length == 0) break;
    p += length;
  }
  return p;
}

// Number of characters in valid UTF-8.
inline std::size_t count_chars(const Byte* p, const Byte* end) {
  std::size_t count = 0;
  for (; p < end; ++p) count += is_lead(*p);
  return count;
}

// One class byte per code point.
class CharClasses {
 public:
  CharClasses() : of_(kCodePoints, 0) { of_['_'] = kStart | kContinue; }

  // Adds `bits` to every code point of the inclusive range.
  void add(std::uint32_t first, std::uint32_t last, Byte bits) {
    for (std::uint32_t c = first; c <= last && c < kCodePoints; ++c) of_[c] |= bits;
  }

  Byte operator[](std::uint32_t code_point) const { return of_[code_point]; }

 private:
  std::vector<Byte> of_;
};

}  // namespace megacpp
