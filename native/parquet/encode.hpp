// One leaf of a record batch as pages of parquet: a dictionary where it has one, and one data page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout.hpp"
#include "page_header.hpp"

namespace megacpp {

struct Page {
  PageKind kind = PageKind::data;
  Encoding encoding = Encoding::plain;
  std::size_t values = 0;  // and empty lists, and what is absent
  Buffer body;
};

// The least and the largest value, in parquet's plain encoding.
struct Bounds {
  std::string least, largest;
};

struct Encoded {
  Page dictionary, data;
  bool has_dictionary = false;
  std::size_t entries = 0;
  std::size_t absent = 0;  // entries without a value
  std::optional<Bounds> bounds;
};

// Encodes all rows of `batch` into `encoded`, whose memory is used again. A dictionary that would not make the column
// smaller is left out. `std::invalid_argument` for an encoding that values of this type cannot have.
void encode_leaf(Encoded& encoded, const Leaf& leaf, const ArrowArray& batch, Encoding encoding);

}  // namespace megacpp
