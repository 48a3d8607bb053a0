// Which bytes of a stretch of text are letters, digits and so on, as one bit a byte. A splitter then decides on words by
// arithmetic over 57 bytes at once instead of a branch for each byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "text.hpp"

namespace megacpp {

class ByteClasses {
 public:
  static constexpr std::size_t kBytes = 4096;  // of text that one call of `read` classifies
  static constexpr std::size_t kWindow = 57;   // bytes of which `at` gives the classes, from any place on

  // Classes of bytes that follow one another, the first in the lowest bit. A byte that is not ASCII has none, nor has
  // one behind the stretch.
  struct Window {
    std::uint64_t letters, digits, spaces, blanks, newlines, symbols, quotes;
  };

  // Classifies [p, end), or its first `kBytes`; returns where it stopped.
  const Byte* read(const Byte* p, const Byte* end) {
    const std::size_t size = std::min(static_cast<std::size_t>(end - p), kBytes);
    classify_(p, size / 64, *this);
    const std::size_t whole = size / 64 * 64;
    Byte rest[64];
    std::fill(std::copy(p + whole, p + size, rest), rest + 64, Byte{0x80});
    ByteClasses::classify_one(rest, size / 64, *this);
    for (auto* bits : {letters_, digits_, spaces_, blanks_, newlines_, symbols_, quotes_}) bits[size / 64 + 1] = 0;
    return p + size;
  }

  Window at(std::size_t place) const {
    const auto bits = [place](const std::uint64_t* of) {
      std::uint64_t eight;
      std::memcpy(&eight, reinterpret_cast<const Byte*>(of) + place / 8, 8);
      return eight >> place % 8;
    };
    return {bits(letters_),  bits(digits_),  bits(spaces_), bits(blanks_),
            bits(newlines_), bits(symbols_), bits(quotes_)};
  }

 private:
  using Classify = void (*)(const Byte* p, std::size_t blocks, ByteClasses& out);
  static constexpr std::size_t kWords = kBytes / 64 + 2;

  void set(std::size_t block, const Window& window) {
    letters_[block] = window.letters;
    digits_[block] = window.digits;
    spaces_[block] = window.spaces;
    blanks_[block] = window.blanks;
    newlines_[block] = window.newlines;
    symbols_[block] = window.symbols;
    quotes_[block] = window.quotes;
  }

  static void classify_one(const Byte* p, std::size_t block, ByteClasses& out);
  static void classify_portable(const Byte* p, std::size_t blocks, ByteClasses& out);
#if defined(__x86_64__)
  static void classify_sse2(const Byte* p, std::size_t blocks, ByteClasses& out);
  static void classify_avx2(const Byte* p, std::size_t blocks, ByteClasses& out);
#endif
  static Classify fastest();
  static const Classify classify_;

  std::uint64_t letters_[kWords], digits_[kWords], spaces_[kWords], blanks_[kWords], newlines_[kWords],
      symbols_[kWords], quotes_[kWords];
};

}  // namespace megacpp
