// The cursors of a translation unit's main file, as parallel arrays in pre-order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clang_api.hpp"
#include "entities.hpp"
#include "inclusions.hpp"
#include "unit.hpp"

namespace megacpp {

// `declares` and `uses` are numbers of entities, kNoEntity for none.
struct CursorArrays {
  std::vector<std::uint16_t> kind, depth, sibling;
  std::vector<std::uint32_t> start, end;
  std::vector<std::int32_t> parent, declares, uses;
  std::vector<std::uint8_t> flags;
};

constexpr std::uint8_t kFlagDefinition = 1, kFlagOverloaded = 2;

// Adds to `entities` all that the cursors name, to `inclusions` every directive met; throws std::runtime_error beyond
// `cursor_limit` cursors.
CursorArrays walk(const ClangApi& api, CXTranslationUnit unit, const MainFile& main_file, Entities& entities,
                  InclusionGraph& inclusions, std::size_t cursor_limit);

}  // namespace megacpp
