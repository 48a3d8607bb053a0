// One parse of one file: the cursors of the main file, and what surrounds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clang_api.hpp"
#include "entities.hpp"
#include "inclusions.hpp"
#include "places.hpp"
#include "unit.hpp"
#include "walk.hpp"

namespace megacpp {

struct ParseResult {
  CursorArrays cursors;  // `declares` and `uses` are rows of `entities`
  std::vector<Entity> entities;
  std::optional<Places> places;  // by rows of `entities`, where they were asked for
  Errors errors;
  std::vector<std::string> includes;  // files read, the main file too; not those inside a precompiled header
  std::vector<Inclusion> inclusions;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> skipped_ranges;
};

// Parses `path` with `arguments`, for the cursors of `file`: `path` itself or a file that it includes. Throws
// std::runtime_error when libclang gives nothing, did not read `file`, or beyond `cursor_limit`.
ParseResult parse_file(const ClangApi& api, const std::string& path, const std::string& file,
                       const std::vector<std::string>& arguments, unsigned flags, std::size_t cursor_limit,
                       bool with_places = false);

struct HeaderResult {
  Errors errors;
  std::vector<std::string> includes;
  std::vector<Inclusion> inclusions;
};

// Writes a precompiled header of `path` to `output`.
HeaderResult precompile(const ClangApi& api, const std::string& path, const std::vector<std::string>& arguments,
                        unsigned flags, const std::string& output);

}  // namespace megacpp
