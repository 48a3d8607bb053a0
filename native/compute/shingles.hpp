// Runs of tokens of a text as hashes: what megacpp_assets/compute/shingles.py calls the shingles of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megacpp {

// The hash of every token of a text of code points, in order; comments are none, white space and comments decide nothing.
template <typename Unit>
std::vector<std::uint64_t> token_hashes(std::span<const Unit> text);

// The hashes of all runs of `count` tokens, ascending, each once; none where there are fewer tokens.
std::vector<std::uint64_t> runs_of(std::span<const std::uint64_t> tokens, std::size_t count);

}  // namespace megacpp
