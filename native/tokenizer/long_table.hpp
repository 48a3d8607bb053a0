// Words of more than 15 bytes and their tokens. The table has 8 bytes of each, and the rest lies in an arena. Threads read
// and add at the same time without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "arena.hpp"
#include "token_table.hpp"

namespace megacpp {

class LongTable {
 public:
  // Half full with `words` words.
  explicit LongTable(std::size_t words) : LongTable(slots_for(words), nullptr) {}

  // Twice the room, with the words of `smaller`, whose records stay where they are. For the order, see `TokenTable`.
  explicit LongTable(const LongTable& smaller) : LongTable(2 * smaller.slots_.size(), nullptr) {
    const std::uint64_t mask = smaller.mask_;
    std::uint64_t first = 0, uncounted = 0;
    while (first < mask && smaller.slots_[first].load(std::memory_order_relaxed) != 0) ++first;
    for (std::uint64_t i = 1; i <= mask; ++i) {
      const std::uint64_t entry = smaller.slots_[(first + i) & mask].load(std::memory_order_acquire);
      if (entry == 0 || ((tag_of(entry) - first) & mask) > i) continue;
      std::uint64_t place = tag_of(entry);
      while (slots_[place & mask_].load(std::memory_order_relaxed) != 0) ++place;
      slots_[place & mask_].store(entry, std::memory_order_relaxed);
      used_.add(uncounted);
    }
  }

  bool is_full() const { return 2 * used_.sum() > slots_.size(); }
  std::size_t memory() const { return slots_.size() * sizeof(Slot); }

  // Asks for the memory that `find` will read first.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&slots_[tag_of(hash) & mask_]); }

  // Asks for the memory that `find` will read next. Inlined, as GCC drops calls of functions that do nothing else.
  [[gnu::always_inline]] void prefetch_record(std::uint64_t hash, const Arena& arena) const {
    const std::uint64_t entry = slots_[tag_of(hash) & mask_].load(std::memory_order_acquire);
    if (tag_of(entry) == tag_of(hash)) __builtin_prefetch(arena.at(static_cast<std::uint32_t>(entry)));
  }

  // The tokens of a word, or null.
  const TokenList* find(const Byte* p, std::size_t length, std::uint64_t hash, const Arena& arena) const {
    const std::uint32_t tag = tag_of(hash);
    for (std::uint64_t i = tag, last = i + kMostSlots; i != last; ++i) {
      const std::uint64_t entry = slots_[i & mask_].load(std::memory_order_acquire);
      if (entry == 0) return nullptr;
      if (const TokenList* tokens = tokens_in(entry, tag, p, length, arena)) return tokens;
    }
    return nullptr;
  }

  // Whether `add` finds an empty slot, as long as no other thread takes it.
  bool has_room(std::uint64_t hash) const {
    if (!has_slots()) return false;
    const std::uint64_t first = tag_of(hash);
    for (std::uint64_t i = first; i != first + kMostSlots; ++i)
      if (slots_[i & mask_].load(std::memory_order_relaxed) == 0) return true;
    return false;
  }

  // Adds a word that is not there. False if another thread has added it, or if there is no room for it. `uncounted`: see
  // `UsedSlots`.
  bool add(const Byte* p, std::size_t length, std::uint64_t hash, const TokenList& tokens, Arena& arena,
           Arena::Writer& writer, std::size_t& uncounted) {
    if (!has_slots()) return false;
    const std::uint32_t tag = tag_of(hash);
    std::uint64_t fresh = 0;  // of the record, once it is written
    for (std::uint64_t i = tag, last = i + kMostSlots; i != last; ++i) {
      Slot& slot = slots_[i & mask_];
      std::uint64_t entry = slot.load(std::memory_order_acquire);
      if (entry == 0) {
        if (fresh == 0) fresh = write(p, length, tag, tokens, arena, writer);
        if (fresh == 0) return false;
        if (slot.compare_exchange_strong(entry, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
          used_.add(uncounted);
          return true;
        }
      }
      if (tokens_in(entry, tag, p, length, arena) != nullptr) return false;
    }
    return false;
  }

 private:
  using Slot = std::atomic<std::uint64_t>;  // the upper half of the hash, then the place of the record; 0: empty
  // The bytes of the word follow.
  struct Record {
    TokenList tokens;
    std::uint64_t length;
  };
  static_assert(sizeof(Record) % sizeof(Arena::Unit) == 0);
  static constexpr std::uint64_t kMostSlots = 256;

  LongTable(std::size_t slots, std::nullptr_t) : slots_(slots), mask_(slots - 1), used_(slots) {}

  // Some slots stay empty, as in a `TokenTable`.
  bool has_slots() const { return 4 * used_.sum() <= 3 * slots_.size(); }

  static std::size_t slots_for(std::size_t words) {
    std::size_t slots = 256;
    while (slots < 2 * words) slots *= 2;
    return slots;
  }

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  static const TokenList* tokens_in(std::uint64_t entry, std::uint32_t tag, const Byte* p, std::size_t length,
                                    const Arena& arena) {
    if (tag_of(entry) != tag) return nullptr;
    const auto* record = reinterpret_cast<const Record*>(arena.at(static_cast<std::uint32_t>(entry)));
    return record->length == length && std::memcmp(record + 1, p, length) == 0 ? &record->tokens : nullptr;
  }

  // What a slot has of a new record; 0 if the arena is full.
  static std::uint64_t write(const Byte* p, std::size_t length, std::uint32_t tag, const TokenList& tokens,
                             Arena& arena, Arena::Writer& writer) {
    constexpr std::size_t unit = sizeof(Arena::Unit);
    std::uint32_t place;
    Arena::Unit* memory = writer.allocate(arena, (sizeof(Record) + length + unit - 1) / unit, place);
    if (memory == nullptr) return 0;
    auto* record = new (memory) Record{tokens, length};
    std::memcpy(record + 1, p, length);
    return std::uint64_t{tag} << 32 | place;
  }

  Large<Slot> slots_;
  std::uint64_t mask_;
  UsedSlots used_;
};

}  // namespace megacpp
