// The lines of a text, and the blocks of lines by which two texts differ: what megacpp_assets/versions/patches.py says.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace megacpp {

// The start of each line of `text`, then its end.
std::vector<std::int64_t> line_starts(std::string_view text);

// A text and its line starts. A line has its line end, if there is one.
struct Lines {
  std::string_view text;
  std::span<const std::int64_t> starts;

  std::int64_t count() const { return static_cast<std::int64_t>(starts.size()) - 1; }
  std::string_view line(std::int64_t number) const {
    const auto place = static_cast<std::size_t>(number);
    const auto start = static_cast<std::size_t>(starts[place]);
    return text.substr(start, static_cast<std::size_t>(starts[place + 1]) - start);
  }
};

// Lines [pre_first, pre_end) of one text stand where the other one has [post_first, post_end). One of them may be empty.
struct Block {
  std::int64_t pre_first, pre_end, post_first, post_end;
};

// The blocks, ascending; between them the texts have the same lines.
std::vector<Block> changed_blocks(const Lines& pre, const Lines& post);

}  // namespace megacpp
