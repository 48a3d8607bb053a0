// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "relay/hash.hpp"

#include <cstring>

#include "relay/bits.hpp"

namespace relay {
namespace {

constexpr std::uint64_t kOdd1 = 0xd6e8feb86659fd93u;
constexpr std::uint64_t kOdd2 = 0xa0761d6478bd642fu;

std::uint64_t absorb(std::uint64_t state, std::uint64_t word) {
  return rotateLeft(state ^ (word * kOdd2), 29) * kOdd1;
}

}  // namespace

std::uint64_t mix64(std::uint64_t v) {
  v ^= v >> 32;
  v *= kOdd1;
  v ^= v >> 32;
  v *= kOdd1;
  return v ^ (v >> 32);
}

std::uint64_t hashBytes(const void* data, std::size_t size,
                        std::uint64_t seed) {
  auto* bytes = static_cast<const unsigned char*>(data);
  std::uint64_t state = seed ^ (size * kOdd1);
  std::uint64_t word = 0;
  for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
    std::memcpy(&word, bytes, sizeof(word));
    state = absorb(state, word);
  }
  word = 0;
  if (size > 0) std::memcpy(&word, bytes, size);
  return mix64(absorb(state, word));
}

std::uint64_t hashCombine(std::uint64_t a, std::uint64_t b) {
  return mix64(absorb(absorb(kOdd2, a), b));
}

}  // namespace relay
