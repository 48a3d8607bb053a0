// One parquet column of lists of integers of a row group, decoded page by page into memory that the caller gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "page_header.hpp"

namespace megacpp {

// Lists and values may be absent in the schema, so a value has definition level 3, an empty list 1, and what is absent
// 2 or 0. Physical values are of 32 bits; `Value` keeps their low bits, as every reader does.
template <typename Value>
class ListColumn {
 public:
  // `offsets` has one entry more than the row group has rows, `values` room for the values of all pages.
  ListColumn(std::span<std::int32_t> offsets, std::span<Value> values) : offsets_(offsets), values_(values) {}

  // The values that pages refer to; `page` is the body of a dictionary page, unpacked.
  void dictionary(Bytes page, std::size_t count);

  // The next data page: body, unpacked, of `count` values or empty lists. `std::invalid_argument` for a body that does
  // not hold them, `Absent` where a list or a value is absent.
  void data(Bytes page, std::size_t count, Encoding encoding);

  // Ends the last row; how many values there are. `std::invalid_argument` unless all rows have begun.
  std::size_t finish();

 private:
  std::size_t levels(Bytes& page, std::size_t count);
  void begin_row(std::size_t place);
  void places(Bytes page, std::size_t count);
  void differences(Bytes page, std::size_t count);
  void plain(Bytes page, std::size_t count);
  void split(Bytes page, std::size_t count);

  std::span<std::int32_t> offsets_;
  std::span<Value> values_;
  std::size_t rows_ = 0;
  std::size_t filled_ = 0;
  std::vector<Value> dictionary_;
  std::vector<std::size_t> empty_;  // entries of the page at work that are empty lists
};

// A list or a value is absent: somebody else has to read this column.
struct Absent {};

}  // namespace megacpp
