#include "graph.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace megacpp {
namespace {

void require_graph(Offsets offsets, Offsets targets) {
  const auto nodes = static_cast<std::int64_t>(offsets.size()) - 1;
  if (nodes < 0 || offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(targets.size()) ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    throw std::invalid_argument("offsets do not ascend from 0 to the number of targets");
  }
  if (std::any_of(targets.begin(), targets.end(), [&](auto target) { return target < 0 || target >= nodes; })) {
    throw std::invalid_argument("a target is no node");
  }
}

// Tarjan's algorithm without recursion. It completes a component after all that the component depends on, so that one
// pass gives the levels. `number_` is the order of discovery (0: not seen), a level of -1 is not known yet.
class Tarjan {
 public:
  Tarjan(Offsets offsets, Offsets targets)
      : offsets_(offsets),
        targets_(targets),
        number_(offsets.size() - 1),
        low_(number_.size()),
        level_(number_.size(), -1) {}

  std::vector<std::int64_t> levels() {
    for (std::size_t node = 0; node < number_.size(); ++node) {
      if (number_[node] == 0) visit(node);
    }
    return std::move(level_);
  }

 private:
  struct Step {
    std::size_t node;
    std::size_t edge;
  };

  void visit(std::size_t root) {
    discover(root);
    while (!path_.empty()) {
      auto& [node, edge] = path_.back();
      if (edge < end_of(node)) {
        follow(node, static_cast<std::size_t>(targets_[edge++]));
        continue;
      }
      const std::size_t done = node;
      path_.pop_back();
      if (low_[done] == number_[done]) close(done);
      if (!path_.empty()) low_[path_.back().node] = std::min(low_[path_.back().node], low_[done]);
    }
  }

  void discover(std::size_t node) {
    number_[node] = low_[node] = ++count_;
    open_.push_back(node);
    path_.push_back({node, static_cast<std::size_t>(offsets_[node])});
  }

  void follow(std::size_t node, std::size_t target) {
    if (number_[target] == 0) {
      discover(target);
    } else if (level_[target] < 0) {
      low_[node] = std::min(low_[node], number_[target]);
    }
  }

  // The component of `root` is complete: all that was opened since. What it depends on has its level already.
  void close(std::size_t root) {
    std::int64_t reached = -1;
    auto first = open_.end();
    do {
      --first;
      for (auto edge = static_cast<std::size_t>(offsets_[*first]); edge < end_of(*first); ++edge) {
        reached = std::max(reached, level_[static_cast<std::size_t>(targets_[edge])]);
      }
    } while (*first != root);
    std::for_each(first, open_.end(), [&](std::size_t member) { level_[member] = reached + 1; });
    open_.erase(first, open_.end());
  }

  std::size_t end_of(std::size_t node) const { return static_cast<std::size_t>(offsets_[node + 1]); }

  Offsets offsets_;
  Offsets targets_;
  std::vector<std::int64_t> number_, low_, level_;
  std::vector<std::size_t> open_;
  std::vector<Step> path_;
  std::int64_t count_ = 0;
};

}  // namespace

std::vector<std::int64_t> dependency_levels(Offsets offsets, Offsets targets) {
  require_graph(offsets, targets);
  return Tarjan(offsets, targets).levels();
}

}  // namespace megacpp
