// Lists of whole numbers in JSON, read into arrays of a fixed width.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace megacpp {

template <typename Value>
struct List {
  std::vector<Value> values;
  std::size_t end;  // behind its closing bracket
};

// The list `[1,2,3]` that begins at `at` of `json`, which has no white space in it; nothing where another thing stands
// there, or a number that is no `Value`.
template <typename Value>
std::optional<List<Value>> read_list(std::string_view json, std::size_t at);

}  // namespace megacpp
