// The words of the general split, some hundred at a time: by bit arithmetic where all bytes are ASCII, one by one
// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "byte_classes.hpp"

namespace megacpp {

class Splitter;

class GeneralWords {
 public:
  static constexpr std::size_t kMost = 512;  // ends that one call gives

  // Of [p, end), which must be valid UTF-8. A word depends on nothing before it, so any start of a word will do.
  GeneralWords(const Splitter& splitter, const Byte* p, const Byte* end)
      : splitter_(splitter), p_(p), end_(end), chunk_(p), chunk_end_(p) {}

  // Writes the ends of the next words, each of which is the start of the word after it; returns their number, 0 at the end.
  std::size_t next(const Byte** ends);

 private:
  std::uint64_t starts(std::size_t place) const;
  std::uint64_t cut_contractions(std::uint64_t candidates, std::uint64_t starts, std::uint64_t inside) const;

  const Splitter& splitter_;
  const Byte *p_, *end_;
  const Byte *chunk_, *chunk_end_;  // what `classes_` holds
  ByteClasses<GeneralClasses> classes_;
};

}  // namespace megacpp
