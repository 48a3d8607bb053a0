// One parse by libclang, and what it tells of the file as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clang_api.hpp"

namespace megacpp {

constexpr unsigned kMacroBit = 1U << 31;  // of a raw source location: it lies in a macro expansion

// Owns the index and the translation unit of one parse; throws std::runtime_error when libclang gives none.
class Unit {
 public:
  Unit(const ClangApi& api, const std::string& path, const std::vector<std::string>& arguments, unsigned flags);
  ~Unit();
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  CXTranslationUnit get() const { return unit_; }

 private:
  const ClangApi& api_;
  CXIndex index_ = nullptr;
  CXTranslationUnit unit_ = nullptr;
};

// The file whose cursors are wanted: the library numbers its bytes from `first` on, as raw locations. A `fragment` is
// not the unit's main file but one that it includes, which may be more than once: the first inclusion counts.
struct MainFile {
  CXFile file = nullptr;
  CXFile unit = nullptr;
  unsigned first = 0;
  unsigned size = 0;
  std::string_view text;

  bool fragment() const { return file != unit; }
};

// The file at `path` in the unit of the main file at `main`, which may be the same; throws std::runtime_error if libclang
// did not read it.
MainFile find_main_file(const ClangApi& api, CXTranslationUnit unit, const std::string& main, const std::string& path);

// `all` diagnostics that are errors, those of them that say that an included file is `missing`, and the message of the
// `first`.
struct Errors {
  unsigned all = 0;
  unsigned missing = 0;
  std::string first;
};

// Counting ends at a thousand.
Errors count_errors(const ClangApi& api, CXTranslationUnit unit);

// Ascending byte ranges of `file` that the preprocessor dropped.
std::vector<std::pair<std::uint32_t, std::uint32_t>> skipped_ranges(const ClangApi& api, CXTranslationUnit unit,
                                                                    const MainFile& file);

}  // namespace megacpp
