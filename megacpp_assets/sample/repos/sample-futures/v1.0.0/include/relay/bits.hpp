// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace relay {

/// Size to keep between data that different threads write to.
inline constexpr std::size_t kCacheLine = 64;

/// Index of the highest set bit, counted from one; zero for zero.
constexpr unsigned findLastSet(std::uint64_t v) {
#if defined(__GNUC__) || defined(__clang__)
  return v == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(v));
#else
  unsigned n = 0;
  for (; v != 0; v >>= 1) ++n;
  return n;
#endif
}

/// Counts set bits by adding ever wider fields side by side.
constexpr unsigned popcount(std::uint64_t v) {
  v -= (v >> 1) & 0x5555555555555555u;
  v = (v & 0x3333333333333333u) + ((v >> 2) & 0x3333333333333333u);
  v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return static_cast<unsigned>((v * 0x0101010101010101u) >> 56);
}

constexpr bool isPowerOfTwo(std::uint64_t v) {
  return v != 0 && (v & (v - 1)) == 0;
}

constexpr std::uint64_t nextPowerOfTwo(std::uint64_t v) {
  return v <= 1 ? 1 : std::uint64_t{1} << findLastSet(v - 1);
}

/// Rounds up to a multiple of `alignment`, which is a power of two.
constexpr std::uintptr_t alignUp(std::uintptr_t v, std::size_t alignment) {
  return (v + alignment - 1) & ~(static_cast<std::uintptr_t>(alignment) - 1);
}

constexpr std::uint64_t rotateLeft(std::uint64_t v, unsigned by) {
  by &= 63;
  return by == 0 ? v : (v << by) | (v >> (64 - by));
}

}  // namespace relay
