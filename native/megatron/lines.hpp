// Rows of a batch out of mapped channels: runs or values in, padded lines of 32 bits out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace megacpp {

// The 32 bits of a value; -1 has all of them, of whatever width it was.
template <typename Value>
std::uint32_t bits_of(Value value) {
  return static_cast<std::uint32_t>(value);  // NOLINT(bugprone-signed-char-misuse): a number, no character
}

// Writes `values` and then `fill` into `line`; whether they are `tokens`, and the line has room for them.
template <typename Value>
bool write_values(std::span<const Value> values, std::size_t tokens, std::uint32_t fill,
                  std::span<std::uint32_t> line) {
  if (values.size() != tokens || tokens > line.size()) return false;
  const auto end = std::transform(values.begin(), values.end(), line.begin(), bits_of<Value>);
  std::fill(end, line.end(), fill);
  return true;
}

// The same of runs, each of `lengths` + 1 tokens.
template <typename Value, typename Length>
bool write_runs(std::span<const Value> values, std::span<const Length> lengths, std::size_t tokens, std::uint32_t fill,
                std::span<std::uint32_t> line) {
  // Most runs are shorter than `wide`: so many are always written, and the next run covers what was too much. A loop of
  // as many steps as the run has tokens would be foreseen wrongly by the processor at the end of nearly every run.
  constexpr std::size_t wide = 8;
  if (tokens > line.size()) return false;
  std::uint32_t* const data = line.data();
  std::size_t place = 0;
  for (std::size_t run = 0; run < values.size(); ++run) {
    const std::size_t length = lengths[run] + std::size_t{1};
    if (length > tokens - place) return false;
    const auto value = bits_of(values[run]);
    std::size_t written = 0;
    if (line.size() - place >= wide) {
      std::fill_n(data + place, wide, value);
      written = wide;
    }
    if (length > written) std::fill_n(data + place + written, length - written, value);
    place += length;
  }
  std::fill(line.begin() + static_cast<std::ptrdiff_t>(place), line.end(), fill);
  return place == tokens;
}

}  // namespace megacpp
