// The Python extension `megacpp_assets.packed._gather`: rows out of spooled documents.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "../rows/documents.hpp"
#include "copy.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename Value>
using Lines = nb::ndarray<Value, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// `use` with a null pointer of the type that `kind` is.
template <typename Use>
void typed(nb::dlpack::dtype kind, Use use) {
  if (kind == nb::dtype<std::uint8_t>()) return use(static_cast<std::uint8_t*>(nullptr));
  if (kind == nb::dtype<std::uint16_t>()) return use(static_cast<std::uint16_t*>(nullptr));
  if (kind == nb::dtype<std::uint32_t>()) return use(static_cast<std::uint32_t*>(nullptr));
  if (kind == nb::dtype<std::int32_t>()) return use(static_cast<std::int32_t*>(nullptr));
  throw std::invalid_argument("whole numbers of up to four bytes");
}

template <typename Source, typename Value>
void write_rows(const Halves<Source>& column, const Numbers& starts, const Numbers& ends, const Numbers& offsets,
                std::int64_t fill, const Rows& out) {
  auto* data = static_cast<Value*>(out.data());
  const std::span<const std::int64_t> firsts(starts.data(), starts.size());
  const std::span<const std::int64_t> lasts(ends.data(), ends.size());
  for (std::size_t row = 0; row < out.shape(0); ++row) {
    const std::int64_t from = offsets.data()[row];
    const std::int64_t to = offsets.data()[row + 1];
    const bool inside = 0 <= from && from <= to && static_cast<std::size_t>(to) <= starts.size();
    if (!inside) throw std::invalid_argument("rows of the documents");
    const auto first = static_cast<std::size_t>(from);
    const auto count = static_cast<std::size_t>(to - from);
    const std::span<Value> line(data + row * out.shape(1), out.shape(1));
    if (!write_row(column, firsts.subspan(first, count), lasts.subspan(first, count), static_cast<Value>(fill), line))
      throw std::invalid_argument("documents that are there, and fit their rows");
  }
}

void rows(const Column& first, const Column& second, const Numbers& starts, const Numbers& ends, const Numbers& offsets,
          std::int64_t fill, const Rows& out) {
  if (first.dtype() != second.dtype() || starts.size() != ends.size() || offsets.size() != out.shape(0) + 1)
    throw std::invalid_argument("columns of one type, and bounds for each document and row");
  typed(first.dtype(), [&]<typename Source>(Source*) {
    const Halves<Source> column{{static_cast<const Source*>(first.data()), first.size()},
                                {static_cast<const Source*>(second.data()), second.size()}};
    typed(out.dtype(),
          [&]<typename Value>(Value*) { write_rows<Source, Value>(column, starts, ends, offsets, fill, out); });
  });
}

void documents(const Lines<const std::int32_t>& ids, const Numbers& valid, std::int32_t bos, std::int32_t pad,
               const Lines<std::int32_t>& targets, const Lines<bool>& mask, const Lines<std::int32_t>& numbers) {
  const std::size_t width = ids.shape(1);
  const auto alike = [&](const auto& lines) { return lines.shape(0) == ids.shape(0) && lines.shape(1) == width; };
  if (valid.size() != ids.shape(0) || !alike(targets) || !alike(mask) || !alike(numbers))
    throw std::invalid_argument("lines of one shape");
  std::vector<std::int32_t> ends;
  for (std::size_t row = 0; row < ids.shape(0); ++row) {
    const auto held = static_cast<std::size_t>(valid.data()[row]);
    if (held > width) throw std::invalid_argument("no more tokens than a row has");
    const auto line = [&](const auto& lines) { return std::span(lines.data() + row * width, width); };
    ends.clear();
    write_documents(line(ids), held, {bos, pad}, 0, {line(targets), line(mask), line(numbers), {}}, ends);
  }
}

}  // namespace

NB_MODULE(_gather, module) {
  module.def("rows", &rows, nb::arg("first"), nb::arg("second"), nb::arg("starts"), nb::arg("ends"), nb::arg("offsets"),
             nb::arg("fill"), nb::arg("out").noconvert());
  module.def("documents", &documents, nb::arg("ids"), nb::arg("valid"), nb::arg("bos"), nb::arg("pad"),
             nb::arg("targets").noconvert(), nb::arg("mask").noconvert(), nb::arg("numbers").noconvert());
}
