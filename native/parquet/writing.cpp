// Python's side of writing parquet: batches come by Arrow's C data interface, pages go out as arrays.
#include "writing.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "file_writer.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

template <typename Struct>
Struct& struct_in(const nb::capsule& capsule, const char* name) {
  auto* found = static_cast<Struct*>(capsule.data(name));
  if (!found->release) throw std::invalid_argument("a struct of Arrow that was given away");
  return *found;
}

nb::bytes as_bytes(Bytes bytes) { return nb::bytes(bytes.data(), bytes.size()); }

class PyFileWriter {
 public:
  PyFileWriter(nb::capsule schema, const nb::dict& encodings)
      : schema_(std::move(schema)), writer_(make(struct_in<ArrowSchema>(schema_, "arrow_schema"), encodings)) {}

  std::size_t leaves() const { return writer_.leaves(); }

  void begin_group(nb::capsule batch) {
    writer_.begin_group(static_cast<std::size_t>(struct_in<ArrowArray>(batch, "arrow_array").length));
    batch_ = std::move(batch);
  }

  // The bodies of the pages of a leaf, to be compressed and placed one after the other, before the next leaf.
  nb::list encode(std::size_t leaf) {
    const auto& batch = struct_in<ArrowArray>(batch_, "arrow_array");
    if (leaf >= writer_.leaves()) throw std::invalid_argument("a leaf behind the last");
    {
      const nb::gil_scoped_release others_run;
      encoded_ = &writer_.encode(leaf, batch);
    }
    placed_dictionary_ = !encoded_->has_dictionary;
    nb::list pages;
    if (encoded_->has_dictionary) pages.append(view(encoded_->dictionary));
    pages.append(view(encoded_->data));
    return pages;
  }

  nb::bytes place(std::size_t size, std::uint32_t checksum) {
    if (!encoded_) throw std::invalid_argument("a page that was not encoded");
    const Page& page = placed_dictionary_ ? encoded_->data : encoded_->dictionary;
    placed_dictionary_ = true;
    return as_bytes(writer_.place(page, {size, checksum}));
  }

  nb::bytes footer(const std::vector<std::pair<std::string, std::string>>& metadata) {
    batch_.reset();
    return as_bytes(writer_.footer(struct_in<ArrowSchema>(schema_, "arrow_schema"), metadata));
  }

 private:
  static FileWriter make(const ArrowSchema& schema, const nb::dict& encodings) {
    std::vector<Leaf> leaves = leaves_of(schema);
    std::vector<Encoding> of_leaves;
    for (const Leaf& leaf : leaves) {
      const nb::str name(leaf.path.front().c_str());
      const bool is_named = encodings.contains(name);
      of_leaves.push_back(is_named ? static_cast<Encoding>(nb::cast<int>(encodings[name])) : Encoding::dictionary);
    }
    return {std::move(leaves), std::move(of_leaves)};
  }

  static nb::object view(const Page& page) {
    const Bytes bytes = page.body.bytes();
    return nb::steal(PyMemoryView_FromMemory(const_cast<char*>(reinterpret_cast<const char*>(bytes.data())),
                                             static_cast<Py_ssize_t>(bytes.size()), PyBUF_READ));
  }

  nb::capsule schema_, batch_;
  FileWriter writer_;
  const Encoded* encoded_ = nullptr;
  bool placed_dictionary_ = false;
};

}  // namespace

void bind_writing(nb::module_& module) {
  nb::class_<PyFileWriter>(module, "FileWriter")
      .def(nb::init<nb::capsule, const nb::dict&>(), nb::arg("schema"), nb::arg("encodings"))
      .def_prop_ro("leaves", &PyFileWriter::leaves)
      .def("begin_group", &PyFileWriter::begin_group, nb::arg("batch"))
      .def("encode", &PyFileWriter::encode, nb::arg("leaf"))
      .def("place", &PyFileWriter::place, nb::arg("size"), nb::arg("checksum"))
      .def("footer", &PyFileWriter::footer, nb::arg("metadata"));
}
