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

// Runs against which texts are held, token by token, without a list of their own runs.
class RunSet {
 public:
  explicit RunSet(std::span<const std::uint64_t> runs);

  // How many of the runs of `width` tokens are in the set, repeated ones each time.
  std::size_t count(std::span<const std::uint64_t> tokens, std::size_t width);

  // Marks the runs of `width` tokens that are in the set.
  void see(std::span<const std::uint64_t> tokens, std::size_t width);

  // Of each run that was given, in order, whether it has been marked.
  std::vector<std::uint8_t> seen();

 private:
  struct Slot {
    enum State : std::uint8_t { free, held, seen };
    std::uint64_t run = 0;
    State state = free;
  };

  Slot* find(std::uint64_t run);

  std::vector<std::uint64_t> runs_;
  std::vector<Slot> slots_;
};

}  // namespace megacpp
