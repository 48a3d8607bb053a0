// A number of 64 bits for each document, of its values in several columns: what
// megacpp_assets/quality/reading/fingerprints.py says of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace megacpp {

// One column: `add` adds so many of its values, from a place on, each times a factor, to what is given.
struct PrintColumn {
  using Add = void (*)(const void* values, std::size_t from, std::uint64_t factor, std::span<std::uint64_t> sums);

  const void* values;
  std::size_t count;
  Add add;
};

template <typename Value>
void add_scaled(const void* values, std::size_t from, std::uint64_t factor, std::span<std::uint64_t> sums) {
  const Value* column = static_cast<const Value*>(values) + from;
  for (std::size_t place = 0; place < sums.size(); ++place)
    sums[place] += static_cast<std::uint64_t>(column[place]) * factor;
}

// Of the document that has the values [start, end) of each column.
inline std::uint64_t fingerprint(std::span<const PrintColumn> columns, std::size_t start, std::size_t end) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15, base = 0xD1342543DE82EF95;
  constexpr std::size_t block = 512;  // all sums of a block stay in the first cache
  std::array<std::uint64_t, block> room;
  std::uint64_t print = 0, power = 1;
  for (std::size_t from = start; from < end; from += block) {
    const std::span<std::uint64_t> sums(room.data(), std::min(block, end - from));
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t column = 0; column < columns.size(); ++column)
      columns[column].add(columns[column].values, from, odd * (2 * column + 1), sums);
    for (const std::uint64_t sum : sums) {
      print += ((sum ^ (sum >> 29)) + 1) * power;  // 1 more: a document of zeros is told from a longer one
      power *= base;
    }
  }
  return print;
}

}  // namespace megacpp
