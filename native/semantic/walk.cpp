#include "walk.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "members.hpp"

namespace megacpp {
namespace {

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

// Where the last outermost cursor of a fragment begins, and whether its first inclusion is over.
struct Progress {
  unsigned offset = 0;
  bool over = false;
};

class Walker {
 public:
  Walker(const ClangApi& api, const MainFile& main_file, Entities& entities, InclusionGraph& inclusions,
         CursorArrays& out, std::size_t limit)
      : api_(api),
        main_file_(main_file.file),
        includer_(main_file.fragment() ? main_file.unit : nullptr),
        first_(main_file.first),
        size_(main_file.size),
        text_(main_file.text),
        entities_(entities),
        members_(api),
        inclusions_(inclusions),
        out_(out),
        limit_(limit) {}

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
    Place start = place(api_.getRangeStart(extent));
    Place end = place(api_.getRangeEnd(extent));
    std::int32_t index = above;
    if (start.file == main_file_ && end.file == main_file_ && end.offset <= start.offset) make_whole(start, end);
    if (start.file == main_file_ && end.file == main_file_ && end.offset > start.offset) {
      if (above < 0 && is_of_later_inclusion(cursor, extent)) return kVisitContinue;
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

  // What begins with an argument of a macro and ends in its body (`test(1)` of `TRY(test)`) seems to end where the macro's
  // use begins: it lies at the whole use, as all that a body makes.
  void make_whole(Place& start, Place& end) const {
    const auto use = macro_uses_.find(end.offset);
    if (use == macro_uses_.end() || use->second <= start.offset) return;
    start.offset = end.offset;
    end.offset = use->second;
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
      if (level.kind != kind::kBaseSpecifier &&
          place(api_.getRangeStart(outer)).offset <= place(api_.getRangeStart(inner)).offset &&
          place(api_.getRangeEnd(inner)).offset <= place(api_.getRangeEnd(outer)).offset) {
        return;
      }
      levels_.pop_back();
    }
  }

  // Most top-level cursors belong to headers: decide by one location. A scope may be opened in a header and closed here.
  bool touches_main_file(const CXCursor& cursor) {
    const CXFile file = place(api_.getCursorLocation(cursor)).file;
    if (file == main_file_ || (includer_ && file == includer_)) return true;
    if (cursor.kind != kind::kNamespace && cursor.kind != kind::kLinkageSpec) return false;
    const CXSourceRange extent = api_.getCursorExtent(cursor);
    return place(api_.getRangeStart(extent)).file != place(api_.getRangeEnd(extent)).file;
  }

  // Of what macros make, no place tells which inclusion of a fragment it belongs to; but the first one comes first, and
  // is over where a macro is used in front of the one before. What is written there has a place of its own: the name of
  // `typedef struct box { } box;` comes after its struct, and begins before it.
  bool is_of_later_inclusion(const CXCursor& cursor, const CXSourceRange& extent) {
    const CXSourceLocation start = api_.getRangeStart(extent);
    if (!includer_ || !(start.int_data & kMacroBit)) return false;
    Progress& progress = progress_[is_preprocessing(cursor.kind)];
    unsigned offset = 0;
    api_.getExpansionLocation(start, nullptr, nullptr, nullptr, &offset);
    progress.over |= offset < progress.offset;
    progress.offset = offset;
    return progress.over;
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
    const bool written = !(location.int_data & kMacroBit);
    if (includer_ && size_ && written && result.file == main_file_ && location.int_data - first_ > size_)
      result.file = nullptr;  // a later inclusion of the fragment
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
    if (cursor.kind == kind::kMacroInstantiation) macro_uses_[start.offset] = end.offset;
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
    if (is_null(target)) return refer_by_name(cursor, index);
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

  // In a template: a member of a type that depends on the parameters, and what is built of such a type.
  void refer_by_name(const CXCursor& cursor, std::int32_t index) {
    if (cursor.kind != kind::kMemberRef && cursor.kind != kind::kCall) return;
    const std::string_view text = text_.substr(out_.start[index], out_.end[index] - out_.start[index]);
    const std::vector<CXCursor>& candidates = members_.find(cursor, text);
    if (candidates.empty()) return;
    const std::int32_t call = cursor.kind == kind::kCall ? index : callee_of(index);
    const CXCursor chosen = entities_.choose(candidates, call < 0 ? -1 : arguments_[call]);
    refer_loosely(index, entities_.referenced(chosen));
    const bool calls = chosen.kind != kind::kField && chosen.kind != kind::kVariable;
    if (calls && call >= 0 && out_.uses[call] == kNoEntity) refer_loosely(call, out_.uses[index]);
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
  CXFile includer_;       // the file that is parsed where the main file is a fragment of it, else null
  Progress progress_[2];  // through a fragment, of code and of directives
  unsigned first_;
  unsigned size_;
  std::string_view text_;
  Entities& entities_;
  Members members_;
  InclusionGraph& inclusions_;
  CursorArrays& out_;
  std::size_t limit_;
  std::vector<std::pair<unsigned, Place>> places_{1U << kPlaceBits};  // by raw location; 0 is no place
  std::unordered_map<unsigned, unsigned> macro_uses_;                 // where those of the main file begin and end
  std::vector<Level> levels_;
  std::vector<unsigned> children_;
  std::vector<int> arguments_;
  unsigned top_children_ = 0;
  bool overflow_ = false;
  std::string failure_;
};

}  // namespace

CursorArrays walk(const ClangApi& api, CXTranslationUnit unit, const MainFile& main_file, Entities& entities,
                  InclusionGraph& inclusions, std::size_t cursor_limit) {
  CursorArrays cursors;
  Walker(api, main_file, entities, inclusions, cursors, cursor_limit).walk(api.getTranslationUnitCursor(unit));
  return cursors;
}

}  // namespace megacpp
