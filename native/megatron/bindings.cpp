// The Python extension `megacpp_assets.megatron._expand`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

#include "expand.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bounds = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Lines = nb::ndarray<std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr std::int64_t all_right = -1;

// Line by line by `write(first, end, tokens, line)`; the first that is refused, or `all_right`.
template <typename Write>
std::int64_t each_line(const Bounds& first, const Bounds& end, const Bounds& tokens, std::size_t most, const Lines& out,
                       Write write) {
  const std::size_t rows = out.shape(0);
  if (first.size() != rows || end.size() != rows || tokens.size() != rows)
    throw std::invalid_argument("a bound for each line");
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t from = first.data()[row];
    const std::int64_t to = end.data()[row];
    const std::int64_t held = tokens.data()[row];
    const bool inside = 0 <= from && from <= to && static_cast<std::size_t>(to) <= most && held >= 0;
    const std::span<std::uint32_t> line(out.data() + row * out.shape(1), out.shape(1));
    if (!inside || !write(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from),
                          static_cast<std::size_t>(held), line))
      return static_cast<std::int64_t>(row);
  }
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

std::int64_t values(const Column& column, const Bounds& first, const Bounds& end, const Bounds& tokens,
                    std::uint32_t fill, const Lines& out) {
  return typed(column, [&](const auto* data) {
    return each_line(first, end, tokens, column.size(), out, [&](auto from, auto count, auto held, auto line) {
      return write_values(std::span(data + from, count), held, fill, line);
    });
  });
}

std::int64_t runs(const Column& column, const Column& lengths, const Bounds& first, const Bounds& end,
                  const Bounds& tokens, std::uint32_t fill, const Lines& out) {
  if (lengths.size() != column.size()) throw std::invalid_argument("a length for each run");
  const auto with = [&](const auto* data, const auto* longs) {
    return each_line(first, end, tokens, column.size(), out, [&](auto from, auto count, auto held, auto line) {
      return write_runs(std::span(data + from, count), std::span(longs + from, count), held, fill, line);
    });
  };
  return typed(column, [&](const auto* data) {
    return lengths.itemsize() == sizeof(std::uint16_t) ? with(data, static_cast<const std::uint16_t*>(lengths.data()))
                                                       : with(data, static_cast<const std::uint32_t*>(lengths.data()));
  });
}

}  // namespace

NB_MODULE(_expand, module) {
  module.def("values", &values, nb::arg("column"), nb::arg("first"), nb::arg("end"), nb::arg("tokens"), nb::arg("fill"),
             nb::arg("out"));
  module.def("runs", &runs, nb::arg("column"), nb::arg("lengths"), nb::arg("first"), nb::arg("end"), nb::arg("tokens"),
             nb::arg("fill"), nb::arg("out"));
}
