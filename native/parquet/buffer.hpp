// Bytes that are written one after the other, in memory that is used again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "page_header.hpp"

namespace megacpp {

class Buffer {
 public:
  Bytes bytes() const { return {data_.get(), size_}; }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }

  // Room for `count` bytes behind the others, which the caller fills.
  std::uint8_t* extend(std::size_t count) {
    if (count > room_ - size_) grow(count);
    std::uint8_t* added = data_.get() + size_;
    size_ += count;
    return added;
  }

  void put(std::uint8_t byte) { *extend(1) = byte; }

  void put(const void* source, std::size_t count) {
    if (count) std::memcpy(extend(count), source, count);
  }

  // The lowest `size` bytes of `number`, lowest first.
  void put_number(std::uint64_t number, std::size_t size) { put(&number, size); }

  void put_varint(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) put(static_cast<std::uint8_t>(number | 0x80));
    put(static_cast<std::uint8_t>(number));
  }

  // Puts `number` where `extend` gave room.
  void set(std::size_t at, std::uint8_t number) { data_[at] = number; }
  void set_number(std::size_t at, std::uint32_t number) { std::memcpy(data_.get() + at, &number, sizeof number); }

 private:
  void grow(std::size_t count) {
    const std::size_t room = std::max({2 * room_, size_ + count, std::size_t{4096}});
    auto larger = std::make_unique_for_overwrite<std::uint8_t[]>(room);
    if (size_) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    room_ = room;
  }

  std::unique_ptr<std::uint8_t[]> data_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

}  // namespace megacpp
