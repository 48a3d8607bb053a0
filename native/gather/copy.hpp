// Documents out of columns that lie end to end in files, copied into rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace megacpp {

// One column, the second part of which lies elsewhere; a document is of either.
template <typename Value>
struct Halves {
  std::span<const Value> first;
  std::span<const Value> second;

  // The values from `start` to `end`; none where they are not there, or of both parts.
  std::span<const Value> part(std::int64_t start, std::int64_t end) const {
    const auto border = static_cast<std::int64_t>(first.size());
    const auto& half = start < border || end == border ? first : second;
    const std::int64_t base = start < border || end == border ? 0 : border;
    if (start < 0 || start > end || end - base > static_cast<std::int64_t>(half.size())) return {};
    return half.subspan(static_cast<std::size_t>(start - base), static_cast<std::size_t>(end - start));
  }
};

// Writes the documents from starts[i] to ends[i] one after the other into `row`, and `fill` behind them; whether all are
// there and find room.
template <typename Source, typename Value>
bool write_row(const Halves<Source>& column, std::span<const std::int64_t> starts, std::span<const std::int64_t> ends,
               Value fill, std::span<Value> row) {
  auto place = row.begin();
  for (std::size_t document = 0; document < starts.size(); ++document) {
    const auto values = column.part(starts[document], ends[document]);
    const bool whole = static_cast<std::int64_t>(values.size()) == ends[document] - starts[document];
    if (!whole || static_cast<std::ptrdiff_t>(values.size()) > row.end() - place) return false;
    place = std::transform(values.begin(), values.end(), place, [](Source value) { return static_cast<Value>(value); });
  }
  std::fill(place, row.end(), fill);
  return true;
}

}  // namespace megacpp
