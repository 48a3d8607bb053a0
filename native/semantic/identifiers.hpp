// Identifier tokens of a text, and hashes of their spellings.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ranges.hpp"

namespace megacpp {

struct Words {
  std::vector<std::int64_t> starts, ends;
};

// The maximal runs of word characters (any byte over ASCII is one) that begin with no digit.
Words find_words(std::string_view code);

// The hash of each range of `text`, 0 of an empty one; std::invalid_argument for a range outside it.
std::vector<std::uint64_t> hash_spans(std::string_view text, Offsets starts, Offsets ends);

// The hash of the identifier token that stands for an entity: without template arguments and tilde.
std::uint64_t hash_name(std::string_view spelling);

// Whether a spelling is `operator…`.
bool is_operator(std::string_view spelling);

}  // namespace megacpp
