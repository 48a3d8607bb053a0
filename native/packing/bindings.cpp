// The Python extension `megacpp_assets.packed.strategies._best_fit`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../arrays/to_numpy.hpp"
#include "best_fit.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

using Column = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> span_of(const Column& column) { return {column.data(), column.size()}; }

// (documents, offsets)
nb::tuple plan(const Column& tokens, const Column& chunks, std::int64_t most_tokens, std::int64_t most_chunks,
               std::uint64_t seed) {
  if (tokens.size() != chunks.size()) throw std::invalid_argument("as many chunk counts as lengths");
  Plan made = best_fit(span_of(tokens), span_of(chunks), {most_tokens, most_chunks}, seed);
  return nb::make_tuple(to_numpy(std::move(made.documents)), to_numpy(std::move(made.offsets)));
}

}  // namespace

NB_MODULE(_best_fit, module) {
  module.def("plan", &plan, nb::arg("tokens"), nb::arg("chunks"), nb::arg("most_tokens"), nb::arg("most_chunks"),
             nb::arg("seed"));
}
