// The Python extension `megacpp_assets.versions._lines`.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "../arrays/to_numpy.hpp"
#include "lines.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::string_view view(const nb::bytes& text) { return {text.c_str(), text.size()}; }

Lines lines(const nb::bytes& text, const Starts& starts) {
  const std::span<const std::int64_t> places(starts.data(), starts.size());
  if (places.empty() || places.front() != 0 || places.back() != static_cast<std::int64_t>(text.size()))
    throw std::invalid_argument("line starts of this text, and its end");
  for (std::size_t line = 1; line < places.size(); ++line)
    if (places[line] <= places[line - 1]) throw std::invalid_argument("line starts in order");
  return {view(text), places};
}

auto starts_of(const nb::bytes& text) { return to_numpy(line_starts(view(text))); }

// Four numbers for each block.
auto changes(const nb::bytes& pre, const Starts& pre_starts, const nb::bytes& post, const Starts& post_starts) {
  std::vector<std::int64_t> flat;
  for (const Block& block : changed_blocks(lines(pre, pre_starts), lines(post, post_starts)))
    flat.insert(flat.end(), {block.pre_first, block.pre_end, block.post_first, block.post_end});
  return to_numpy(std::move(flat));
}

}  // namespace

NB_MODULE(_lines, module) {
  module.def("line_starts", &starts_of, nb::arg("text"));
  module.def("changed_blocks", &changes, nb::arg("pre"), nb::arg("pre_starts"), nb::arg("post"),
             nb::arg("post_starts"));
}
