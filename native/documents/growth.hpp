// The room, the limits and the worth of the context that a document grows by.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "prices.hpp"
#include "values.hpp"

namespace megacpp {

constexpr std::int64_t kSeparatorChars = 2;
// The maximum number of characters of a declaration that replaces a barred item, of a function's declaration that is
// shown of a barred class, of a class that is shown with all members where it must be complete, and of a class that is
// shown whole because the parser saw none of its members.
constexpr std::int64_t kLongestStandIn = 200, kLongestSignature = 400, kShortClass = 200, kLongestUnseen = 1000;
// Divides the worth of a use that only a body or further members explain, because a declaration explains it already.
constexpr double kUnasked = 16;

struct Room {
  std::int64_t chars, chunks;
};

// Items, by their first chunks.
using Flags = std::vector<bool>;

// What may not be shown whole; see `Limits` in growth.py.
struct Limits {
  const Flags* barred;
  const Flags* sealed;
  const Flags* denied;
  bool is_c;
};

// The search at one distance from the roots. `is_needed` is true while it adds items without which roots are wrong.
// `refused` counts what there was no room for. If `is_whole`, a refusal in a trial fails the search itself.
struct Growth {
  Room* room;
  Prices* prices;
  int distance;
  bool is_needed;
  int* refused;
  bool is_whole;

  // The worth of context that explains `uses` in `chars` characters. It decreases with the distance.
  double worth(double uses, std::int64_t chars) const {
    constexpr double kNeededFactor = 64, kFarther = 4;
    constexpr double kUnnamed = 1.0 / 64;  // uses of an item that no text names
    const double each = std::max(uses, kUnnamed) / static_cast<double>(chars + kSeparatorChars);
    return (is_needed ? each * kNeededFactor : each) / std::pow(kFarther, distance - 1);
  }

  // The maximum number of characters in which context that explains `uses` is worth the price and fits.
  std::int64_t affordable_chars(double uses) const {
    const double least = prices->least();
    if (least == 0) return std::max<std::int64_t>(0, room->chars);
    const double most = worth(uses, 0) * kSeparatorChars / least;
    const auto fits = static_cast<double>(room->chars);
    return most - kSeparatorChars >= fits
               ? std::max<std::int64_t>(0, room->chars)
               : std::max<std::int64_t>(0, static_cast<std::int64_t>(most) - kSeparatorChars);
  }

  bool try_reserve(std::int64_t chars, std::int64_t chunks) const {
    if (chars > room->chars || chunks > room->chunks) {
      ++*refused;
      return false;
    }
    room->chars -= chars;
    room->chunks -= chunks;
    return true;
  }
};

}  // namespace megacpp
