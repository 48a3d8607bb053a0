#include "inclusions.hpp"

#include <algorithm>

namespace megacpp {
namespace {

// What these two throw is a lack of memory: no exception may cross libclang's frames, so the worker ends.
VisitResult add_directive(CXCursor cursor, CXCursor, void* data) noexcept {
  if (cursor.kind == kind::kInclusion) static_cast<InclusionGraph*>(data)->add(cursor);
  return kVisitContinue;
}

struct Inclusions {
  const Entities& entities;
  std::vector<std::string> names;
};

void add_inclusion(CXFile file, CXSourceLocation*, unsigned, void* data) noexcept {
  auto* inclusions = static_cast<Inclusions*>(data);
  inclusions->names.push_back(inclusions->entities.name_of(file));
}

}  // namespace

void InclusionGraph::add(const CXCursor& directive) {
  const CXFile included = api_.getIncludedFile(directive);
  CXFile includer = nullptr;
  api_.getFileLocation(api_.getCursorLocation(directive), &includer, nullptr, nullptr, nullptr);
  if (included && includer) edges_.emplace(includer, included);
}

void InclusionGraph::add_all(CXTranslationUnit unit) {
  api_.visitChildren(api_.getTranslationUnitCursor(unit), &add_directive, this);
}

std::vector<Inclusion> InclusionGraph::names() const {
  std::set<Inclusion> names;
  for (const auto& [includer, included] : edges_) {
    names.emplace(entities_.name_of(includer), entities_.name_of(included));
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> included_files(const ClangApi& api, const Entities& entities, CXTranslationUnit unit) {
  Inclusions inclusions{entities, {}};
  api.getInclusions(unit, &add_inclusion, &inclusions);
  std::sort(inclusions.names.begin(), inclusions.names.end());
  inclusions.names.erase(std::unique(inclusions.names.begin(), inclusions.names.end()), inclusions.names.end());
  return std::move(inclusions.names);
}

}  // namespace megacpp
