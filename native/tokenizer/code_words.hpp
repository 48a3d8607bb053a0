// The words of code under the recipe in which operators carry spaces, some hundred at a time: by bit arithmetic where it
// can decide, one by one elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "byte_classes.hpp"

namespace megacpp {

class Splitter;

class CodeWords {
 public:
  static constexpr std::size_t kMost = 512;  // ends that one call gives

  // Of text up to `end`, which must be valid UTF-8.
  CodeWords(const Splitter& splitter, const Byte* p, const Byte* end)
      : splitter_(splitter), end_(end), chunk_(p), chunk_end_(p) {}

  // Writes the ends of the next words from `p` on, each of which is the start of the word after it; returns their number, 0
  // at `stop`. No word goes beyond `stop`.
  std::size_t next(const Byte* p, const Byte* stop, const Byte** ends);

 private:
  std::uint64_t borders(const Byte* p, std::size_t room) const;
  static std::uint64_t up_to_number(const Byte* p, std::uint64_t behind, std::uint64_t starts);

  const Splitter& splitter_;
  const Byte* end_;
  const Byte *chunk_, *chunk_end_;  // what `classes_` holds
  ByteClasses<CodeClasses> classes_;
};

}  // namespace megacpp
