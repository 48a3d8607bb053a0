// Which files a parse read, and who includes whom.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "clang_api.hpp"
#include "entities.hpp"

namespace megacpp {

// One file includes another; paths inside the tree are relative, all others as libclang names them.
using Inclusion = std::pair<std::string, std::string>;

// Who includes whom, over all files read. Not the same as the files that were entered: one that is in a precompiled
// header, or was read before, is not entered again.
class InclusionGraph {
 public:
  InclusionGraph(const ClangApi& api, const Entities& entities) : api_(api), entities_(entities) {}

  void add(const CXCursor& directive);
  // All directives among the top-level cursors of `unit`.
  void add_all(CXTranslationUnit unit);
  std::vector<Inclusion> names() const;

 private:
  const ClangApi& api_;
  const Entities& entities_;
  std::set<std::pair<CXFile, CXFile>> edges_;
};

// Names of the files that were entered, the main file too, ascending.
std::vector<std::string> included_files(const ClangApi& api, const Entities& entities, CXTranslationUnit unit);

}  // namespace megacpp
