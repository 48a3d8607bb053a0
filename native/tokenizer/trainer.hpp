// Byte-pair merges from word counts, in the exact order of HuggingFace's BpeTrainer 0.23, with 64-bit counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "word_table.hpp"

namespace megacpp {

struct TrainOptions {
  std::uint64_t new_tokens = 0;               // stop after this many merges whose product is a new, unknown string
  std::int64_t min_count = 1;                 // stop before a pair seen less often
  std::unordered_set<std::string> known;      // products that already have an id elsewhere: merged, not counted as new
  std::unordered_set<std::string> forbidden;  // products that must not exist: their pair is dropped
};

// Merges in order. Ids are the trainer's own: 0-255 the bytes in code point order of the byte-level alphabet, then one
// per merge, unless the product string exists already.
struct TrainResult {
  std::vector<std::uint32_t> left, right, product;
  std::vector<std::int64_t> counts;
  std::int64_t largest_count = 0;  // of any pair at any time
  std::uint64_t dropped = 0;       // pairs with a forbidden product
};

using TrainProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

TrainResult train(const WordTable<std::int64_t>& words, const TrainOptions& options, const TrainProgress& progress);

// Trainer id of `byte`.
std::uint32_t alphabet_id(Byte byte);

}  // namespace megacpp
