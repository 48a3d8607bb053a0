// The Python extension `megacpp_assets.storage._integers`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "../arrays/to_numpy.hpp"
#include "integers.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

// (array, place behind the list), or None where no such list begins.
template <typename Value>
nb::object as_array(const nb::bytes& json, std::size_t at) {
  auto found = read_list<Value>(std::string_view(json.c_str(), json.size()), at);
  if (!found) return nb::none();
  return nb::make_tuple(to_numpy(std::move(found->values)), found->end);
}

nb::object integers(const nb::bytes& json, std::size_t at, int width) {
  switch (width) {
    case 1: return as_array<std::uint8_t>(json, at);
    case 2: return as_array<std::uint16_t>(json, at);
    case 4: return as_array<std::uint32_t>(json, at);
    default: throw std::invalid_argument("a width of 1, 2 or 4 bytes");
  }
}

}  // namespace

NB_MODULE(_integers, module) { module.def("integers", &integers, nb::arg("json"), nb::arg("at"), nb::arg("width")); }
