// Which of many texts another text copies for the larger part, by the runs of tokens that both have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shingles.hpp"

namespace megacpp {

// Finds the texts that share at least `share` of the runs of the shorter of two texts.
//
// Runs that stand in most texts do not make it quadratic. Of two texts that share enough, one of the rarest runs of the
// shorter one is in the other: there are more of these than the shorter one may miss. Only texts with such a run are
// compared. This is the prefix filter of Chaudhuri, Ganti and Kaushik (A Primitive Operator for Similarity Joins, 2006).
class NearCopies {
 public:
  // `runs` has the different runs of each text, one text after the other; `lengths` has their numbers.
  NearCopies(std::span<const std::uint64_t> runs, std::span<const std::int64_t> lengths, double share);

  // The numbers of the texts that share enough with a text of the different runs `runs`, ascending.
  std::vector<std::int64_t> of(std::span<const std::uint64_t> runs);

 private:
  // Texts by the number of a run: those of run r are texts[first[r]] to texts[first[r + 1] - 1].
  struct Owners {
    std::vector<std::size_t> first;
    std::vector<std::uint32_t> texts;
  };

  std::span<const std::uint32_t> runs_of_text(std::size_t text) const;
  std::size_t owners_of(std::uint32_t run) const { return every_.first[run + 1] - every_.first[run]; }

  // How many runs a text of `length` runs and a longer one must share.
  std::size_t least_shared(std::size_t length) const;

  // Moves as many of the rarest of `runs` to its front as a copy cannot miss, of a text that has `length` runs in all.
  std::span<std::uint32_t> rarest(std::span<std::uint32_t> runs, std::size_t length) const;

  template <typename RunsOf>
  Owners by_run(std::span<const std::uint32_t> order, RunsOf runs_of) const;

  void index();
  std::vector<std::uint32_t> candidates(std::span<std::uint32_t> known, std::size_t length);
  std::size_t shared_with(std::size_t text) const;

  double share_;
  RunNumbers numbers_;
  std::vector<std::size_t> starts_;      // by text, its first place in `runs_`; one entry more than texts
  std::vector<std::uint32_t> runs_;      // numbers of the runs of all texts
  Owners every_;                         // of each run all texts, long ones first
  Owners rare_;                          // of each run the texts of which it is one of the rarest, short ones first
  std::vector<std::uint32_t> asked_;     // by number of a run, the last question that has it
  std::vector<std::uint32_t> proposed_;  // by text, the last question that proposed it
  std::uint32_t question_ = 0;
};

}  // namespace megacpp
