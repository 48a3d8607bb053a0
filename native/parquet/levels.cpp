#include "levels.hpp"

#include <bit>
#include <limits>
#include <optional>
#include <stdexcept>

#include "run_writer.hpp"

namespace megacpp {
namespace {

constexpr std::uint32_t no_list = 0, empty_list = 1, no_element = 2, no_field = 3;

// Levels of one kind: their size in four bytes, then runs of them.
class LevelWriter {
 public:
  LevelWriter(Buffer& out, std::uint32_t largest)
      : out_(out), at_(out.size()), runs_(out, static_cast<int>(std::bit_width(largest))) {
    out.put_number(0, sizeof(std::uint32_t));
  }

  void put(std::uint32_t level, std::size_t count) { runs_.put(level, count); }

  void finish() {
    runs_.finish();
    out_.set_number(at_, static_cast<std::uint32_t>(out_.size() - at_ - sizeof(std::uint32_t)));
  }

 private:
  Buffer& out_;
  std::size_t at_;
  RunWriter runs_;
};

Levels write_flat(Buffer& out, const ArrowArray& column) {
  Levels levels{static_cast<std::size_t>(column.length), {&column, !may_lack(column), 0, 0, {}}};
  LevelWriter definition(out, 1);
  Present& present = levels.present;
  if (present.whole) {
    present.count = levels.entries;
    definition.put(1, present.count);
  } else {
    for (std::int64_t row = 0; row < column.length; ++row) {
      definition.put(is_present(column, row), 1);
      if (is_present(column, row)) present.places.push_back(row);
    }
    present.count = present.places.size();
  }
  definition.finish();
  return levels;
}

// A leaf in lists: its rows, and the arrays that may each lack something.
class Lists {
 public:
  Lists(const Leaf& leaf, const ArrowArray& column)
      : column_(column),
        offsets_(values_of<std::int32_t>(column)),
        elements_(*column.children[0]),
        is_struct_(leaf.shape == Shape::list_of_structs),
        values_(is_struct_ ? *elements_.children[leaf.field] : elements_),
        top_(largest_definition[static_cast<int>(leaf.shape)]),
        whole_(!may_lack(elements_) && !may_lack(values_)) {}

  Levels write(Buffer& out) {
    levels_.present = {&values_, whole_ && !may_lack(column_), value_place(column_.length ? offsets_[0] : 0), 0, {}};
    write_repetition(out);
    LevelWriter definition(out, top_);
    for (std::int64_t row = 0; row < column_.length; ++row) {
      if (size(row)) {
        write_row(definition, row);
      } else {
        definition.put(is_present(column_, row) ? empty_list : no_list, 1);
      }
    }
    definition.finish();
    if (!levels_.present.whole) levels_.present.count = levels_.present.places.size();
    return std::move(levels_);
  }

 private:
  std::size_t size(std::int64_t row) const {
    return is_present(column_, row) ? static_cast<std::size_t>(offsets_[row + 1] - offsets_[row]) : 0;
  }

  // The place of an element among the values: a struct may begin behind the first value of its fields.
  std::int64_t value_place(std::int64_t element) const { return element + (is_struct_ ? elements_.offset : 0); }

  void write_repetition(Buffer& out) {
    LevelWriter repetition(out, 1);
    for (std::int64_t row = 0; row < column_.length; ++row) {
      const std::size_t entries = std::max<std::size_t>(size(row), 1);
      repetition.put(0, 1);
      repetition.put(1, entries - 1);
      levels_.entries += entries;
    }
    repetition.finish();
  }

  void write_row(LevelWriter& definition, std::int64_t row) {
    const std::size_t count = size(row);
    if (levels_.present.whole) {
      definition.put(top_, count);
      levels_.present.count += count;
      return;
    }
    for (std::int64_t element = offsets_[row]; element < offsets_[row + 1]; ++element) {
      const std::uint32_t level = level_of(element);
      definition.put(level, 1);
      if (level == top_) levels_.present.places.push_back(value_place(element));
    }
  }

  std::uint32_t level_of(std::int64_t element) const {
    if (!is_present(elements_, element)) return no_element;
    return is_present(values_, value_place(element)) ? top_ : no_field;  // without a struct these are the same array
  }

  const ArrowArray& column_;
  const std::int32_t* offsets_;
  const ArrowArray& elements_;
  bool is_struct_;
  const ArrowArray& values_;
  std::uint32_t top_;
  bool whole_;
  Levels levels_;
};

}  // namespace

Levels write_levels(Buffer& out, const Leaf& leaf, const ArrowArray& batch) {
  const ArrowArray& column = *batch.children[leaf.column];
  Levels levels = leaf.shape == Shape::flat ? write_flat(out, column) : Lists(leaf, column).write(out);
  if (levels.entries > std::numeric_limits<std::int32_t>::max()) throw std::length_error("a page of 2^31 values");
  return levels;
}

}  // namespace megacpp
