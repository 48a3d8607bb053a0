// Columns of one value per byte of a file, written into records in place, and which entity each identifier names.
#pragma once

#include <cstdint>
#include <span>

#include "ranges.hpp"

namespace megacpp {

using Rows = std::span<const std::int32_t>;

// A field of `width` bytes, `offset` into each record of `stride` bytes.
struct Field {
  std::uint8_t* records;
  std::size_t count, stride, offset, width;
};

// Values of `width` bytes each, one after the other.
struct Values {
  const std::uint8_t* bytes;
  std::size_t count, width;
};

// Writes into each record the value that its owner has; a record without an owner (-1) stays as it is.
// std::invalid_argument for an owner that has no value.
void spread(const Field& field, Rows owner, const Values& values);

// Writes each value into the records of its range [start, end). std::invalid_argument for a range outside the records.
void fill(const Field& field, Offsets starts, Offsets ends, const Values& values);

// A file's cursors: the one above each, whether it is a call, and the rows of a symbol table for what it declares and
// for what it uses (-1: none). The table's spellings are hashes.
struct NamedCursors {
  Rows parent;
  std::span<const bool> call;
  Rows declares, uses;
  std::span<const std::uint64_t> spelling;
};

// What each token names and calls, as rows of that table (-1: none), and how; what is set already stays.
struct Meanings {
  std::span<std::int32_t> symbol;
  std::span<std::uint8_t> mode;
  std::span<std::int32_t> call;
};

// Gives each token, by the innermost cursor over it and then those above, the first entity that it spells: what the
// cursor declares (mode 1) or uses (mode 2), and what it calls. std::invalid_argument for columns that do not fit.
void name_tokens(Rows innermost, std::span<const std::uint64_t> hashes, const NamedCursors& cursors, int climb,
                 const Meanings& meanings);

}  // namespace megacpp
