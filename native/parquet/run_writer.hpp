// Parquet's hybrid of runs and packed bits, written: levels and places in a dictionary.
#pragma once

#include <algorithm>
#include <cstdint>

#include "buffer.hpp"

namespace megacpp {

// Numbers of `width` bits, at most 32; what repeats at least eight times becomes a run, the rest packed bits.
class RunWriter {
 public:
  RunWriter(Buffer& out, int width) : out_(out), width_(width) {}

  void put(std::uint32_t value, std::size_t count) {
    if (value != value_) {
      write();
      value_ = value;
      count_ = 0;
    }
    count_ += count;
  }

  // What is left to write; once, at the end.
  void finish() {
    write();
    while (packed_ % eight) pack(0);
    close();
  }

 private:
  static constexpr std::size_t eight = 8;          // packed numbers come by eights
  static constexpr std::size_t most = 63 * eight;  // so that their head is one byte

  void write() {
    // Eights that have begun are filled first.
    const std::size_t fill = std::min(count_, (eight - packed_ % eight) % eight);
    for (std::size_t place = 0; place < fill; ++place) pack(value_);
    const std::size_t rest = count_ - fill;
    if (rest >= eight) {
      close();
      out_.put_varint(rest << 1);
      out_.put_number(value_, (width_ + 7) / 8);
    } else {
      for (std::size_t place = 0; place < rest; ++place) pack(value_);
    }
  }

  void pack(std::uint32_t value) {
    if (packed_ == most) close();
    if (!packed_) {
      head_ = out_.size();
      out_.put(0);
    }
    word_ |= static_cast<std::uint64_t>(value) << bits_;
    bits_ += width_;
    ++packed_;
    if (bits_ >= 32) {
      out_.put_number(word_, 4);
      word_ >>= 32;
      bits_ -= 32;
    }
  }

  void close() {
    if (!packed_) return;
    out_.put_number(word_, (bits_ + 7) / 8);
    out_.set(head_, static_cast<std::uint8_t>(packed_ / eight << 1 | 1));
    word_ = 0;
    bits_ = 0;
    packed_ = 0;
  }

  Buffer& out_;
  int width_;
  std::uint32_t value_ = 0;
  std::size_t count_ = 0;
  std::uint64_t word_ = 0;
  int bits_ = 0;
  std::size_t packed_ = 0;
  std::size_t head_ = 0;
};

}  // namespace megacpp
