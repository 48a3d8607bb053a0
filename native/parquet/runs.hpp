// Parquet's hybrid of runs and packed bits, which holds levels and places in a dictionary.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "page_header.hpp"

namespace megacpp {

// Bits [at, at + width) of `bytes`, lowest first; width at most 32, and the bits are inside.
inline std::uint32_t bits_at(Bytes bytes, std::uint64_t at, int width) {
  const std::size_t first = at >> 3;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + first, std::min<std::size_t>(8, bytes.size() - first));
  return static_cast<std::uint32_t>((word >> (at & 7)) & ((std::uint64_t{1} << width) - 1));
}

// Calls put(value) for `count` numbers of `width` bits at the start of `bytes`, which has them all.
template <typename Put>
void each_packed(Bytes bytes, int width, std::size_t count, Put put) {
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  // Whole words can be loaded as long as eight bytes are left; the last few numbers are read with care.
  const std::size_t room = bytes.size() < 8 || !width ? 0 : (bytes.size() - 8) * 8 / width + 1;
  const std::size_t fast = std::min(count, room);
  std::uint64_t at = 0;
  for (std::size_t done = 0; done < fast; ++done, at += width) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + (at >> 3), 8);
    put(static_cast<std::uint32_t>((word >> (at & 7)) & mask));
  }
  for (std::size_t done = fast; done < count; ++done, at += width) put(width ? bits_at(bytes, at, width) : 0);
}

inline std::uint64_t read_varint(Bytes bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at == bytes.size()) break;
    const std::uint8_t next = bytes[at++];
    value |= static_cast<std::uint64_t>(next & 0x7F) << shift;
    if (next < 0x80) return value;
  }
  throw std::invalid_argument("a number in a page that is cut off");
}

// Reads `count` numbers of `width` bits: run(value, how often) for repeated ones, packed(bytes, how many) for others.
template <typename Run, typename Packed>
void each_run(Bytes bytes, int width, std::size_t count, Run run, Packed packed) {
  if (width > 32) throw std::invalid_argument("numbers of more than 32 bits in a page");
  std::size_t at = 0;
  while (count) {
    const std::uint64_t head = read_varint(bytes, at);
    const std::uint64_t stated = head & 1 ? (head >> 1) * 8 : head >> 1;
    const std::size_t taken = std::min<std::uint64_t>(count, stated);
    const std::uint64_t size = head & 1 ? (static_cast<std::uint64_t>(taken) * width + 7) / 8 : (width + 7) / 8;
    if (!taken || size > bytes.size() - at) throw std::invalid_argument("runs in a page that are cut off");
    if (head & 1) {
      packed(bytes.subspan(at), taken);
    } else {
      run(bits_at(bytes.subspan(at), 0, width), taken);
    }
    at += size;
    count -= taken;
  }
}

}  // namespace megacpp
