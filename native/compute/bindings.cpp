// The Python extension `megacpp_assets.compute._shingles`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../arrays/to_numpy.hpp"
#include "copies.hpp"
#include "shingles.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

// Calls use(text) with the code points of a text, whatever their width in memory.
template <typename Use>
auto with_points(const nb::str& text, Use use) {
  const auto size = static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr()));
  const void* data = PyUnicode_DATA(text.ptr());
  switch (PyUnicode_KIND(text.ptr())) {
    case PyUnicode_1BYTE_KIND: return use(std::span(static_cast<const std::uint8_t*>(data), size));
    case PyUnicode_2BYTE_KIND: return use(std::span(static_cast<const std::uint16_t*>(data), size));
    default: return use(std::span(static_cast<const std::uint32_t*>(data), size));
  }
}

std::vector<std::uint64_t> tokens_of(const nb::str& text, bool alike = false) {
  return with_points(text, [&](auto points) { return token_hashes(points, alike); });
}

std::size_t width_of(std::int64_t tokens) {
  if (tokens < 1) throw std::invalid_argument("a run has one token at least");
  return static_cast<std::size_t>(tokens);
}

auto shingles(const nb::str& text, std::int64_t tokens, bool alike) {
  return to_numpy(runs_of(tokens_of(text, alike), width_of(tokens)));
}

auto runs(const nb::str& text, std::int64_t tokens, bool alike) {
  return to_numpy(runs_in_order(tokens_of(text, alike), width_of(tokens)));
}

auto places(const nb::str& text) {
  return to_numpy(with_points(text, [](auto points) { return token_places(points); }));
}

template <typename Value>
using Array = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Runs = Array<std::uint64_t>;

template <typename Value>
std::span<const Value> span_of(const Array<Value>& array) {
  return {array.data(), array.size()};
}

void make_seen(SeenRuns* made, const Runs& runs) { new (made) SeenRuns(span_of(runs)); }

void see(SeenRuns& runs, const nb::str& text, std::int64_t tokens) { runs.see(tokens_of(text), width_of(tokens)); }

void make_shared(SharedRuns* made, const Runs& runs, const Array<std::int64_t>& owners) {
  new (made) SharedRuns(span_of(runs), span_of(owners));
}

// (texts, how many runs of each are shared, how many runs are shared)
nb::tuple shared_with(SharedRuns& runs, const nb::str& text, std::int64_t tokens, bool alike) {
  SharedRuns::Found found = runs.with(tokens_of(text, alike), width_of(tokens));
  return nb::make_tuple(to_numpy(std::move(found.texts)), to_numpy(std::move(found.counts)), found.runs);
}

void make_copies(NearCopies* made, const Runs& runs, const Array<std::int64_t>& lengths, double share) {
  new (made) NearCopies(span_of(runs), span_of(lengths), share);
}

// The numbers of the texts that `text` shares enough with; none if it has fewer than `least` runs.
auto copies_in(NearCopies& copies, const nb::str& text, std::int64_t tokens, std::size_t least) {
  const std::vector<std::uint64_t> runs = runs_of(tokens_of(text), width_of(tokens));
  return to_numpy(runs.size() < least ? std::vector<std::int64_t>() : copies.of(runs));
}

}  // namespace

NB_MODULE(_shingles, module) {
  module.def("shingles", &shingles, nb::arg("text"), nb::arg("tokens"), nb::arg("alike") = false);
  module.def("runs", &runs, nb::arg("text"), nb::arg("tokens"), nb::arg("alike") = false);
  module.def("places", &places, nb::arg("text"));
  nb::class_<SeenRuns>(module, "SeenRuns")
      .def("__init__", &make_seen, nb::arg("runs"))
      .def("see", &see, nb::arg("text"), nb::arg("tokens"))
      .def("seen", [](const SeenRuns& runs) { return to_numpy(runs.seen()); });
  nb::class_<NearCopies>(module, "NearCopies")
      .def("__init__", &make_copies, nb::arg("runs"), nb::arg("lengths"), nb::arg("share"))
      .def("in_text", &copies_in, nb::arg("text"), nb::arg("tokens"), nb::arg("least"));
  nb::class_<SharedRuns>(module, "SharedRuns")
      .def("__init__", &make_shared, nb::arg("runs"), nb::arg("owners"))
      .def("shared_with", &shared_with, nb::arg("text"), nb::arg("tokens"), nb::arg("alike") = false);
}
