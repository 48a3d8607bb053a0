#include "ranges.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

namespace megacpp {
namespace {

constexpr std::int64_t kCountedLevels = 1 << 16;

// Indices of the ranges, the winners first; in linear time where levels are few.
std::vector<std::uint32_t> by_rank(Offsets levels) {
  std::vector<std::uint32_t> order(levels.size());
  if (levels.empty()) return order;
  const auto [least, most] = std::minmax_element(levels.begin(), levels.end());
  const std::int64_t top = *most;
  if (static_cast<std::uint64_t>(top) - static_cast<std::uint64_t>(*least) >= kCountedLevels) {
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return levels[a] > levels[b]; });
    return order;
  }
  std::vector<std::uint32_t> place(static_cast<std::size_t>(top - *least) + 2);
  for (const std::int64_t level : levels) ++place[static_cast<std::size_t>(top - level) + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  for (std::size_t index = 0; index < levels.size(); ++index) {
    order[place[static_cast<std::size_t>(top - levels[index])]++] = static_cast<std::uint32_t>(index);
  }
  return order;
}

// The first byte at or behind one that has no owner; every path to it is shortened on the way.
class Free {
 public:
  explicit Free(std::size_t size) : next_(size + 1) { std::iota(next_.begin(), next_.end(), 0U); }

  std::size_t from(std::size_t at) {
    while (next_[at] != at) {
      next_[at] = next_[next_[at]];
      at = next_[at];
    }
    return at;
  }
  void take(std::size_t at, std::size_t end) { next_[at] = static_cast<std::uint32_t>(end); }

 private:
  std::vector<std::uint32_t> next_;
};

void require_inside(std::size_t size, Offsets starts, Offsets ends, Offsets levels) {
  if (size >= UINT32_MAX || starts.size() >= INT32_MAX) throw std::invalid_argument("too large to be painted");
  if (starts.size() != ends.size() || starts.size() != levels.size()) throw std::invalid_argument("unequal columns");
  for (std::size_t index = 0; index < starts.size(); ++index) {
    if (starts[index] < 0 || ends[index] < starts[index] || static_cast<std::size_t>(ends[index]) > size) {
      throw std::invalid_argument("a range lies outside the bytes");
    }
  }
}

}  // namespace

std::vector<std::int32_t> paint(std::size_t size, Offsets starts, Offsets ends, Offsets levels) {
  require_inside(size, starts, ends, levels);
  std::vector<std::int32_t> owner(size, -1);
  Free free(size);
  for (const std::uint32_t range : by_rank(levels)) {
    const auto end = static_cast<std::size_t>(ends[range]);
    for (std::size_t at = free.from(static_cast<std::size_t>(starts[range])); at < end; at = free.from(at + 1)) {
      owner[at] = static_cast<std::int32_t>(range);
      free.take(at, end);
    }
  }
  return owner;
}

std::vector<std::int64_t> flattened(Offsets levels, Offsets ranges, Offsets flat) {
  if (levels.size() != ranges.size()) throw std::invalid_argument("unequal columns");
  std::unordered_map<std::int64_t, std::int64_t> least(2 * flat.size());
  for (const std::int64_t range : flat) least.emplace(range, INT64_MAX);
  std::vector<std::int64_t*> known(ranges.size());
  for (std::size_t index = 0; index < ranges.size(); ++index) {
    // Neighbours mostly have one range.
    if (index > 0 && ranges[index] == ranges[index - 1]) {
      known[index] = known[index - 1];
    } else if (const auto found = least.find(ranges[index]); found != least.end()) {
      known[index] = &found->second;
    }
    if (known[index]) *known[index] = std::min(*known[index], levels[index]);
  }
  std::vector<std::int64_t> result(levels.begin(), levels.end());
  for (std::size_t index = 0; index < ranges.size(); ++index) {
    if (known[index]) result[index] = *known[index];
  }
  return result;
}

}  // namespace megacpp
