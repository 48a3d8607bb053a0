// Where the entities of a unit stand in the tree, and how classes and their members are related.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "clang_api.hpp"
#include "entities.hpp"

namespace megacpp {

constexpr std::int32_t kNoFile = -1;

// Of each entity, by its number: the file (a number of `files`, kNoFile outside of the tree), the bytes [start, end)
// of its definition if the unit has it, else of its first declaration, and the class that holds it (kNoEntity if none).
struct Places {
  std::vector<std::int32_t> file, holder;
  std::vector<std::uint32_t> start, end;
  std::vector<std::uint8_t> defined;
  std::vector<std::string> files;
  // (class, direct base) and (method, method of a base that it overrides), as numbers of entities.
  std::vector<std::pair<std::int32_t, std::int32_t>> bases, overrides;
};

// Adds to `entities` the holders, bases and overridden methods of those that stand in the tree.
Places find_places(const ClangApi& api, Entities& entities);

}  // namespace megacpp
