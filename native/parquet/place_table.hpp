// Of each different value, in order of appearance, its place.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace megacpp {

// Open addressing: at most half of the slots are taken.
template <typename Value>
class PlaceTable {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(values_.size()); }

  // The place of `value`, which is the size before where it is new.
  std::uint32_t place(const Value& value) {
    std::size_t slot = slot_of(value);
    if (slots_[slot]) return slots_[slot] - 1;
    if (2 * (values_.size() + 1) > slots_.size()) {
      grow();
      slot = slot_of(value);
    }
    values_.push_back(value);
    slots_[slot] = size();
    return size() - 1;
  }

 private:
  static std::uint64_t hash(const Value& value) {
    if constexpr (std::integral<Value>) {
      return static_cast<std::uint64_t>(value) * 0x9E3779B97F4A7C15U;
    } else {
      return std::hash<Value>()(value) * 0x9E3779B97F4A7C15U;
    }
  }

  std::size_t slot_of(const Value& value) const {
    std::size_t slot = hash(value) >> shift_;
    while (slots_[slot] && values_[slots_[slot] - 1] != value) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  void grow() {
    --shift_;
    std::fill(slots_.begin(), slots_.end(), 0);
    slots_.resize(2 * slots_.size(), 0);
    for (std::uint32_t place = 0; place < size(); ++place) slots_[slot_of(values_[place])] = place + 1;
  }

  int shift_ = 64 - 9;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(512, 0);
  std::vector<Value> values_;
};

// Of a byte: no search.
template <>
class PlaceTable<std::uint8_t> {
 public:
  std::uint32_t size() const { return size_; }

  std::uint32_t place(std::uint8_t value) {
    if (!slots_[value]) slots_[value] = ++size_;
    return slots_[value] - 1U;
  }

 private:
  std::uint32_t size_ = 0;
  std::uint32_t slots_[256] = {};
};

}  // namespace megacpp
