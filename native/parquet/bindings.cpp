// The Python extension `megacpp_assets.storage.pages._pages`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>

#include "list_column.hpp"
#include "writing.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

using Page = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename Value>
using Array = nb::ndarray<Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = Array<std::int32_t>;

Bytes bytes_of(const Page& page) { return {page.data(), page.size()}; }

template <typename Value>
std::span<Value> span_of(const Array<Value>& array) {
  return {array.data(), array.size()};
}

// (kind, size of the header, packed size, whole size, checksum or None, values, encoding) of the page at `at`.
nb::tuple page_header(const Page& chunk, std::size_t at) {
  const Bytes bytes = bytes_of(chunk);
  if (at > bytes.size()) throw std::invalid_argument("a page behind its column");
  const PageHeader found = read_page_header(bytes.subspan(at));
  const nb::object checksum = found.checksum ? nb::cast(*found.checksum) : nb::none();
  return nb::make_tuple(found.kind, found.size, found.packed_size, found.whole_size, checksum, found.values,
                        found.encoding);
}

// A column of any width, with hold of the arrays that it fills.
template <typename Value>
class Column {
 public:
  Column(Offsets offsets, Array<Value> values)
      : offsets_(std::move(offsets)), values_(std::move(values)), column_(span_of(offsets_), span_of(values_)) {}

  void dictionary(const Page& page, std::size_t count) { column_.dictionary(bytes_of(page), count); }

  // Whether no list and no value is absent; the column is of no use where one is.
  bool data(const Page& page, std::size_t count, int encoding) {
    try {
      column_.data(bytes_of(page), count, static_cast<Encoding>(encoding));
    } catch (const Absent&) { return false; }
    return true;
  }

  std::size_t finish() { return column_.finish(); }

 private:
  Offsets offsets_;
  Array<Value> values_;
  ListColumn<Value> column_;
};

template <typename Value>
void bind(nb::module_& module, const char* name) {
  nb::class_<Column<Value>>(module, name)
      .def(nb::init<Offsets, Array<Value>>(), nb::arg("offsets"), nb::arg("values"))
      .def("dictionary", &Column<Value>::dictionary, nb::arg("page"), nb::arg("count"))
      .def("data", &Column<Value>::data, nb::arg("page"), nb::arg("count"), nb::arg("encoding"))
      .def("finish", &Column<Value>::finish);
}

}  // namespace

NB_MODULE(_pages, module) {
  module.def("page_header", &page_header, nb::arg("chunk"), nb::arg("at"));
  bind<std::uint8_t>(module, "Column8");
  bind<std::uint16_t>(module, "Column16");
  bind<std::uint32_t>(module, "Column32");
  bind_writing(module);
}
