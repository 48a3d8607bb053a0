// A hash table from byte strings to small payloads. Words of at most 15 bytes live inside their entry, so a hit
// costs one cache line; longer ones lie in an arena and are compared byte by byte after their hash.
#pragma once

#include <cstdint>
#include <cstring>
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
  return mix(load8(rest) ^ state, load8(rest + 8) ^ kSeed1) | 1;  // zero marks an empty slot
}

template <class Payload>
class WordTable {
 public:
  WordTable() : short_(1u << 10), long_(1u << 8) {}

  std::size_t size() const { return short_used_ + long_used_; }
  std::size_t memory() const { return short_.size() * sizeof(Short) + long_.size() * sizeof(Long) + arena_.capacity(); }

  // The payload of the word at `p`, made by `Payload{}` if new; `fresh` tells which. Valid until the next call.
  Payload& get(const Byte* p, std::size_t length, const Byte* limit, bool& fresh) {
    if (length > kInline) return get_long(p, length, fresh);
    const ShortKey key = short_key(p, length, limit);
    return get_short(key, hash_key(key), fresh);
  }

  // Asks for the memory that `get_short` will read first.
  void prefetch_short(std::uint64_t hash) const { __builtin_prefetch(&short_[hash & (short_.size() - 1)]); }

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

  // Asks for the memory that `get_long` will read first.
  void prefetch_long(std::uint64_t hash) const { __builtin_prefetch(&long_[hash & (long_.size() - 1)]); }

  // As `get`, of a longer word.
  Payload& get_long(const Byte* p, std::size_t length, bool& fresh) {
    return get_long(p, length, hash_bytes(p, length), fresh);
  }

  // As `get`, of a longer word whose hash is known.
  Payload& get_long(const Byte* p, std::size_t length, std::uint64_t hash, bool& fresh) {
    if (2 * (long_used_ + 1) > long_.size()) grow_long();
    for (std::size_t i = hash & (long_.size() - 1);; i = (i + 1) & (long_.size() - 1)) {
      Long& entry = long_[i];
      if (matches(entry, hash, p, length)) {
        fresh = false;
        return entry.payload;
      }
      if (entry.hash != 0) continue;
      fresh = true;
      ++long_used_;
      entry.hash = hash;
      entry.offset = arena_.size();
      entry.length = length;
      arena_.insert(arena_.end(), p, p + length);
      return entry.payload;
    }
  }

  const Payload* find(const Byte* p, std::size_t length) const {
    if (length <= kInline) {
      const ShortKey key = short_key(p, length, p);
      for (std::size_t i = hash_key(key) & (short_.size() - 1);; i = (i + 1) & (short_.size() - 1)) {
        if (short_[i].high == 0) return nullptr;
        if (short_[i].low == key.low && short_[i].high == key.high) return &short_[i].payload;
      }
    }
    return find_long(p, length, hash_bytes(p, length));
  }

  // As `find`, of a longer word whose hash is known.
  const Payload* find_long(const Byte* p, std::size_t length, std::uint64_t hash) const {
    for (std::size_t i = hash & (long_.size() - 1);; i = (i + 1) & (long_.size() - 1)) {
      if (long_[i].hash == 0) return nullptr;
      if (matches(long_[i], hash, p, length)) return &long_[i].payload;
    }
  }

  // Calls `visit(bytes, payload)` for every word, in an order that depends on the table's history.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Short& entry : short_)
      if (entry.high != 0)  // the two integers hold the word's bytes in order (little-endian)
        visit(std::string_view(reinterpret_cast<const char*>(&entry.low), entry.high >> 56), entry.payload);
    for (const Long& entry : long_)
      if (entry.hash != 0)
        visit(std::string_view(reinterpret_cast<const char*>(arena_.data() + entry.offset), entry.length),
              entry.payload);
  }

  void clear() { *this = WordTable(); }

 private:
  struct Short {
    std::uint64_t low = 0, high = 0;
    Payload payload{};
  };
  struct Long {
    std::uint64_t hash = 0, offset = 0, length = 0;
    Payload payload{};
  };

  bool matches(const Long& entry, std::uint64_t hash, const Byte* p, std::size_t length) const {
    return entry.hash == hash && entry.length == length && std::memcmp(arena_.data() + entry.offset, p, length) == 0;
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
      if (entry.hash == 0) continue;
      std::size_t i = entry.hash & (long_.size() - 1);
      while (long_[i].hash != 0) i = (i + 1) & (long_.size() - 1);
      long_[i] = entry;
    }
  }

  Large<Short> short_;
  Large<Long> long_;
  std::vector<Byte> arena_;
  std::size_t short_used_ = 0, long_used_ = 0;
};

}  // namespace megacpp
