// What follows from the ids of a row: targets, loss mask, and where its documents lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace megacpp {

// Ids that say where documents begin and what stands behind the last.
struct Marks {
  std::int32_t bos;
  std::int32_t pad;
};

// Lines of one row, each as long as its ids; of segments also none.
struct DocumentLines {
  std::span<std::int32_t> targets;
  std::span<bool> mask;
  std::span<std::int32_t> documents;
  std::span<std::int32_t> segments;
};

// Writes the lines of a row whose first `valid` ids are of documents. Documents count from 0 (-1 before the first BOS)
// and pads are of the last; segments count from 1 and pads are 0. A token is trained where the next is of its document.
// `ends` gets, from `base` on, where each document ends, and the pads.
inline void write_documents(std::span<const std::int32_t> ids, std::size_t valid, Marks marks, std::size_t base,
                            const DocumentLines& out, std::vector<std::int32_t>& ends) {
  if (ids.empty()) return;
  std::copy(ids.begin() + 1, ids.end(), out.targets.begin());
  out.targets.back() = marks.pad;
  std::int32_t document = ids.front() == marks.bos ? 0 : -1;
  std::int32_t segment = 1;
  const auto last = ids.begin() + static_cast<std::ptrdiff_t>(valid);
  for (std::size_t begin = 0; begin < valid; ++document, ++segment) {
    const auto next = std::find(ids.begin() + static_cast<std::ptrdiff_t>(begin) + 1, last, marks.bos);
    const std::size_t tokens = static_cast<std::size_t>(next - ids.begin()) - begin;
    std::ranges::fill(out.documents.subspan(begin, tokens), document);
    if (!out.segments.empty()) std::ranges::fill(out.segments.subspan(begin, tokens), segment);
    std::ranges::fill(out.mask.subspan(begin, tokens - 1), true);
    begin += tokens;
    out.mask[begin - 1] = false;
    ends.push_back(static_cast<std::int32_t>(base + begin));
  }
  std::ranges::fill(out.documents.subspan(valid), valid == 0 ? -1 : document - 1);
  if (!out.segments.empty()) std::ranges::fill(out.segments.subspan(valid), 0);
  std::ranges::fill(out.mask.subspan(valid), false);
  if (valid < ids.size()) ends.push_back(static_cast<std::int32_t>(base + ids.size()));
}

}  // namespace megacpp
