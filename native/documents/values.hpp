// Values of the search for the context of a document. Items are ranges of chunks; each is named by its first chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace megacpp {

using Item = std::int32_t;
using Items = std::vector<Item>;
using Numbers = std::vector<std::int32_t>;                     // of members or chunks, ascending where they are a set
using Uses = std::unordered_map<std::uint64_t, std::int64_t>;  // how often each entity is used

constexpr Item kNone = -1;
// In place of a member's number: the shortest form of an item, all members of a class, and its head with its bases.
constexpr std::int32_t kHead = -3, kAll = -2, kOpening = -1;

// A part of an item that may be shown: a member by its number, or one of the forms above.
struct Offer {
  Item item;
  std::int32_t number;
  auto operator<=>(const Offer&) const = default;
};

// Chunks [first, last), or of them only the characters [start, end) if they are a part of a root, whose first member
// begins at `begun`. Otherwise these are -1.
struct Passage {
  std::int32_t first, last;
  std::int64_t start = -1, end = -1, begun = -1;
  bool operator==(const Passage&) const = default;
};

inline std::uint64_t packed(Item item, std::int32_t number) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(item)) << 32 | static_cast<std::uint32_t>(number);
}

struct HashOfOffer {
  std::size_t operator()(const Offer& offer) const {
    return std::hash<std::uint64_t>()(packed(offer.item, offer.number) * 0x9E3779B97F4A7C15u);
  }
};

struct HashOfPassage {
  std::size_t operator()(const Passage& each) const {
    const std::uint64_t place = static_cast<std::uint64_t>(each.start) * 31 + static_cast<std::uint64_t>(each.end);
    return std::hash<std::uint64_t>()((packed(each.first, each.last) ^ place) * 0x9E3779B97F4A7C15u);
  }
};

inline bool holds(const Numbers& ascending, std::int32_t number) {
  return std::binary_search(ascending.begin(), ascending.end(), number);
}

// Insert `more` into `numbers`; both are ascending and have each number once.
inline Numbers joined(const Numbers& numbers, const Numbers& more) {
  Numbers result;
  result.reserve(numbers.size() + more.size());
  std::set_union(numbers.begin(), numbers.end(), more.begin(), more.end(), std::back_inserter(result));
  return result;
}

inline Numbers without(const Numbers& numbers, const Numbers& others) {
  Numbers result;
  std::set_difference(numbers.begin(), numbers.end(), others.begin(), others.end(), std::back_inserter(result));
  return result;
}

inline void append(Items& to, const Items& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace megacpp
