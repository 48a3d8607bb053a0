// Which bytes of a stretch of text are letters, digits and so on, as one bit a byte. A splitter then decides on words by
// arithmetic over 57 bytes at once instead of a branch for each byte.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "text.hpp"

namespace megacpp {

// Classes of bytes that follow one another, the first in the lowest bit. A byte that is not ASCII has none, nor has one
// behind the stretch. What the general split asks for:
struct GeneralClasses {
  std::uint64_t letters, digits, spaces, blanks, newlines, symbols, quotes;  // blanks: white space but spaces, newlines
};

// What the split of code asks for. The last three have bytes that are not in the other ones.
struct CodeClasses {
  std::uint64_t letters, digits, spaces, tabs, linefeeds, returns, colons;  // letters: and '_'
  std::uint64_t operators;  // other punctuation that runs of operators are made of
  std::uint64_t rare;       // '#' and '\\', which begin words of a fixed list
  std::uint64_t others;
};

template <class Classes>
class ByteClasses {
 public:
  static constexpr std::size_t kBytes = 4096;  // of text that one call of `read` classifies
  static constexpr std::size_t kWindow = 57;   // bytes of which `at` gives the classes, from any place on

  // Classifies [p, end), or its first `kBytes`; returns where it stopped.
  const Byte* read(const Byte* p, const Byte* end) {
    const std::size_t size = std::min(static_cast<std::size_t>(end - p), kBytes);
    classify_(p, 0, size / 64, *this);
    Byte rest[64];
    std::fill(std::copy(p + size / 64 * 64, p + size, rest), rest + 64, Byte{0x80});
    classify_(rest, size / 64, 1, *this);
    set(size / 64 + 1, Classes{});
    return p + size;
  }

  Classes at(std::size_t place) const {
    Masks masks;
    for (std::size_t i = 0; i < kMasks; ++i) {
      std::memcpy(&masks.of[i], reinterpret_cast<const Byte*>(bits_[i]) + place / 8, 8);
      masks.of[i] >>= place % 8;
    }
    return std::bit_cast<Classes>(masks);
  }

 private:
  // Classifies `count` blocks of 64 bytes, the first of which is block `first` of `out`.
  using Classify = void (*)(const Byte* p, std::size_t first, std::size_t count, ByteClasses& out);
  static constexpr std::size_t kMasks = sizeof(Classes) / sizeof(std::uint64_t), kWords = kBytes / 64 + 2;
  struct Masks {
    std::uint64_t of[kMasks];
  };

  void set(std::size_t block, const Classes& classes) {
    const auto masks = std::bit_cast<Masks>(classes);
    for (std::size_t i = 0; i < kMasks; ++i) bits_[i][block] = masks.of[i];
  }

  static void classify_portable(const Byte* p, std::size_t first, std::size_t count, ByteClasses& out);
#if defined(__x86_64__)
  static void classify_sse2(const Byte* p, std::size_t first, std::size_t count, ByteClasses& out);
  [[gnu::target("avx2")]] static void classify_avx2(const Byte* p, std::size_t first, std::size_t count,
                                                    ByteClasses& out);
#endif
  static Classify fastest();
  static const Classify classify_;

  std::uint64_t bits_[kMasks][kWords];
};

extern template class ByteClasses<GeneralClasses>;
extern template class ByteClasses<CodeClasses>;

}  // namespace megacpp
