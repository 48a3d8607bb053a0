// The Python extension `megacpp_assets.megatron._rows`: rows of a batch out of mapped files, line by line.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../arrays/to_numpy.hpp"
#include "../rows/documents.hpp"
#include "chunks.hpp"
#include "lines.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

template <typename Value>
using Array = nb::ndarray<Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename Value>
using Lines = nb::ndarray<Value, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = Array<const std::int64_t>;
using Slot = nb::ndarray<std::int32_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

constexpr std::int64_t all_right = -1;

// A stretch of something of many rows that lie end to end.
struct Stretch {
  std::size_t first;
  std::size_t count;
  bool inside;
};

template <typename Value>
std::span<const Value> span_of(const Array<const Value>& values) {
  return {values.data(), values.size()};
}

template <typename Value>
std::span<Value> line_of(const Lines<Value>& lines, std::size_t line) {
  return {lines.data() + line * lines.shape(1), lines.shape(1)};
}

template <typename Value>
std::span<const Value> part_of(const Array<const Value>& values, const Stretch& stretch) {
  return span_of(values).subspan(stretch.first, stretch.count);
}

// What belongs to row `row`, the values from firsts[row] to firsts[row + 1] of `most`. `std::out_of_range` for no row.
Stretch stretch_of(const Numbers& firsts, std::int64_t row, std::size_t most) {
  if (row < 0 || static_cast<std::size_t>(row) + 1 >= firsts.size())
    throw std::out_of_range("row " + std::to_string(row) + "; expected a number from 0 to " +
                            std::to_string(static_cast<std::int64_t>(firsts.size()) - 2));
  const std::int64_t first = firsts.data()[row];
  const std::int64_t end = firsts.data()[row + 1];
  const bool inside = 0 <= first && first <= end && static_cast<std::size_t>(end) <= most;
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(end - first), inside};
}

// Line by line by `write(line)`; the first that is refused, or `all_right`.
template <typename Write>
std::int64_t each_line(std::size_t lines, const Numbers& rows, Write write) {
  if (rows.size() != lines) throw std::invalid_argument("a line for each row");
  for (std::size_t line = 0; line < lines; ++line)
    if (!write(line)) return static_cast<std::int64_t>(line);
  return all_right;
}

template <typename Use>
std::int64_t typed(const Column& column, Use use) {
  if (column.dtype() == nb::dtype<std::uint8_t>()) return use(static_cast<const std::uint8_t*>(column.data()));
  if (column.dtype() == nb::dtype<std::int8_t>()) return use(static_cast<const std::int8_t*>(column.data()));
  if (column.dtype() == nb::dtype<std::uint16_t>()) return use(static_cast<const std::uint16_t*>(column.data()));
  if (column.dtype() == nb::dtype<std::int16_t>()) return use(static_cast<const std::int16_t*>(column.data()));
  if (column.dtype() == nb::dtype<std::uint32_t>()) return use(static_cast<const std::uint32_t*>(column.data()));
  if (column.dtype() == nb::dtype<std::int32_t>()) return use(static_cast<const std::int32_t*>(column.data()));
  if (column.dtype() == nb::dtype<std::int64_t>()) return use(static_cast<const std::int64_t*>(column.data()));
  throw std::invalid_argument("values of whole numbers");
}

std::int64_t values(const Column& column, const Numbers& starts, const Numbers& rows, std::uint32_t fill,
                    const Lines<std::uint32_t>& out) {
  return typed(column, [&](const auto* data) {
    return each_line(out.shape(0), rows, [&](std::size_t line) {
      const auto tokens = stretch_of(starts, rows.data()[line], column.size());
      return tokens.inside &&
             write_values(std::span(data + tokens.first, tokens.count), tokens.count, fill, line_of(out, line));
    });
  });
}

std::int64_t runs(const Column& column, const Column& lengths, const Numbers& firsts, const Numbers& starts,
                  const Numbers& rows, std::uint32_t fill, const Lines<std::uint32_t>& out) {
  if (lengths.size() != column.size()) throw std::invalid_argument("a length for each run");
  const auto with = [&](const auto* data, const auto* longs) {
    return each_line(out.shape(0), rows, [&](std::size_t line) {
      const auto held = stretch_of(firsts, rows.data()[line], column.size());
      const auto tokens = stretch_of(starts, rows.data()[line], ~std::size_t{0});
      return held.inside && tokens.inside &&
             write_runs(std::span(data + held.first, held.count), std::span(longs + held.first, held.count),
                        tokens.count, fill, line_of(out, line));
    });
  };
  return typed(column, [&](const auto* data) {
    return lengths.itemsize() == sizeof(std::uint16_t) ? with(data, static_cast<const std::uint16_t*>(lengths.data()))
                                                       : with(data, static_cast<const std::uint32_t*>(lengths.data()));
  });
}

// Where sequences of the lines, laid end to end, begin.
auto documents(const Lines<const std::int32_t>& ids, const Array<const std::int32_t>& valid, std::int32_t bos,
               std::int32_t pad, const Lines<std::int32_t>& targets, const Lines<bool>& mask,
               const Lines<std::int32_t>& numbers, const Lines<std::int32_t>& segments) {
  const auto alike = [&](const auto& lines) {
    return lines.shape(0) == ids.shape(0) && lines.shape(1) == ids.shape(1);
  };
  if (valid.size() != ids.shape(0) || !alike(targets) || !alike(mask) || !alike(numbers) || !alike(segments))
    throw std::invalid_argument("lines of one shape");
  std::vector<std::int32_t> begins{0};
  for (std::size_t line = 0; line < ids.shape(0); ++line) {
    const auto held = span_of(valid)[line];
    if (held < 0 || static_cast<std::size_t>(held) > ids.shape(1))
      throw std::invalid_argument("no more tokens than a line has");
    const DocumentLines out{line_of(targets, line), line_of(mask, line), line_of(numbers, line),
                            line_of(segments, line)};
    write_documents(line_of(ids, line), static_cast<std::size_t>(held), {bos, pad}, line * ids.shape(1), out, begins);
  }
  return to_numpy(std::move(begins));
}

std::int64_t slots(const Numbers& firsts, const Array<const std::uint32_t>& starts,
                   const Array<const std::uint32_t>& ends, const Array<const std::uint8_t>& kinds,
                   const Array<const std::uint16_t>& levels, const Numbers& rows,
                   const Lines<const std::int32_t>& documents, const Slot& out) {
  const std::size_t most = starts.size();
  if (ends.size() != most || kinds.size() != most || levels.size() != most || out.shape(0) != 5 ||
      out.shape(1) != documents.shape(0))
    throw std::invalid_argument("parts of one length, and five of slots");
  return each_line(out.shape(1), rows, [&](std::size_t line) {
    const auto held = stretch_of(firsts, rows.data()[line], most);
    if (!held.inside) return false;
    Slots lines;
    for (std::size_t part = 0; part < lines.size(); ++part)
      lines[part] = {out.data() + (part * out.shape(1) + line) * out.shape(2), out.shape(2)};
    const Chunks chunks{part_of(starts, held), part_of(ends, held), part_of(kinds, held), part_of(levels, held)};
    return write_slots(chunks, line_of(documents, line), lines);
  });
}

// (line, from, to) of each edge, end to end, and the line that has one between chunks that are not its own.
nb::tuple edges(const Numbers& chunks, const Numbers& firsts, const Lines<const std::uint16_t>& pairs,
                const Numbers& rows) {
  if (pairs.shape(1) != 2) throw std::invalid_argument("pairs");
  std::vector<std::int64_t> found;
  const auto wrong = each_line(rows.size(), rows, [&](std::size_t line) {
    const auto row = rows.data()[line];
    const auto held = stretch_of(firsts, row, pairs.shape(0));
    const auto own = stretch_of(chunks, row, ~std::size_t{0});
    return held.inside && add_edges({pairs.data() + 2 * held.first, 2 * held.count}, line,
                                    static_cast<std::int64_t>(own.count), found);
  });
  return nb::make_tuple(to_numpy(std::move(found)), wrong);
}

}  // namespace

NB_MODULE(_rows, module) {
  module.def("values", &values, nb::arg("column"), nb::arg("starts"), nb::arg("rows"), nb::arg("fill"),
             nb::arg("out").noconvert());
  module.def("runs", &runs, nb::arg("column"), nb::arg("lengths"), nb::arg("firsts"), nb::arg("starts"),
             nb::arg("rows"), nb::arg("fill"), nb::arg("out").noconvert());
  module.def("documents", &documents, nb::arg("ids"), nb::arg("valid"), nb::arg("bos"), nb::arg("pad"),
             nb::arg("targets").noconvert(), nb::arg("mask").noconvert(), nb::arg("numbers").noconvert(),
             nb::arg("segments").noconvert());
  module.def("slots", &slots, nb::arg("firsts"), nb::arg("starts"), nb::arg("ends"), nb::arg("kinds"),
             nb::arg("levels"), nb::arg("rows"), nb::arg("documents"), nb::arg("out").noconvert());
  module.def("edges", &edges, nb::arg("chunks"), nb::arg("firsts"), nb::arg("pairs"), nb::arg("rows"));
}
