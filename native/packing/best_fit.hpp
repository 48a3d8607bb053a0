// Best-fit decreasing of whole documents into rows that are limited in two quantities.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace megacpp {

struct Limits {
  std::int64_t tokens;
  std::int64_t chunks;
};

// Row r holds documents[offsets[r], offsets[r + 1]), ascending.
struct Plan {
  std::vector<std::int64_t> documents;
  std::vector<std::int64_t> offsets;
};

// Plans the rows of fewer than 2^32 documents, each within `limits` by itself. The quantity of which all documents
// together need more rows is packed by: the largest document first, each to a row with the least room that holds it and
// has room for the other quantity too. Which of several equal documents is first, and the order of rows, follow `seed`.
Plan best_fit(std::span<const std::int64_t> tokens, std::span<const std::int64_t> chunks, Limits limits,
              std::uint64_t seed);

}  // namespace megacpp
