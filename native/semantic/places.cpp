#include "places.hpp"

#include <map>

namespace megacpp {
namespace {

struct Bases {
  const ClangApi& api;
  std::vector<CXCursor> found;
};

// What this throws is a lack of memory: no exception may cross libclang's frames, so the worker ends.
VisitResult add_base(CXCursor cursor, CXCursor, void* data) noexcept {
  auto* bases = static_cast<Bases*>(data);
  if (cursor.kind == kind::kBaseSpecifier) {
    const CXCursor base = bases->api.getTypeDeclaration(bases->api.getCursorType(cursor));
    if (!is_null(base)) bases->found.push_back(base);
  }
  return kVisitContinue;
}

bool holds_members(int k) {
  return k == kind::kStruct || k == kind::kUnion || k == kind::kClass || k == kind::kClassTemplate ||
         k == kind::kPartialSpecialization;
}

class Finder {
 public:
  Finder(const ClangApi& api, Entities& entities) : api_(api), entities_(entities) {}

  Places find() {
    // Holders and bases that this adds are looked at in their turn.
    for (std::size_t number = 0; number < entities_.size(); ++number) add(static_cast<std::int32_t>(number));
    return std::move(out_);
  }

 private:
  void add(std::int32_t number) {
    const CXCursor cursor = entities_.cursor(number);
    const CXCursor definition = api_.getCursorDefinition(cursor);
    const bool defined = !is_null(definition);
    const CXCursor shown = defined ? definition : cursor;
    const CXSourceRange extent = api_.getCursorExtent(shown);
    CXFile file = nullptr, last = nullptr;
    unsigned start = 0, end = 0;
    api_.getFileLocation(api_.getRangeStart(extent), &file, nullptr, nullptr, &start);
    api_.getFileLocation(api_.getRangeEnd(extent), &last, nullptr, nullptr, &end);
    const std::int32_t place = file && file == last && start < end ? number_of(file) : kNoFile;
    out_.file.push_back(place);
    out_.start.push_back(start);
    out_.end.push_back(end);
    out_.defined.push_back(defined);
    out_.holder.push_back(kNoEntity);
    if (place == kNoFile) return;
    const CXCursor holder = api_.getCursorSemanticParent(shown);
    if (holds_members(holder.kind)) out_.holder.back() = entities_.referenced(holder);
    if (defined && holds_members(cursor.kind)) add_bases(number, definition);
    if (cursor.kind == kind::kMethod || cursor.kind == kind::kDestructor) add_overridden(number, cursor);
  }

  void add_bases(std::int32_t number, const CXCursor& definition) {
    Bases bases{api_, {}};
    api_.visitChildren(definition, &add_base, &bases);
    for (const CXCursor& base : bases.found) {
      const std::int32_t entity = entities_.referenced(base);
      if (entity != kNoEntity) out_.bases.emplace_back(number, entity);
    }
  }

  void add_overridden(std::int32_t number, const CXCursor& method) {
    CXCursor* found = nullptr;
    unsigned count = 0;
    api_.getOverriddenCursors(method, &found, &count);
    for (unsigned index = 0; index < count; ++index) {
      const std::int32_t entity = entities_.referenced(found[index]);
      if (entity != kNoEntity) out_.overrides.emplace_back(number, entity);
    }
    if (found) api_.disposeOverriddenCursors(found);
  }

  std::int32_t number_of(CXFile file) {
    const std::string& path = entities_.tree_path(file);
    if (path.empty()) return kNoFile;
    const auto [slot, fresh] = numbers_.try_emplace(path, static_cast<std::int32_t>(out_.files.size()));
    if (fresh) out_.files.push_back(path);
    return slot->second;
  }

  const ClangApi& api_;
  Entities& entities_;
  std::map<std::string, std::int32_t> numbers_;
  Places out_;
};

}  // namespace

Places find_places(const ClangApi& api, Entities& entities) { return Finder(api, entities).find(); }

}  // namespace megacpp
