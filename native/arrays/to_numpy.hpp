// How a vector reaches Python without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace megacpp {

// A numpy array of one dimension that owns the moved vector.
template <typename Value>
auto to_numpy(std::vector<Value>&& values) {
  auto* owner = new std::vector<Value>(std::move(values));
  const nanobind::capsule release(owner, [](void* data) noexcept { delete static_cast<std::vector<Value>*>(data); });
  return nanobind::ndarray<nanobind::numpy, Value, nanobind::ndim<1>>(owner->data(), {owner->size()}, release);
}

}  // namespace megacpp
