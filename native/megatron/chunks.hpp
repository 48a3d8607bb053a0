// Chunks of a row at a fixed number of slots, and edges between them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megacpp {

// The chunks of one row.
struct Chunks {
  std::span<const std::uint32_t> starts;
  std::span<const std::uint32_t> ends;
  std::span<const std::uint8_t> kinds;
  std::span<const std::uint16_t> levels;
};

// Slots of one row: starts, ends, kinds, levels, documents.
using Slots = std::array<std::span<std::int32_t>, 5>;

// Writes the chunks of a row whose tokens are of `documents`; slots without a chunk have 0, and -1 as document. Whether
// there are slots for all, and they lie in the row one behind the other, but for one token that two may share.
inline bool write_slots(const Chunks& chunks, std::span<const std::int32_t> documents, const Slots& out) {
  const std::size_t count = chunks.starts.size();
  if (count > out.front().size()) return false;
  for (std::size_t chunk = 0; chunk < count; ++chunk) {
    const std::uint32_t start = chunks.starts[chunk];
    const std::uint32_t end = chunks.ends[chunk];
    if (start >= end || end > documents.size()) return false;
    if (chunk > 0 && (start <= chunks.starts[chunk - 1] || start + std::uint64_t{1} < chunks.ends[chunk - 1]))
      return false;
    out[0][chunk] = static_cast<std::int32_t>(start);
    out[1][chunk] = static_cast<std::int32_t>(end);
    out[4][chunk] = documents[start];
  }
  std::ranges::copy(chunks.kinds, out[2].begin());
  std::ranges::copy(chunks.levels, out[3].begin());
  for (std::size_t part = 0; part < out.size(); ++part) std::ranges::fill(out[part].subspan(count), part == 4 ? -1 : 0);
  return true;
}

// Adds `pairs` of chunks of line `line`, which has `chunks`, as (line, from, to); whether all are its chunks.
inline bool add_edges(std::span<const std::uint16_t> pairs, std::size_t line, std::int64_t chunks,
                      std::vector<std::int64_t>& out) {
  for (std::size_t place = 0; place + 1 < pairs.size(); place += 2) {
    out.insert(out.end(), {static_cast<std::int64_t>(line), pairs[place], pairs[place + 1]});
    if (pairs[place] >= chunks || pairs[place + 1] >= chunks) return false;
  }
  return true;
}

}  // namespace megacpp
