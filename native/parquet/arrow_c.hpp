// The structs of Arrow's C data interface, as its specification has them.
#pragma once

#include <cstdint>

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
}

namespace megacpp {

constexpr std::int64_t arrow_nullable = 2;  // flag of a field

// Whether the value at `place` of `array` is there.
inline bool is_present(const ArrowArray& array, std::int64_t place) {
  const auto* bits = static_cast<const std::uint8_t*>(array.buffers[0]);
  const std::int64_t bit = place + array.offset;
  return !bits || (bits[bit >> 3] >> (bit & 7) & 1);
}

inline bool may_lack(const ArrowArray& array) { return array.null_count && array.buffers[0]; }

// Values of a fixed width, the first of `array` first.
template <typename Value>
const Value* values_of(const ArrowArray& array) {
  return static_cast<const Value*>(array.buffers[1]) + array.offset;
}

}  // namespace megacpp
