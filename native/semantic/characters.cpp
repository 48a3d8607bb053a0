#include "characters.hpp"

#include <cstring>
#include <stdexcept>

namespace megacpp {
namespace {

constexpr std::uint8_t kDeclared = 1, kUsed = 2;
constexpr std::int32_t kNone = -1;

void require(bool fits, const char* what) {
  if (!fits) throw std::invalid_argument(what);
}

template <typename T>
void spread_as(const Field& field, Rows owner, const std::uint8_t* values) {
  std::uint8_t* place = field.records + field.offset;
  for (const std::int32_t index : owner) {
    if (index >= 0) std::memcpy(place, values + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
    place += field.stride;
  }
}

template <typename T>
void fill_as(const Field& field, Offsets starts, Offsets ends, const std::uint8_t* values) {
  for (std::size_t index = 0; index < starts.size(); ++index) {
    std::uint8_t* place = field.records + static_cast<std::size_t>(starts[index]) * field.stride + field.offset;
    for (std::int64_t at = starts[index]; at < ends[index]; ++at, place += field.stride) {
      std::memcpy(place, values + index * sizeof(T), sizeof(T));
    }
  }
}

// Calls `work` with a value of the type that has the field's width.
template <typename Work>
void by_width(const Field& field, const Values& values, Work work) {
  require(values.width == field.width && field.offset + field.width <= field.stride, "the values have another width");
  switch (field.width) {
    case 1: return work(std::uint8_t{});
    case 2: return work(std::uint16_t{});
    case 4: return work(std::uint32_t{});
    default: require(false, "a field has 1, 2 or 4 bytes");
  }
}

void require_rows(Rows rows, std::size_t cursors, std::size_t table) {
  require(rows.size() == cursors, "unequal columns");
  for (const std::int32_t row : rows) require(row < 0 || static_cast<std::size_t>(row) < table, "no such row");
}

}  // namespace

void spread(const Field& field, Rows owner, const Values& values) {
  require(owner.size() == field.count, "unequal columns");
  for (const std::int32_t index : owner) {
    require(index < 0 || static_cast<std::size_t>(index) < values.count, "an owner has no value");
  }
  by_width(field, values, [&](auto zero) { spread_as<decltype(zero)>(field, owner, values.bytes); });
}

void fill(const Field& field, Offsets starts, Offsets ends, const Values& values) {
  require(starts.size() == ends.size() && starts.size() == values.count, "unequal columns");
  for (std::size_t index = 0; index < starts.size(); ++index) {
    require(starts[index] >= 0 && ends[index] >= starts[index] && static_cast<std::size_t>(ends[index]) <= field.count,
            "a range lies outside the records");
  }
  by_width(field, values, [&](auto zero) { fill_as<decltype(zero)>(field, starts, ends, values.bytes); });
}

void name_tokens(Rows innermost, std::span<const std::uint64_t> hashes, const NamedCursors& cursors, int climb,
                 const Meanings& meanings) {
  const std::size_t count = cursors.parent.size();
  const std::size_t tokens = hashes.size();
  require(innermost.size() == tokens && meanings.symbol.size() == tokens && meanings.mode.size() == tokens &&
              meanings.call.size() == tokens && cursors.call.size() == count,
          "unequal columns");
  require_rows(cursors.declares, count, cursors.spelling.size());
  require_rows(cursors.uses, count, cursors.spelling.size());
  for (std::size_t token = 0; token < tokens; ++token) {
    const auto spells = [&](std::int32_t row) {
      return row >= 0 && cursors.spelling[static_cast<std::size_t>(row)] == hashes[token];
    };
    std::int32_t& symbol = meanings.symbol[token];
    std::int32_t& call = meanings.call[token];
    std::int32_t cursor = innermost[token];
    for (int step = 0; step < climb && cursor >= 0; ++step) {
      const auto at = static_cast<std::size_t>(cursor);
      require(at < count, "no such cursor");
      const std::int32_t declares = cursors.declares[at];
      const std::int32_t uses = cursors.uses[at];
      if (symbol == kNone && spells(declares)) {
        symbol = declares;
        meanings.mode[token] = kDeclared;
      }
      if (symbol == kNone && spells(uses)) {
        symbol = uses;
        meanings.mode[token] = kUsed;
      }
      if (call == kNone && cursors.call[at] && spells(uses)) call = uses;
      cursor = cursors.parent[at];
    }
  }
}

}  // namespace megacpp
