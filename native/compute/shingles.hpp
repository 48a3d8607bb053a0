// Runs of tokens of a text as hashes: what megacpp_assets/compute/shingles.py calls the shingles of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megacpp {

// The hash of every token of a text of code points, in order; comments are none, white space and comments decide nothing.
// With `alike`, every name that is no keyword is the same token.
template <typename Unit>
std::vector<std::uint64_t> token_hashes(std::span<const Unit> text, bool alike);

// Start and end of every token, one after the other, in code points.
template <typename Unit>
std::vector<std::int64_t> token_places(std::span<const Unit> text);

// The hashes of all runs of `count` tokens, ascending, each once; none where there are fewer tokens.
std::vector<std::uint64_t> runs_of(std::span<const std::uint64_t> tokens, std::size_t count);

// The hash of every run of `count` tokens, in the order of the text.
std::vector<std::uint64_t> runs_in_order(std::span<const std::uint64_t> tokens, std::size_t count);

// Runs with a number each, in the order in which they are given.
class RunNumbers {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  explicit RunNumbers(std::span<const std::uint64_t> runs);

  // How many different runs there are.
  std::size_t size() const { return size_; }

  // The number of `run`; `none` for one that was not given.
  std::uint32_t of(std::uint64_t run) const { return slots_[find(run)].number; }

 private:
  struct Slot {
    std::uint64_t run = 0;
    std::uint32_t number = none;
  };

  std::size_t find(std::uint64_t run) const;

  std::size_t size_ = 0;
  std::vector<Slot> slots_;
};

// Runs that are looked for in one text after the other.
class SeenRuns {
 public:
  explicit SeenRuns(std::span<const std::uint64_t> runs);

  // Marks those that are runs of `width` tokens.
  void see(std::span<const std::uint64_t> tokens, std::size_t width);

  // Of each run that was given, in order, whether it has been marked.
  std::vector<std::uint8_t> seen() const;

 private:
  std::vector<std::uint64_t> runs_;
  RunNumbers numbers_;
  std::vector<std::uint8_t> seen_;
};

// Which of many texts share runs with another one.
class SharedRuns {
 public:
  // Texts by number, how many different runs each shares, and how many are shared with any.
  struct Found {
    std::vector<std::int64_t> texts;
    std::vector<std::int64_t> counts;
    std::size_t runs = 0;
  };

  // `runs` ascend; `owners` has the number of the text that each is of.
  SharedRuns(std::span<const std::uint64_t> runs, std::span<const std::int64_t> owners);

  // What shares the runs of `width` tokens.
  Found with(std::span<const std::uint64_t> tokens, std::size_t width);

 private:
  RunNumbers numbers_;
  std::vector<std::int64_t> owners_;
  std::vector<std::size_t> first_;    // by number of a run, its first owner; one entry more than runs
  std::vector<std::uint32_t> asked_;  // by number of a run, the last question that it answered
  std::vector<std::int64_t> shared_;  // by text, 0 between questions
  std::uint32_t question_ = 0;
};

}  // namespace megacpp
