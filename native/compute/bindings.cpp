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

nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>> to_numpy(std::vector<std::uint64_t>&& values) {
  auto* owner = new std::vector<std::uint64_t>(std::move(values));
  const nb::capsule release(owner, [](void* data) noexcept { delete static_cast<std::vector<std::uint64_t>*>(data); });
  return nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>(owner->data(), {owner->size()}, release);
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

auto shingles(const nb::str& text, std::int64_t tokens) {
  if (tokens < 1) throw std::invalid_argument("a run has one token at least");
  return to_numpy(runs_of(tokens_of(text), static_cast<std::size_t>(tokens)));
}

}  // namespace

NB_MODULE(_shingles, module) { module.def("shingles", &shingles, nb::arg("text"), nb::arg("tokens")); }
