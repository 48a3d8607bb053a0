// Nested byte ranges painted into one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megacpp {

using Offsets = std::span<const std::int64_t>;

// Index of the range that owns each of `size` bytes, or -1: higher `levels` win, on one level the earlier range.
// Ranges may be empty and may cross. std::invalid_argument for one that does not lie in the bytes.
std::vector<std::int32_t> paint(std::size_t size, Offsets starts, Offsets ends, Offsets levels);

// `levels` in which all members of a range that is in `flat` have the least level among them; ranges are keys, equal for
// equal ranges. std::invalid_argument for unequal columns.
std::vector<std::int64_t> flattened(Offsets levels, Offsets ranges, Offsets flat);

}  // namespace megacpp
