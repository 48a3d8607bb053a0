// The Python extension `megacpp_assets.compute._shingles`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <stdexcept>
#include <vector>

#include "shingles.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

template <typename Value>
nb::ndarray<nb::numpy, Value, nb::ndim<1>> to_numpy(std::vector<Value>&& values) {
  auto* owner = new std::vector<Value>(std::move(values));
  const nb::capsule release(owner, [](void* data) noexcept { delete static_cast<std::vector<Value>*>(data); });
  return nb::ndarray<nb::numpy, Value, nb::ndim<1>>(owner->data(), {owner->size()}, release);
}

template <typename Unit>
std::vector<std::uint64_t> tokens_of(PyObject* text) {
  const auto* data = static_cast<const Unit*>(PyUnicode_DATA(text));
  return token_hashes(std::span<const Unit>(data, static_cast<std::size_t>(PyUnicode_GET_LENGTH(text))));
}

std::vector<std::uint64_t> tokens_of(const nb::str& text) {
  switch (PyUnicode_KIND(text.ptr())) {
    case PyUnicode_1BYTE_KIND: return tokens_of<std::uint8_t>(text.ptr());
    case PyUnicode_2BYTE_KIND: return tokens_of<std::uint16_t>(text.ptr());
    default: return tokens_of<std::uint32_t>(text.ptr());
  }
}

std::size_t width_of(std::int64_t tokens) {
  if (tokens < 1) throw std::invalid_argument("a run has one token at least");
  return static_cast<std::size_t>(tokens);
}

auto shingles(const nb::str& text, std::int64_t tokens) { return to_numpy(runs_of(tokens_of(text), width_of(tokens))); }

using Runs = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void make_set(RunSet* set, const Runs& runs) { new (set) RunSet({runs.data(), runs.size()}); }

std::size_t count(RunSet& set, const nb::str& text, std::int64_t tokens) {
  return set.count(tokens_of(text), width_of(tokens));
}

void see(RunSet& set, const nb::str& text, std::int64_t tokens) { set.see(tokens_of(text), width_of(tokens)); }

}  // namespace

NB_MODULE(_shingles, module) {
  module.def("shingles", &shingles, nb::arg("text"), nb::arg("tokens"));
  nb::class_<RunSet>(module, "RunSet")
      .def("__init__", &make_set, nb::arg("runs"))
      .def("count", &count, nb::arg("text"), nb::arg("tokens"))
      .def("see", &see, nb::arg("text"), nb::arg("tokens"))
      .def("seen", [](RunSet& set) { return to_numpy(set.seen()); });
}
