// A hash table from byte strings to small payloads. Words of at most 15 bytes live inside their entry, so a hit
// costs one cache line. Longer ones lie in an arena beside their payload; the table has 8 bytes of each, because the first
// touch of a page costs more than the rest of an insertion.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "memory.hpp"
#include "text.hpp"

namespace megacpp {

// Two ids, the left one above.
inline std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | right;
}

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t load8(const Byte* p) {
  std::uint64_t value;
  std::memcpy(&value, p, 8);
  return value;
}

inline constexpr std::uint64_t kSeed0 = 0x2d358dccaa6c78a5u;
inline constexpr std::uint64_t kSeed1 = 0x8bb84b93962eacc9u;
inline constexpr std::size_t kInline = 15;

// A word of at most 15 bytes as two integers; the length is in the top byte, so `high` is never zero.
struct ShortKey {
  std::uint64_t low, high;
};

// Masks of the first `length` bytes of 16, as two integers: lengths change from word to word, so no branch asks for them.
struct ShortMasks {
  std::uint64_t low[kInline + 1] = {}, high[kInline + 1] = {};
  constexpr ShortMasks() {
    for (std::size_t length = 0; length <= kInline; ++length) {
      low[length] = length >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * length)) - 1;
      high[length] = length > 8 ? (std::uint64_t{1} << (8 * (length - 8))) - 1 : 0;
    }
  }
};
inline constexpr ShortMasks kShortMasks;

// `limit` is the end of readable memory: the usual case reads 16 bytes at once and masks.
inline ShortKey short_key(const Byte* p, std::size_t length, const Byte* limit) {
  std::uint64_t low, high;
  if (limit - p >= 16) [[likely]] {
    low = load8(p) & kShortMasks.low[length];
    high = load8(p + 8) & kShortMasks.high[length];
  } else {
    Byte buffer[16] = {};
    std::memcpy(buffer, p, length);
    low = load8(buffer);
    high = load8(buffer + 8);
  }
  return {low, high | static_cast<std::uint64_t>(length) << 56};
}

inline std::uint64_t hash_key(ShortKey key) { return mix(key.low ^ kSeed0, key.high ^ kSeed1); }

inline std::uint64_t hash_bytes(const Byte* p, std::size_t length) {
  std::uint64_t state = kSeed0 ^ length;
  std::size_t i = 0;
  for (; i + 16 <= length; i += 16) state = mix(load8(p + i) ^ state, load8(p + i + 8) ^ kSeed1);
  Byte rest[16] = {};
  std::memcpy(rest, p + i, length - i);
  return mix(load8(rest) ^ state, load8(rest + 8) ^ kSeed1);
}

template <class Payload>
class WordTable {
 public:
  WordTable() : short_(1u << 10), long_(1u << 8) {}

  std::size_t size() const { return short_used_ + long_used_; }

  // The payload of the word at `p`, made by `Payload{}` if new; `fresh` tells which. Valid until the next call.
  Payload& get(const Byte* p, std::size_t length, const Byte* limit, bool& fresh) {
    if (length > kInline) return get_long(p, length, fresh);
    const ShortKey key = short_key(p, length, limit);
    return get_short(key, hash_key(key), fresh);
  }

  // As `get`, of a word of at most 15 bytes whose key and hash are known.
  Payload& get_short(ShortKey key, std::uint64_t hash, bool& fresh) {
    for (std::size_t i = hash & (short_.size() - 1);; i = (i + 1) & (short_.size() - 1)) {
      Short& entry = short_[i];
      if (entry.low == key.low && entry.high == key.high) {
        fresh = false;
        return entry.payload;
      }
      if (entry.high != 0) continue;
      fresh = true;
      if (2 * (short_used_ + 1) > short_.size()) {
        grow_short();
        return get_short(key, hash, fresh);
      }
      ++short_used_;
      entry.low = key.low;
      entry.high = key.high;
      return entry.payload;
    }
  }

  // As `get`, of a longer word.
  Payload& get_long(const Byte* p, std::size_t length, bool& fresh) {
    const std::uint64_t hash = hash_bytes(p, length);
    if (2 * (long_used_ + 1) > long_.size()) grow_long();
    Long& entry = long_[slot_of(p, length, hash)];
    fresh = entry.place == 0;
    if (fresh) {
      ++long_used_;
      entry = {tag_of(hash), add_record(p, length)};
    }
    return record(entry).payload;
  }

  // Calls `visit(bytes, payload)` for every word, in an order that depends on the table's history.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Short& entry : short_)
      if (entry.high != 0)  // the two integers hold the word's bytes in order (little-endian)
        visit(std::string_view(reinterpret_cast<const char*>(&entry.low), entry.high >> 56), entry.payload);
    for (const Long& entry : long_)
      if (entry.place != 0)
        visit(std::string_view(reinterpret_cast<const char*>(bytes(entry)), record(entry).length),
              record(entry).payload);
  }

  void clear() { *this = WordTable(); }

 private:
  struct Short {
    std::uint64_t low = 0, high = 0;
    Payload payload{};
  };
  struct Long {
    std::uint32_t tag = 0, place = 0;  // the upper half of the hash; its record in the arena, 0 for an empty slot
  };
  // The bytes of the word follow.
  struct Record {
    Payload payload;
    std::uint64_t length;
  };
  static_assert(sizeof(Record) % sizeof(std::uint64_t) == 0);

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  Record& record(const Long& entry) { return *reinterpret_cast<Record*>(&arena_[entry.place]); }
  const Record& record(const Long& entry) const { return *reinterpret_cast<const Record*>(&arena_[entry.place]); }
  const Byte* bytes(const Long& entry) const { return reinterpret_cast<const Byte*>(&record(entry) + 1); }

  // The slot of a longer word, or the empty one where it belongs.
  std::size_t slot_of(const Byte* p, std::size_t length, std::uint64_t hash) const {
    const std::uint32_t tag = tag_of(hash);
    for (std::size_t i = tag & (long_.size() - 1);; i = (i + 1) & (long_.size() - 1)) {
      const Long& entry = long_[i];
      if (entry.place == 0) return i;
      if (entry.tag == tag && record(entry).length == length && std::memcmp(bytes(entry), p, length) == 0) return i;
    }
  }

  std::uint32_t add_record(const Byte* p, std::size_t length) {
    const std::size_t place = arena_.size(), unit = sizeof(std::uint64_t);
    if (place > 0xFFFFFFFFu) throw std::length_error("a table has at most 32 GiB of words longer than 15 bytes");
    arena_.resize(place + (sizeof(Record) + length + unit - 1) / unit);
    new (&arena_[place]) Record{Payload{}, length};
    std::memcpy(reinterpret_cast<Record*>(&arena_[place]) + 1, p, length);
    return static_cast<std::uint32_t>(place);
  }

  void grow_short() {
    Large<Short> old(short_.size() * 2);
    old.swap(short_);
    for (const Short& entry : old) {
      if (entry.high == 0) continue;
      std::size_t i = hash_key({entry.low, entry.high}) & (short_.size() - 1);
      while (short_[i].high != 0) i = (i + 1) & (short_.size() - 1);
      short_[i] = entry;
    }
  }

  void grow_long() {
    Large<Long> old(long_.size() * 2);
    old.swap(long_);
    for (const Long& entry : old) {
      if (entry.place == 0) continue;
      std::size_t i = entry.tag & (long_.size() - 1);
      while (long_[i].place != 0) i = (i + 1) & (long_.size() - 1);
      long_[i] = entry;
    }
  }

  Large<Short> short_;
  Large<Long> long_;
  Large<std::uint64_t> arena_ = Large<std::uint64_t>(1);  // place 0 is no record
  std::size_t short_used_ = 0, long_used_ = 0;
};

}  // namespace megacpp
