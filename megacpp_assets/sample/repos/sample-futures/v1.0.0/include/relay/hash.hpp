// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace relay {

/// Scrambles a word so that every input bit can reach every output bit.
std::uint64_t mix64(std::uint64_t v);

/// Hashes bytes, eight at a time.
std::uint64_t hashBytes(const void* data, std::size_t size,
                        std::uint64_t seed = 0);

/// Depends on the order of its arguments, unlike an exclusive or.
std::uint64_t hashCombine(std::uint64_t a, std::uint64_t b);

template <typename T>
std::uint64_t hashOf(const T& value) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return mix64(static_cast<std::uint64_t>(value));
  } else {
    const std::string_view text(value);
    return hashBytes(text.data(), text.size());
  }
}

template <typename First, typename... Rest>
std::uint64_t hashAll(const First& first, const Rest&... rest) {
  std::uint64_t hash = hashOf(first);
  ((hash = hashCombine(hash, hashOf(rest))), ...);
  return hash;
}

}  // namespace relay
