#include "walk.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "lexer.hpp"

namespace megacpp {
namespace {

constexpr unsigned kMacroBit = 1U << 31;  // of a raw source location: it lies in a macro expansion
constexpr unsigned kMaxErrors = 1000;
constexpr int kSeverityError = 3;
constexpr int kPlaceBits = 12;

struct Place {
  CXFile file = nullptr;
  unsigned offset = 0;
};

// An ancestor of the cursor being visited; `index` is the nearest emitted one (itself or above), -1 at the top.
// libclang names an initialiser list to its children by another form of it than it visited: `alias`.
struct Level {
  CXCursor cursor;
  CXCursor alias;
  std::int32_t index;
};

// The file that is parsed: the library numbers its bytes from `first` on, as raw locations.
struct MainFile {
  CXFile file = nullptr;
  unsigned first = 0;
  unsigned size = 0;
  std::string_view text;
};

// Who includes whom, over all files read. Not the same as the files that were entered: one that is in a precompiled
// header, or was read before, is not entered again.
class InclusionGraph {
 public:
  InclusionGraph(const ClangApi& api, const Entities& entities) : api_(api), entities_(entities) {}

  void add(const CXCursor& directive) {
    const CXFile included = api_.getIncludedFile(directive);
    CXFile includer = nullptr;
    api_.getFileLocation(api_.getCursorLocation(directive), &includer, nullptr, nullptr, nullptr);
    if (included && includer) edges_.emplace(includer, included);
  }

  std::vector<Inclusion> names() const {
    std::set<Inclusion> names;
    for (const auto& [includer, included] : edges_) {
      names.emplace(entities_.name_of(includer), entities_.name_of(included));
    }
    return {names.begin(), names.end()};
  }

  static VisitResult visit(CXCursor cursor, CXCursor, void* data) {
    if (cursor.kind == kind::kInclusion) static_cast<InclusionGraph*>(data)->add(cursor);
    return kVisitContinue;
  }

 private:
  const ClangApi& api_;
  const Entities& entities_;
  std::set<std::pair<CXFile, CXFile>> edges_;
};

class Walker {
 public:
  Walker(const ClangApi& api, const MainFile& main_file, Entities& entities, CursorArrays& out, std::size_t limit)
      : api_(api),
        main_file_(main_file.file),
        first_(main_file.first),
        size_(main_file.size),
        entities_(entities),
        inclusions_(api, entities),
        out_(out),
        limit_(limit) {}

  const InclusionGraph& inclusions() const { return inclusions_; }

  void walk(CXCursor unit) {
    levels_.push_back({unit, unit, -1});
    api_.visitChildren(unit, &Walker::enter, this);
    if (overflow_) throw std::runtime_error("more cursors than the limit");
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }

 private:
  // No exception may cross libclang's frames.
  static VisitResult enter(CXCursor cursor, CXCursor parent, void* data) {
    auto* self = static_cast<Walker*>(data);
    try {
      return self->visit(cursor, parent);
    } catch (const std::exception& error) {
      self->failure_ = error.what();
      return kVisitBreak;
    }
  }

  VisitResult visit(CXCursor cursor, CXCursor parent) {
    // libclang visits the expression inside a constant expression twice, once as its own parent.
    if (equal(cursor, parent)) return kVisitRecurse;
    climb_to(parent);
    if (cursor.kind == kind::kInclusion) inclusions_.add(cursor);
    if (levels_.size() == 1 && (!touches_main_file(cursor) || is_made_by_compiler(cursor))) return kVisitContinue;
    const std::int32_t above = levels_.back().index;
    const CXSourceRange extent = api_.getCursorExtent(cursor);
    const Place start = place(api_.getRangeStart(extent));
    const Place end = place(api_.getRangeEnd(extent));
    std::int32_t index = above;
    if (start.file == main_file_ && end.file == main_file_ && end.offset > start.offset) {
      if (out_.kind.size() >= limit_) {
        overflow_ = true;
        return kVisitBreak;
      }
      index = emit(cursor, above, start, end);
    }
    if (is_reference(cursor.kind) || is_literal(cursor.kind)) return kVisitContinue;  // these have no children
    levels_.push_back({cursor, cursor, index});
    return kVisitRecurse;
  }

  void climb_to(const CXCursor& parent) {
    for (std::size_t depth = levels_.size(); depth-- > 0;) {
      if (equal(levels_[depth].cursor, parent) || equal(levels_[depth].alias, parent)) {
        levels_.resize(depth + 1);
        return;
      }
    }
    leave_closed_levels(parent);
    levels_.back().alias = parent;
  }

  // The parent was never visited itself (another form of an initialiser list, the initialiser of a lambda's capture):
  // the child belongs to the innermost level that can still be open around that parent.
  void leave_closed_levels(const CXCursor& parent) {
    const CXSourceRange inner = api_.getCursorExtent(parent);
    while (levels_.size() > 1) {
      const CXCursor& level = levels_.back().cursor;
      const CXSourceRange outer = api_.getCursorExtent(level);
      if (level.kind != kind::kBaseSpecifier && place(api_.getRangeStart(outer)).offset <= place(api_.getRangeStart(inner)).offset &&
          place(api_.getRangeEnd(inner)).offset <= place(api_.getRangeEnd(outer)).offset) {
        return;
      }
      levels_.pop_back();
    }
  }

  // Most top-level cursors belong to headers: decide by one location. A scope may be opened in a header and closed here.
  bool touches_main_file(const CXCursor& cursor) {
    const CXFile file = place(api_.getCursorLocation(cursor)).file;
    if (file == main_file_) return true;
    if (cursor.kind != kind::kNamespace && cursor.kind != kind::kLinkageSpec) return false;
    const CXSourceRange extent = api_.getCursorExtent(cursor);
    return place(api_.getRangeStart(extent)).file != place(api_.getRangeEnd(extent)).file;
  }

  // libclang lists an instantiation that constant evaluation needed among the declarations of the file.
  bool is_made_by_compiler(const CXCursor& cursor) const {
    return is_declaration(cursor.kind) && entities_.is_implicit_instance(cursor);
  }

  // The library's own answer, asked only where the bytes leave a doubt.
  bool equal(const CXCursor& a, const CXCursor& b) const {
    if (a.kind != b.kind || a.data[0] != b.data[0]) return false;
    return (a.data[1] == b.data[1] && a.data[2] == b.data[2]) || api_.equalCursors(a, b);
  }

  // Neighbours begin or end at one place, and all that a macro makes lies at one: most places were just asked for.
  Place place(const CXSourceLocation& location) {
    const unsigned offset = location.int_data - first_;
    if (!(location.int_data & kMacroBit) && offset < size_) return {main_file_, offset};
    auto& [raw, known] = places_[(location.int_data * 0x9e3779b1U) >> (32 - kPlaceBits)];
    if (raw != location.int_data) {
      raw = location.int_data;
      known = find_place(location);
    }
    return known;
  }

  // A macro argument lies where it is spelled; what a macro's body makes lies at the invocation.
  Place find_place(const CXSourceLocation& location) const {
    Place result;
    api_.getFileLocation(location, &result.file, nullptr, nullptr, &result.offset);
    return result;
  }

  std::int32_t emit(const CXCursor& cursor, std::int32_t above, const Place& start, const Place& end) {
    const auto index = static_cast<std::int32_t>(out_.kind.size());
    const unsigned sibling = above < 0 ? top_children_++ : children_[above]++;
    out_.kind.push_back(static_cast<std::uint16_t>(cursor.kind));
    out_.start.push_back(start.offset);
    out_.end.push_back(end.offset);
    out_.depth.push_back(above < 0 ? 1 : static_cast<std::uint16_t>(std::min(65535, out_.depth[above] + 1)));
    out_.sibling.push_back(static_cast<std::uint16_t>(std::min(65535U, sibling)));
    out_.parent.push_back(above);
    out_.declares.push_back(kNoEntity);
    out_.uses.push_back(kNoEntity);
    out_.flags.push_back(0);
    children_.push_back(0);
    arguments_.push_back(-1);
    name(cursor, index);
    return index;
  }

  void name(const CXCursor& cursor, std::int32_t index) {
    const int k = cursor.kind;
    if (is_declaration(k) || k == kind::kMacroDefinition) {
      out_.declares[index] = entities_.declared(cursor);
      if (k == kind::kMacroDefinition || api_.isCursorDefinition(cursor)) out_.flags[index] |= kFlagDefinition;
    } else if ((k >= kind::kFirstReference && k <= kind::kLastReference) || k == kind::kMacroInstantiation ||
               (k >= kind::kFirstExpression && k <= kind::kLastExpression && !is_literal(k))) {
      refer(cursor, index);
    }
  }

  void refer(const CXCursor& cursor, std::int32_t index) {
    if (cursor.kind == kind::kCall) arguments_[index] = api_.Cursor_getNumArguments(cursor);
    CXCursor target = cursor.kind == kind::kOverloadedRef ? cursor : api_.getCursorReferenced(cursor);
    if (is_null(target)) return;
    if (target.kind != kind::kOverloadedRef) {
      out_.uses[index] = entities_.referenced(target);
      return;
    }
    const std::int32_t call = callee_of(index);
    target = entities_.choose(target, call < 0 ? -1 : arguments_[call]);
    if (target.kind == kind::kOverloadedRef) return;
    refer_loosely(index, entities_.referenced(target));
    if (call >= 0 && out_.uses[call] == kNoEntity) refer_loosely(call, out_.uses[index]);
  }

  void refer_loosely(std::int32_t index, std::int32_t entity) {
    out_.uses[index] = entity;
    out_.flags[index] |= kFlagOverloaded;
  }

  // The call whose callee the cursor at `index` is (its first child, or that child's first child), else -1.
  std::int32_t callee_of(std::int32_t index) const {
    for (int step = 0; step < 3; ++step) {
      const std::int32_t parent = out_.parent[index];
      if (parent < 0 || out_.sibling[index] != 0) return -1;
      if (out_.kind[parent] == kind::kCall) return parent;
      index = parent;
    }
    return -1;
  }

  const ClangApi& api_;
  CXFile main_file_;
  unsigned first_;
  unsigned size_;
  Entities& entities_;
  InclusionGraph inclusions_;
  CursorArrays& out_;
  std::size_t limit_;
  std::vector<std::pair<unsigned, Place>> places_{1U << kPlaceBits};  // by raw location; 0 is no place
  std::vector<Level> levels_;
  std::vector<unsigned> children_;
  std::vector<int> arguments_;
  unsigned top_children_ = 0;
  bool overflow_ = false;
  std::string failure_;
};

// Owns the index and the translation unit of one parse.
class Unit {
 public:
  Unit(const ClangApi& api, const std::string& path, const std::vector<std::string>& arguments, unsigned flags)
      : api_(api) {
    CXIndexOptions options{};
    options.size = sizeof(options);
    options.store_preambles_in_memory = 1;      // a parse writes no file
    options.exclude_declarations_from_pch = 1;  // they are never the main file's
    index_ = api_.createIndexWithOptions(&options);
    if (!index_) throw std::runtime_error("libclang refuses the index options");
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    const int code = api_.parseTranslationUnit2(index_, path.c_str(), pointers.data(),
                                                static_cast<int>(pointers.size()), nullptr, 0, flags, &unit_);
    if (code != 0 || !unit_) {
      api_.disposeIndex(index_);
      throw std::runtime_error("libclang gives no translation unit, code " + std::to_string(code));
    }
  }
  ~Unit() {
    api_.disposeTranslationUnit(unit_);
    api_.disposeIndex(index_);
  }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  CXTranslationUnit get() const { return unit_; }

 private:
  const ClangApi& api_;
  CXIndex index_ = nullptr;
  CXTranslationUnit unit_ = nullptr;
};

MainFile find_main_file(const ClangApi& api, CXTranslationUnit unit, const std::string& path) {
  MainFile found;
  found.file = api.getFile(unit, path.c_str());
  if (!found.file) throw std::runtime_error("libclang did not read the file");
  std::size_t size = 0;
  const char* text = api.getFileContents(unit, found.file, &size);
  if (text) found.text = {text, size};
  // A location asked for by its offset would cost the library a table of every macro argument in the file.
  const CXSourceRange whole = api.getCursorExtent(api.getTranslationUnitCursor(unit));
  found.first = api.getRangeStart(whole).int_data;
  if (text && size < kMacroBit && found.first != 0 && !(found.first & kMacroBit)) found.size = static_cast<unsigned>(size);
  return found;
}

unsigned count_errors(const ClangApi& api, CXTranslationUnit unit) {
  unsigned errors = 0;
  const unsigned count = api.getNumDiagnostics(unit);
  for (unsigned index = 0; index < count && errors < kMaxErrors; ++index) {
    CXDiagnostic diagnostic = api.getDiagnostic(unit, index);
    if (api.getDiagnosticSeverity(diagnostic) >= kSeverityError) ++errors;
    api.disposeDiagnostic(diagnostic);
  }
  return errors;
}

struct Inclusions {
  const Entities& entities;
  std::vector<std::string> names;
};

void add_inclusion(CXFile file, CXSourceLocation*, unsigned, void* data) {
  auto* inclusions = static_cast<Inclusions*>(data);
  inclusions->names.push_back(inclusions->entities.name_of(file));
}

std::vector<std::string> included_files(const ClangApi& api, const Entities& entities, CXTranslationUnit unit) {
  Inclusions inclusions{entities, {}};
  api.getInclusions(unit, &add_inclusion, &inclusions);
  std::sort(inclusions.names.begin(), inclusions.names.end());
  inclusions.names.erase(std::unique(inclusions.names.begin(), inclusions.names.end()), inclusions.names.end());
  return std::move(inclusions.names);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> skipped(const ClangApi& api, CXTranslationUnit unit, const MainFile& file) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  // To answer, the library reads every range of a precompiled header.
  if (file.text.data() && !may_hold_condition(file.text)) return result;
  CXSourceRangeList* list = api.getSkippedRanges(unit, file.file);
  for (unsigned index = 0; list && index < list->count; ++index) {
    unsigned start = 0;
    unsigned end = 0;
    api.getFileLocation(api.getRangeStart(list->ranges[index]), nullptr, nullptr, nullptr, &start);
    api.getFileLocation(api.getRangeEnd(list->ranges[index]), nullptr, nullptr, nullptr, &end);
    if (end > start) result.emplace_back(start, end);
  }
  if (list) api.disposeSourceRangeList(list);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

ParseResult parse_file(const ClangApi& api, const std::string& path, const std::vector<std::string>& arguments,
                       unsigned flags, std::size_t cursor_limit) {
  const Unit unit(api, path, arguments, flags);
  const MainFile main_file = find_main_file(api, unit.get(), path);
  ParseResult result;
  Entities entities(api);
  Walker walker(api, main_file, entities, result.cursors, cursor_limit);
  walker.walk(api.getTranslationUnitCursor(unit.get()));
  std::vector<std::int32_t> rows;
  std::tie(result.entities, rows) = entities.take_all();
  for (std::vector<std::int32_t>* column : {&result.cursors.declares, &result.cursors.uses}) {
    for (std::int32_t& entity : *column) {
      if (entity != kNoEntity) entity = rows[static_cast<std::size_t>(entity)];
    }
  }
  result.errors = count_errors(api, unit.get());
  result.includes = included_files(api, entities, unit.get());
  result.inclusions = walker.inclusions().names();
  result.skipped_ranges = skipped(api, unit.get(), main_file);
  return result;
}

HeaderResult precompile(const ClangApi& api, const std::string& path, const std::vector<std::string>& arguments,
                        unsigned flags, const std::string& output) {
  const Unit unit(api, path, arguments, flags);
  const Entities entities(api);
  InclusionGraph inclusions(api, entities);
  api.visitChildren(api.getTranslationUnitCursor(unit.get()), &InclusionGraph::visit, &inclusions);
  HeaderResult result{count_errors(api, unit.get()), included_files(api, entities, unit.get()), inclusions.names()};
  const int code = api.saveTranslationUnit(unit.get(), output.c_str(), 0);
  if (code != 0) throw std::runtime_error("libclang cannot save the precompiled header, code " + std::to_string(code));
  return result;
}

}  // namespace megacpp
