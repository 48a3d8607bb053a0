// One parse of one file: the cursors of the main file as parallel arrays, and what surrounds them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "clang_api.hpp"
#include "entities.hpp"

namespace megacpp {

// `declares` and `uses` are rows of the entities, kNoEntity for none.
struct CursorArrays {
  std::vector<std::uint16_t> kind, depth, sibling;
  std::vector<std::uint32_t> start, end;
  std::vector<std::int32_t> parent, declares, uses;
  std::vector<std::uint8_t> flags;
};

// One file includes another; paths inside the tree are relative, all others as libclang names them.
using Inclusion = std::pair<std::string, std::string>;

struct ParseResult {
  CursorArrays cursors;
  std::vector<Entity> entities;
  unsigned errors = 0;
  std::vector<std::string> includes;  // files read, the main file too; not those inside a precompiled header
  std::vector<Inclusion> inclusions;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> skipped_ranges;
};

constexpr std::uint8_t kFlagDefinition = 1, kFlagOverloaded = 2;

// Parses `path` with `arguments`; throws std::runtime_error when libclang gives nothing, or beyond `cursor_limit`.
ParseResult parse_file(const ClangApi& api, const std::string& path, const std::vector<std::string>& arguments,
                       unsigned flags, std::size_t cursor_limit);

struct HeaderResult {
  unsigned errors = 0;
  std::vector<std::string> includes;
  std::vector<Inclusion> inclusions;
};

// Writes a precompiled header of `path` to `output`.
HeaderResult precompile(const ClangApi& api, const std::string& path, const std::vector<std::string>& arguments,
                unsigned flags, const std::string& output);

}  // namespace megacpp
