// Words of at most 15 bytes and their tokens, two words to a cache line: a look-up reads one line and seldom branches.
#pragma once

#include <cstdint>

#include "memory.hpp"
#include "word_table.hpp"

namespace megacpp {

// Up to three tokens of a word. Of more, there are none: ids[0] is their place in a list elsewhere and ids[1] their number.
struct TokenList {
  static constexpr std::uint32_t kMost = 3;
  std::uint32_t ids[kMost] = {0, 0, 0};
  std::uint32_t shape =
      0;  // from the lowest byte on: the number of tokens, and the byte of the word at which each ends

  std::uint32_t count() const { return shape & 0xFF; }
};

class TokenTable {
 public:
  struct Slot {
    ShortKey key{0, 0};
    TokenList tokens;

    bool holds(ShortKey other) const { return key.low == other.low && key.high == other.high; }
    bool empty() const { return key.high == 0; }
  };
  struct alignas(64) Line {
    Slot slots[2];

    bool holds(ShortKey key) const { return slots[0].holds(key) || slots[1].holds(key); }
  };

  // Half full with `words` words.
  explicit TokenTable(std::size_t words) {
    std::size_t lines = 512;
    while (lines < words) lines *= 2;
    lines_.resize(lines);
    mask_ = lines - 1;
  }

  std::size_t memory() const { return lines_.size() * sizeof(Line); }
  const Line* lines() const { return lines_.data(); }
  std::uint64_t mask() const { return mask_; }

  // Asks for the memory that `find` will read first.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&lines_[hash & mask()]); }

  // The slot of a word, or the empty one where it belongs.
  Slot& find(ShortKey key, std::uint64_t hash) {
    for (std::uint64_t i = hash & mask();; i = (i + 1) & mask())
      for (Slot& slot : lines_[i].slots)
        if (slot.holds(key) || slot.empty()) return slot;
  }

  // The tokens of a word, which has a slot from then on; `fresh` tells whether it had none. Valid until the next call.
  TokenList& get(ShortKey key, std::uint64_t hash, bool& fresh) {
    Slot* slot = &find(key, hash);
    fresh = slot->empty();
    if (!fresh) return slot->tokens;
    if (2 * (used_ + 1) > 3 * lines_.size()) [[unlikely]] {
      grow();
      slot = &find(key, hash);
    }
    ++used_;
    slot->key = key;
    return slot->tokens;
  }

 private:
  void grow() {
    Large<Line> old(lines_.size() * 2);
    old.swap(lines_);
    mask_ = lines_.size() - 1;
    for (const Line& line : old)
      for (const Slot& slot : line.slots)
        if (!slot.empty()) find(slot.key, hash_key(slot.key)) = slot;
  }

  Large<Line> lines_;
  std::size_t used_ = 0;
  std::uint64_t mask_;  // of a hash: its line
};

}  // namespace megacpp
