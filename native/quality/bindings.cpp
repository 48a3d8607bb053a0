// The Python extension `megacpp_assets.quality.reading._fingerprints`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "../arrays/to_numpy.hpp"
#include "fingerprints.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Prints = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>;

PrintColumn::Add add_of(const nb::dlpack::dtype& kind) {
  if (kind == nb::dtype<std::uint8_t>()) return add_scaled<std::uint8_t>;
  if (kind == nb::dtype<std::int8_t>()) return add_scaled<std::int8_t>;
  if (kind == nb::dtype<std::uint16_t>()) return add_scaled<std::uint16_t>;
  if (kind == nb::dtype<std::int16_t>()) return add_scaled<std::int16_t>;
  if (kind == nb::dtype<std::uint32_t>()) return add_scaled<std::uint32_t>;
  if (kind == nb::dtype<std::int32_t>()) return add_scaled<std::int32_t>;
  if (kind == nb::dtype<std::uint64_t>()) return add_scaled<std::uint64_t>;
  if (kind == nb::dtype<std::int64_t>()) return add_scaled<std::int64_t>;
  throw std::invalid_argument("columns of whole numbers");
}

Prints fingerprints(const std::vector<Column>& arrays, const Places& starts, const Places& ends) {
  std::vector<PrintColumn> columns;
  columns.reserve(arrays.size());
  for (const Column& array : arrays) columns.push_back({array.data(), array.size(), add_of(array.dtype())});
  if (starts.size() != ends.size()) throw std::invalid_argument("a start and an end for each document");
  std::vector<std::uint64_t> prints(starts.size());
  for (std::size_t document = 0; document < prints.size(); ++document) {
    const std::int64_t start = starts.data()[document], end = ends.data()[document];
    for (const PrintColumn& column : columns)
      if (start < 0 || end < start || static_cast<std::size_t>(end) > column.count)
        throw std::invalid_argument("documents that lie within their columns");
    prints[document] = fingerprint(columns, static_cast<std::size_t>(start), static_cast<std::size_t>(end));
  }
  return to_numpy(std::move(prints));
}

}  // namespace

NB_MODULE(_fingerprints, module) {
  module.def("fingerprints", &fingerprints, nb::arg("columns"), nb::arg("starts"), nb::arg("ends"));
}
