// Open rows by the room they have left: the tightest that holds a size is a few words away.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace megacpp {

// Numbers up to a bound, below 2^18, as three levels of bits: a bit of a level says that a word of the one below has any.
class Present {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  explicit Present(std::uint32_t most) {
    std::size_t words = most;
    for (auto& level : levels_) {
      words = words / 64 + 1;
      level.assign(words, 0);
    }
  }

  void add(std::uint32_t number) {
    for (auto& level : levels_) {
      level[number / 64] |= std::uint64_t{1} << (number % 64);
      number /= 64;
    }
  }

  void remove(std::uint32_t number) {
    for (auto& level : levels_) {
      std::uint64_t& word = level[number / 64];
      word &= ~(std::uint64_t{1} << (number % 64));
      if (word != 0) return;
      number /= 64;
    }
  }

  // The least from `number` on, or `none`.
  std::uint32_t from(std::uint32_t number) const {
    for (std::size_t height = 0; height < levels_.size(); ++height, number = number / 64 + 1) {
      const auto& level = levels_[height];
      if (number / 64 >= level.size()) return none;
      const std::uint64_t word = level[number / 64] >> (number % 64);
      if (word != 0) return down(height, number + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
    return none;
  }

 private:
  std::uint32_t down(std::size_t height, std::uint32_t number) const {
    while (height-- > 0) number = number * 64 + static_cast<std::uint32_t>(std::countr_zero(levels_[height][number]));
    return number;
  }

  std::array<std::vector<std::uint64_t>, 3> levels_;
};

// Rows of `capacity` in one quantity and `other` in a second one, in which each document takes some of both.
class Rows {
 public:
  Rows(std::uint32_t capacity, std::uint32_t other)
      : capacity_(capacity), other_(other), present_(capacity), first_(capacity + 1, Present::none) {}

  // Takes room in the tightest row that has it, of those looked at, and gives the row's number.
  std::uint32_t place(std::uint32_t size, std::uint32_t also) {
    int left = tries;
    for (auto room = present_.from(size); room != Present::none && left > 0; room = present_.from(room + 1)) {
      std::uint32_t* link = &first_[room];
      for (; *link != Present::none && left-- > 0; link = &rows_[*link].next) {
        const std::uint32_t row = *link;
        if (rows_[row].other < also) continue;
        *link = rows_[row].next;
        if (first_[room] == Present::none) present_.remove(room);
        return taken(row, room - size, also);
      }
    }
    rows_.push_back({Present::none, other_});
    return taken(count() - 1, capacity_ - size, also);
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(rows_.size()); }

 private:
  static constexpr int tries = 256;  // rows that lack the second quantity are passed over, so many for a document

  struct Row {
    std::uint32_t next;  // with the same room
    std::uint32_t other;
  };

  std::uint32_t taken(std::uint32_t row, std::uint32_t room, std::uint32_t also) {
    rows_[row].other -= also;
    if (room == 0) return row;
    rows_[row].next = first_[room];
    first_[room] = row;
    if (rows_[row].next == Present::none) present_.add(room);
    return row;
  }

  std::uint32_t capacity_;
  std::uint32_t other_;
  Present present_;
  std::vector<std::uint32_t> first_;
  std::vector<Row> rows_;
};

}  // namespace megacpp
