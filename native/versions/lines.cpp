#include "lines.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

namespace megacpp {

namespace {

using Ids = std::vector<std::int32_t>;
using Flags = std::vector<char>;

// Marks what a shortest edit script removes from `pre` and adds from `post`: Myers, "An O(ND) Difference Algorithm and
// Its Variations", with the linear space refinement. Texts that differ in more than `most` lines of one stretch are
// split where the search has come farthest, so that the time stays near linear.
class Script {
 public:
  Script(const Ids& pre, const Ids& post, Flags& removed, Flags& added)
      : pre_(pre), post_(post), removed_(removed), added_(added) {}

  void compare(int pre_first, int pre_end, int post_first, int post_end) {
    for (;;) {
      while (pre_first < pre_end && post_first < post_end && same(pre_first, post_first)) ++pre_first, ++post_first;
      while (pre_first < pre_end && post_first < post_end && same(pre_end - 1, post_end - 1)) --pre_end, --post_end;
      if (pre_first == pre_end || post_first == post_end) break;
      const auto [pre_split, post_split] = split(pre_first, pre_end, post_first, post_end);
      compare(pre_first, pre_split, post_first, post_split);
      pre_first = pre_split, post_first = post_split;
    }
    std::fill(removed_.begin() + pre_first, removed_.begin() + pre_end, char{1});
    std::fill(added_.begin() + post_first, added_.begin() + post_end, char{1});
  }

 private:
  static constexpr int least_rounds = 256;

  bool same(int pre, int post) const {
    return pre_[static_cast<std::size_t>(pre)] == post_[static_cast<std::size_t>(post)];
  }

  // A point on a shortest path, neither its start nor its end. Both sides are not empty, and begin and end differently.
  std::pair<int, int> split(int pre_first, int pre_end, int post_first, int post_end) {
    const int wide = pre_end - pre_first, high = post_end - post_first, shift = wide - high, both = wide + high;
    const int most = std::max(least_rounds, static_cast<int>(std::sqrt(both)));
    const auto middle = static_cast<std::size_t>(high) + 1;
    for (std::vector<int>& reached : reached_) reached.assign(static_cast<std::size_t>(both) + 3, 0);
    const auto at = [middle](std::vector<int>& reached, int diagonal) -> int& {
      return reached[middle + static_cast<std::size_t>(diagonal)];
    };
    for (int round = 0; round <= both / 2 + 1; ++round) {
      const int low = -(round - 2 * std::max(0, round - high)), top = round - 2 * std::max(0, round - wide);
      for (const bool forward : {true, false}) {
        std::vector<int>&mine = reached_[forward ? 0 : 1], &other = reached_[forward ? 1 : 0];
        // The backward search counts its diagonals from the other corner.
        for (int diagonal = low; diagonal <= top; diagonal += 2) {
          const bool down =
              diagonal == -round || (diagonal != round && at(mine, diagonal - 1) < at(mine, diagonal + 1));
          int across = down ? at(mine, diagonal + 1) : at(mine, diagonal - 1) + 1, along = across - diagonal;
          const int before = across;
          if (forward)
            while (across < wide && along < high && same(pre_first + across, post_first + along)) ++across, ++along;
          else
            while (across < wide && along < high && same(pre_end - 1 - across, post_end - 1 - along)) ++across, ++along;
          at(mine, diagonal) = across;
          const int facing = shift - diagonal, reach = forward ? round - 1 : round;
          const bool meets = (both % 2 == 1) == forward && facing >= -reach && facing <= reach;
          if (!meets || across + at(other, facing) < wide) continue;
          if (forward) return {pre_first + before, post_first + before - diagonal};
          return {pre_end - across, post_end - along};
        }
      }
      if (round >= most) return farthest(pre_first, post_first, wide, high, middle);
    }
    return {pre_end, post_first};  // not reached: the two searches meet before
  }

  // The search also leaves the texts on their far sides; such points are on no path.
  std::pair<int, int> farthest(int pre_first, int post_first, int wide, int high, std::size_t middle) const {
    int best = 0, along = 0;
    for (int diagonal = -high; diagonal <= wide; ++diagonal) {
      const int across = reached_[0][middle + static_cast<std::size_t>(diagonal)];
      if (across > wide || across < diagonal || across - diagonal > high || 2 * across - diagonal <= best + along)
        continue;
      best = across, along = across - diagonal;
    }
    return {pre_first + best, post_first + along};
  }

  const Ids& pre_;
  const Ids& post_;
  Flags& removed_;
  Flags& added_;
  std::array<std::vector<int>, 2> reached_;
};

constexpr std::int64_t most_shift = 100;
constexpr int most_blank = 20;
constexpr int blank = -1;
constexpr int tab = 8;

// Columns before the first letter of a line, or `blank`.
int indent_of(std::string_view line) {
  int column = 0;
  for (const char letter : line) {
    if (letter == ' ')
      ++column;
    else if (letter == '\t')
      column += tab - column % tab;
    else if (letter != '\n' && letter != '\r' && letter != '\f' && letter != '\v')
      return column;
  }
  return blank;
}

// How bad it looks when a block begins or ends before a line: sums of both ends are compared from left to right.
using Looks = std::array<int, 4>;

Looks looks(const Lines& side, std::int64_t line) {
  int before = blank, indent = blank;
  for (std::int64_t above = line; above > std::max<std::int64_t>(line - most_blank, 0) && before == blank;)
    before = indent_of(side.line(--above));
  for (std::int64_t below = line; below < std::min(side.count(), line + most_blank) && indent == blank; ++below)
    indent = indent_of(side.line(below));
  const bool at_end = line == side.count(), on_blank = !at_end && indent_of(side.line(line)) == blank;
  const bool after_blank = line == 0 || indent_of(side.line(line - 1)) == blank;
  indent = std::max(indent, 0);
  return {indent, before > indent ? 1 : 0, at_end || on_blank || after_blank ? 0 : 1, on_blank ? 1 : 0};
}

// Moves blocks of lines that were only added or only removed. `{ a } { b }` less `{ a }` may also be without `} { b`.
class Placing {
 public:
  Placing(const Lines& pre, const Lines& post) : pre_(pre), post_(post) {}

  std::vector<Block> placed(const std::vector<Block>& blocks) const {
    std::vector<Block> done;
    for (std::size_t number = 0; number < blocks.size(); ++number) {
      Block block = blocks[number];
      while (is_pure(block)) {
        const std::int64_t from = done.empty() ? 0 : done.back().post_end;
        const std::int64_t until = number + 1 < blocks.size() ? blocks[number + 1].post_first : post_.count();
        const std::int64_t up = shift_up(block, from), down = shift_down(block, until);
        if (!done.empty() && block.post_first - up == from) {
          const Block& before = done.back();
          block = {before.pre_first, block.pre_end - up, before.post_first, block.post_end - up};
          done.pop_back();
        } else if (number + 1 < blocks.size() && block.post_end + down == until) {
          const Block& next = blocks[++number];
          block = {block.pre_first + down, next.pre_end, block.post_first + down, next.post_end};
        } else {
          block = moved(block, best_shift(block, up, down));
          break;
        }
      }
      done.push_back(block);
    }
    return done;
  }

 private:
  static bool is_pure(const Block& block) {
    return block.pre_first == block.pre_end || block.post_first == block.post_end;
  }
  static Block moved(const Block& block, std::int64_t shift) {
    return {block.pre_first + shift, block.pre_end + shift, block.post_first + shift, block.post_end + shift};
  }
  // The side that has the lines of the block, and the first and the last but one of them there.
  std::tuple<const Lines&, std::int64_t, std::int64_t> own(const Block& block) const {
    if (block.pre_first == block.pre_end) return {post_, block.post_first, block.post_end};
    return {pre_, block.pre_first, block.pre_end};
  }
  std::int64_t shift_up(const Block& block, std::int64_t from) const {
    const auto [side, first, end] = own(block);
    const std::int64_t most = std::min(block.post_first - from, most_shift);
    std::int64_t shift = 0;
    while (shift < most && side.line(first - shift - 1) == side.line(end - shift - 1)) ++shift;
    return shift;
  }
  std::int64_t shift_down(const Block& block, std::int64_t until) const {
    const auto [side, first, end] = own(block);
    const std::int64_t most = std::min(until - block.post_end, most_shift);
    std::int64_t shift = 0;
    while (shift < most && side.line(first + shift) == side.line(end + shift)) ++shift;
    return shift;
  }
  // Of equally good ones the last.
  std::int64_t best_shift(const Block& block, std::int64_t up, std::int64_t down) const {
    if (up == 0 && down == 0) return 0;
    const auto [side, first, end] = own(block);
    Looks best{};
    std::int64_t chosen = down;
    for (std::int64_t shift = down; shift >= -up; --shift) {
      Looks both = looks(side, first + shift);
      const Looks last = looks(side, end + shift);
      for (std::size_t part = 0; part < both.size(); ++part) both[part] += last[part];
      if (shift == down || both < best) best = both, chosen = shift;
    }
    return chosen;
  }

  const Lines& pre_;
  const Lines& post_;
};

// Numbers for the lines of both texts in [first, end), equal for equal lines, and which texts have each.
class Interned {
 public:
  explicit Interned(std::int64_t most_lines)
      : slots_(std::bit_ceil(static_cast<std::size_t>(2 * most_lines + 1)), -1) {}

  Ids of(const Lines& side, std::int64_t first, std::int64_t end, std::size_t text) {
    Ids ids;
    ids.reserve(static_cast<std::size_t>(end - first));
    for (std::int64_t line = first; line < end; ++line) {
      const std::int32_t id = number_of(side.line(line));
      present_[static_cast<std::size_t>(id)][text] = true;
      ids.push_back(id);
    }
    return ids;
  }
  bool stands_in(std::int32_t id, std::size_t text) const { return present_[static_cast<std::size_t>(id)][text]; }

 private:
  std::int32_t number_of(std::string_view line) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t slot = std::hash<std::string_view>{}(line)&mask;; slot = (slot + 1) & mask) {
      std::int32_t& id = slots_[slot];
      if (id < 0) {
        id = static_cast<std::int32_t>(lines_.size());
        lines_.push_back(line);
        present_.push_back({false, false});
        return id;
      }
      if (lines_[static_cast<std::size_t>(id)] == line) return id;
    }
  }

  std::vector<std::int32_t> slots_;  // open addressing; -1 is a free slot
  std::vector<std::string_view> lines_;
  std::vector<std::array<bool, 2>> present_;
};

// The lines that the other text has too, and their places. The others are changed in any case: they get their flag.
struct Shared {
  Ids ids;
  std::vector<std::size_t> places;

  Shared(const Ids& all, const Interned& interned, std::size_t other, Flags& changed) {
    for (std::size_t place = 0; place < all.size(); ++place) {
      if (interned.stands_in(all[place], other)) {
        ids.push_back(all[place]);
        places.push_back(place);
      } else {
        changed[place] = 1;
      }
    }
  }
  void flag(const Flags& found, Flags& changed) const {
    for (std::size_t number = 0; number < places.size(); ++number)
      if (found[number]) changed[places[number]] = 1;
  }
};

std::vector<Block> blocks_of(const Flags& removed, const Flags& added, std::int64_t first) {
  std::vector<Block> blocks;
  std::size_t pre = 0, post = 0;
  while (pre < removed.size() || post < added.size()) {
    const std::size_t pre_first = pre, post_first = post;
    while (pre < removed.size() && removed[pre]) ++pre;
    while (post < added.size() && added[post]) ++post;
    if (pre > pre_first || post > post_first) {
      const auto place = [first](std::size_t line) { return first + static_cast<std::int64_t>(line); };
      blocks.push_back({place(pre_first), place(pre), place(post_first), place(post)});
    } else {
      ++pre, ++post;
    }
  }
  return blocks;
}

}  // namespace

std::vector<std::int64_t> line_starts(std::string_view text) {
  constexpr std::size_t usual_line = 24;
  std::vector<std::int64_t> starts;
  starts.reserve(text.size() / usual_line + 2);
  starts.push_back(0);
  for (std::size_t at = 0; at < text.size();) {
    const void* found = std::memchr(text.data() + at, '\n', text.size() - at);
    at = found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1 : text.size();
    starts.push_back(static_cast<std::int64_t>(at));
  }
  return starts;
}

std::vector<Block> changed_blocks(const Lines& pre, const Lines& post) {
  std::int64_t first = 0, pre_end = pre.count(), post_end = post.count();
  while (first < pre_end && first < post_end && pre.line(first) == post.line(first)) ++first;
  while (first < pre_end && first < post_end && pre.line(pre_end - 1) == post.line(post_end - 1)) --pre_end, --post_end;
  Interned interned(pre_end - first + post_end - first);
  const Ids before = interned.of(pre, first, pre_end, 0), after = interned.of(post, first, post_end, 1);
  Flags removed(before.size(), 0), added(after.size(), 0);
  const Shared kept(before, interned, 1, removed), stayed(after, interned, 0, added);
  Flags lost(kept.ids.size(), 0), found(stayed.ids.size(), 0);
  Script(kept.ids, stayed.ids, lost, found)
      .compare(0, static_cast<int>(kept.ids.size()), 0, static_cast<int>(stayed.ids.size()));
  kept.flag(lost, removed);
  stayed.flag(found, added);
  return Placing(pre, post).placed(blocks_of(removed, added, first));
}

}  // namespace megacpp
