#include "copies.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace megacpp {

NearCopies::NearCopies(std::span<const std::uint64_t> runs, std::span<const std::int64_t> lengths, double share)
    : share_(share), numbers_(runs), asked_(numbers_.size()), proposed_(lengths.size()) {
  if (!(share > 0 && share <= 1)) throw std::invalid_argument("a share above 0, at most 1");
  starts_.reserve(lengths.size() + 1);
  starts_.push_back(0);
  for (const std::int64_t length : lengths) {
    const std::size_t left = runs.size() - starts_.back();
    if (length < 0 || static_cast<std::size_t>(length) > left) throw std::invalid_argument("runs for each length");
    starts_.push_back(starts_.back() + static_cast<std::size_t>(length));
  }
  if (starts_.back() != runs.size()) throw std::invalid_argument("a text for each run");
  runs_.reserve(runs.size());
  for (const std::uint64_t run : runs) runs_.push_back(numbers_.of(run));
  index();
}

std::span<const std::uint32_t> NearCopies::runs_of_text(std::size_t text) const {
  return std::span(runs_).subspan(starts_[text], starts_[text + 1] - starts_[text]);
}

std::size_t NearCopies::least_shared(std::size_t length) const {
  const double wanted = share_ * static_cast<double>(length);
  const auto below = static_cast<std::size_t>(wanted);
  return std::max<std::size_t>(static_cast<double>(below) >= wanted ? below : below + 1, 1);
}

std::span<std::uint32_t> NearCopies::rarest(std::span<std::uint32_t> runs, std::size_t length) const {
  // Runs that no text has are the rarest of all. They are not in `runs` and propose nothing.
  const std::size_t unknown = length - runs.size();
  const std::size_t needed = length - least_shared(length) + 1;
  const std::size_t count = needed > unknown ? std::min(needed - unknown, runs.size()) : 0;
  const auto is_rarer = [this](std::uint32_t one, std::uint32_t other) {
    return std::pair(owners_of(one), one) < std::pair(owners_of(other), other);
  };
  if (count < runs.size()) {
    std::nth_element(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(count), runs.end(), is_rarer);
  }
  return runs.first(count);
}

// The texts of each run, in the order of `order`, where text t has the runs runs_of(t).
template <typename RunsOf>
NearCopies::Owners NearCopies::by_run(std::span<const std::uint32_t> order, RunsOf runs_of) const {
  Owners owners;
  owners.first.resize(numbers_.size() + 1);
  for (const std::uint32_t text : order) {
    for (const std::uint32_t run : runs_of(text)) ++owners.first[run + 1];
  }
  std::partial_sum(owners.first.begin(), owners.first.end(), owners.first.begin());
  owners.texts.resize(owners.first.back());
  std::vector<std::size_t> next(owners.first.begin(), owners.first.end() - 1);
  for (const std::uint32_t text : order) {
    for (const std::uint32_t run : runs_of(text)) owners.texts[next[run]++] = text;
  }
  return owners;
}

void NearCopies::index() {
  std::vector<std::uint32_t> order(starts_.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [this](std::uint32_t one, std::uint32_t other) {
    return runs_of_text(one).size() > runs_of_text(other).size();
  });
  every_ = by_run(order, [this](std::uint32_t text) { return runs_of_text(text); });
  // The runs of a text have no order that matters, so its rarest ones move to their front.
  std::vector<std::size_t> counts(order.size());
  for (std::size_t text = 0; text < order.size(); ++text) {
    const std::size_t length = starts_[text + 1] - starts_[text];
    counts[text] = length ? rarest(std::span(runs_).subspan(starts_[text], length), length).size() : 0;
  }
  std::reverse(order.begin(), order.end());
  rare_ = by_run(order, [&](std::uint32_t text) { return runs_of_text(text).first(counts[text]); });
}

std::vector<std::uint32_t> NearCopies::candidates(std::span<std::uint32_t> known, std::size_t length) {
  std::vector<std::uint32_t> found;
  const auto propose = [&](std::uint32_t text) {
    if (std::exchange(proposed_[text], question_) != question_) found.push_back(text);
  };
  for (const std::uint32_t run : known) {
    for (std::size_t place = rare_.first[run]; place < rare_.first[run + 1]; ++place) {
      if (runs_of_text(rare_.texts[place]).size() > length) break;
      propose(rare_.texts[place]);
    }
  }
  for (const std::uint32_t run : rarest(known, length)) {
    for (std::size_t place = every_.first[run]; place < every_.first[run + 1]; ++place) {
      if (runs_of_text(every_.texts[place]).size() <= length) break;
      propose(every_.texts[place]);
    }
  }
  return found;
}

std::size_t NearCopies::shared_with(std::size_t text) const {
  const std::span<const std::uint32_t> runs = runs_of_text(text);
  return static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [this](std::uint32_t run) { return asked_[run] == question_; }));
}

std::vector<std::int64_t> NearCopies::of(std::span<const std::uint64_t> runs) {
  if (++question_ == 0) {  // numbers of questions begin anew
    std::fill(asked_.begin(), asked_.end(), 0);
    std::fill(proposed_.begin(), proposed_.end(), 0);
    question_ = 1;
  }
  std::vector<std::uint32_t> known;
  for (const std::uint64_t run : runs) {
    const std::uint32_t number = numbers_.of(run);
    if (number == RunNumbers::none) continue;
    asked_[number] = question_;
    known.push_back(number);
  }
  std::vector<std::int64_t> found;
  for (const std::uint32_t text : candidates(known, runs.size())) {
    const std::size_t shorter = std::min(runs_of_text(text).size(), runs.size());
    if (shared_with(text) >= least_shared(shorter)) found.push_back(text);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace megacpp
