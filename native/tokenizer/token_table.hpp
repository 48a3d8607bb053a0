// Words of at most 15 bytes and their tokens, two words to a cache line: a look-up reads one line and seldom branches.
// Threads read and add at the same time without a lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "memory.hpp"
#include "word_table.hpp"

namespace megacpp {

// The tokens of a word: up to three of them here, or any number elsewhere.
struct TokenList {
  static constexpr std::uint32_t kMost = 3;
  std::uint32_t ids[kMost] = {0, 0, 0};
  // From the lowest byte on: the number of tokens, and the byte of the word at which each ends. 0: they are elsewhere.
  std::uint32_t shape = 0;

  static TokenList elsewhere(const std::uint32_t* tokens, std::size_t count) {
    TokenList list;
    std::memcpy(list.ids, static_cast<const void*>(&tokens), sizeof tokens);
    list.ids[2] = static_cast<std::uint32_t>(count);
    return list;
  }

  std::size_t count() const { return shape != 0 ? shape & 0xFF : ids[2]; }
  const std::uint32_t* tokens() const {
    if (shape != 0) return ids;
    const std::uint32_t* elsewhere;
    std::memcpy(static_cast<void*>(&elsewhere), ids, sizeof elsewhere);
    return elsewhere;
  }
};
static_assert(sizeof(std::uint32_t*) <= 2 * sizeof(std::uint32_t));

// How many slots of a table are used. A thread adds some at a time, because each change of the sum makes the other cores
// fetch it again. So the sum is too low by a few, fewer in a small table.
class UsedSlots {
 public:
  explicit UsedSlots(std::size_t slots) : at_once_(std::clamp<std::size_t>(slots / 4096, 1, 32)) {}

  // Counts one more of a thread, which has counted `uncounted` for itself so far.
  void add(std::size_t& uncounted) {
    if (++uncounted < at_once_) return;
    sum_.fetch_add(uncounted, std::memory_order_relaxed);
    uncounted = 0;
  }
  std::size_t sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::size_t at_once_;
  alignas(kCacheLine) std::atomic<std::size_t> sum_{0};  // far from what is read for every word
};

class TokenTable {
 public:
  // A thread claims an empty slot, writes the word and its tokens, and publishes both by `high`.
  struct Slot {
    static constexpr std::uint64_t kClaimed = std::uint64_t{1} << 63;  // no key has such a `high`
    // Nor such a `low`: UTF-8 has no byte of eight ones. A vocabulary may, but is added before others read.
    static constexpr std::uint64_t kUnset = ~std::uint64_t{0};
    std::atomic<std::uint64_t> low{kUnset}, high{0};
    TokenList tokens;

    // `low` is compared first: it is most often what differs. It changes once, from `kUnset`. If it is that of a key, then
    // `high` is of the same word, or not published yet and that of no key.
    bool holds(ShortKey key) const {
      return low.load(std::memory_order_relaxed) == key.low && high.load(std::memory_order_acquire) == key.high;
    }
    bool empty() const { return high.load(std::memory_order_relaxed) == 0; }
    bool claim() {
      std::uint64_t none = 0;
      return high.compare_exchange_strong(none, kClaimed, std::memory_order_relaxed);
    }
    void publish(ShortKey key, const TokenList& list) {
      low.store(key.low, std::memory_order_relaxed);
      tokens = list;
      high.store(key.high, std::memory_order_release);
    }
  };
  struct alignas(kCacheLine) Line {
    Slot slots[2];

    bool holds(ShortKey key) const { return slots[0].holds(key) || slots[1].holds(key); }
  };

  // Where words are looked up first. A copy stays in registers, whatever the loop around it writes.
  class Places {
   public:
    Places(const Line* lines, std::uint64_t mask) : lines_(lines), mask_(mask) {}
    const Line& operator[](std::uint64_t hash) const { return lines_[hash & mask_]; }

   private:
    const Line* lines_;
    std::uint64_t mask_;
  };

  // Half full with `words` words.
  explicit TokenTable(std::size_t words) : TokenTable(lines_for(words), nullptr) {}

  // Twice the room, with the words of `smaller` that are published. They are added in the order of their slots, from an
  // empty one on, so none is further from the place of its hash than before, and all can be found.
  explicit TokenTable(const TokenTable& smaller) : TokenTable(2 * smaller.lines_.size(), nullptr) {
    const std::uint64_t mask = smaller.slots() - 1;
    std::uint64_t first = 0, uncounted = 0;
    while (first < mask && !smaller.slot(first).empty()) ++first;
    for (std::uint64_t i = 1; i <= mask; ++i) {
      const Slot& slot = smaller.slot((first + i) & mask);
      const std::uint64_t high = slot.high.load(std::memory_order_acquire);
      if (high == 0 || high == Slot::kClaimed) continue;
      const ShortKey key{slot.low.load(std::memory_order_relaxed), high};
      const std::uint64_t hash = hash_key(key), home = 2 * (hash & smaller.mask_);
      if (((home - first) & mask) <= i)
        add(key, hash, slot.tokens, uncounted);  // else it came after the search for `first`
    }
  }

  std::size_t slots() const { return 2 * lines_.size(); }
  bool is_full() const { return 4 * used_.sum() > 3 * slots(); }
  std::size_t memory() const { return lines_.size() * sizeof(Line); }
  Places places() const { return {lines_.data(), mask_}; }

  // The tokens of a word, or null.
  const TokenList* find(ShortKey key, std::uint64_t hash) const {
    for (std::uint64_t i = hash, last = hash + kMostLines; i != last; ++i)
      for (const Slot& slot : lines_[i & mask_].slots) {
        if (slot.holds(key)) return &slot.tokens;
        if (slot.empty()) return nullptr;
      }
    return nullptr;
  }

  // Whether `add` finds an empty slot, as long as no other thread takes it.
  bool has_room(std::uint64_t hash) const {
    if (!has_slots()) return false;
    for (std::uint64_t i = hash, last = hash + kMostLines; i != last; ++i)
      if (lines_[i & mask_].slots[0].empty() || lines_[i & mask_].slots[1].empty()) return true;
    return false;
  }

  // Adds a word that is not there. False if another thread has added it, or if the lines where it may be are full: nobody
  // can make a look-up slow by a choice of words. `uncounted`: see `UsedSlots`.
  bool add(ShortKey key, std::uint64_t hash, const TokenList& tokens, std::size_t& uncounted) {
    if (!has_slots()) return false;
    for (std::uint64_t i = hash, last = hash + kMostLines; i != last; ++i)
      for (Slot& slot : lines_[i & mask_].slots) {
        if (slot.empty() && slot.claim()) {
          slot.publish(key, tokens);
          used_.add(uncounted);
          return true;
        }
        if (slot.holds(key)) return false;
      }
    return false;
  }

 private:
  static constexpr std::uint64_t kMostLines = 64;

  TokenTable(std::size_t lines, std::nullptr_t) : lines_(lines), mask_(lines - 1), used_(2 * lines) {}

  static std::size_t lines_for(std::size_t words) {
    std::size_t lines = 512;
    while (lines < words) lines *= 2;
    return lines;
  }

  // Some slots stay empty, so that every search ends and the words can be copied in order.
  bool has_slots() const { return 8 * used_.sum() <= 7 * slots(); }
  const Slot& slot(std::uint64_t number) const { return lines_[number / 2].slots[number % 2]; }

  Large<Line> lines_;
  std::uint64_t mask_;  // of a hash: its line
  UsedSlots used_;
};

}  // namespace megacpp
