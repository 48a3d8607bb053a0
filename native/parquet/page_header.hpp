// The header in front of each page of a parquet column: Thrift's compact protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace megacpp {

using Bytes = std::span<const std::uint8_t>;

enum class PageKind { data = 0, index = 1, dictionary = 2, data_v2 = 3 };

enum class Encoding { plain = 0, old_dictionary = 2, differences = 5, dictionary = 8, split = 9 };

struct PageHeader {
  std::int64_t kind = -1;
  std::int64_t whole_size = -1;   // of its body, unpacked
  std::int64_t packed_size = -1;  // of its body as it lies behind the header
  std::optional<std::int64_t> checksum;
  std::int64_t values = -1;
  std::int64_t encoding = -1;
  std::size_t size = 0;  // of the header itself
};

// The header at the start of `bytes`. `std::invalid_argument` where none is, or one without what every page has.
PageHeader read_page_header(Bytes bytes);

}  // namespace megacpp
