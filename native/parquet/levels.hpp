// Which values of a leaf are there, and the levels that say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout.hpp"

namespace megacpp {

// The values of a leaf that are there: `count` from `first` on where none is absent, or else those at `places`.
struct Present {
  const ArrowArray* values = nullptr;
  bool whole = true;
  std::int64_t first = 0;
  std::size_t count = 0;
  std::vector<std::int64_t> places;

  // Calls put(place) for each, in order.
  template <typename Put>
  void each(Put put) const {
    if (whole) {
      for (std::int64_t place = first; place < first + static_cast<std::int64_t>(count); ++place) put(place);
    } else {
      for (const std::int64_t place : places) put(place);
    }
  }
};

struct Levels {
  std::size_t entries = 0;  // values, empty lists and what is absent
  Present present;
};

// Appends the levels of `leaf` for all rows of `batch`, as a data page begins with them. `std::length_error` for more
// than a page can have.
Levels write_levels(Buffer& out, const Leaf& leaf, const ArrowArray& batch);

}  // namespace megacpp
