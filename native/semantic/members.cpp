#include "members.hpp"

#include <cctype>

#include "lexer.hpp"

namespace megacpp {
namespace {

constexpr int kMaxBases = 8;
constexpr int kMaxTypes = 32;
constexpr std::string_view kTemplate = "template";
const std::vector<CXCursor> kNoCursors;

using Children = std::vector<CXCursor>;

// What this throws is a lack of memory: no exception may cross libclang's frames, so the worker ends.
VisitResult keep(CXCursor cursor, CXCursor, void* data) noexcept {
  static_cast<Children*>(data)->push_back(cursor);
  return kVisitContinue;
}

Children children_of(const ClangApi& api, const CXCursor& cursor) {
  Children children;
  api.visitChildren(cursor, &keep, &children);
  return children;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

bool is_expression(int k) { return k >= kind::kFirstExpression && k <= kind::kLastExpression; }

bool is_member(int k) {
  return k == kind::kMethod || k == kind::kFunctionTemplate || k == kind::kField || k == kind::kVariable;
}

// `a.template f<int>` -> `f`, where it stands in the text; nothing of what is not written as a name.
std::string_view last_name(std::string_view text) {
  std::size_t end = text.size();
  if (end && text[end - 1] == '>') {
    int open = 0;
    do {
      --end;
      if (text[end] == '>') ++open;
      if (text[end] == '<') --open;
    } while (end && open);
    end = trimmed(text.substr(0, end)).size();
  }
  std::size_t start = end;
  while (start && is_word(text[start - 1])) --start;
  if (start == end || std::isdigit(static_cast<unsigned char>(text[start]))) return {};
  return text.substr(start, end - start);
}

}  // namespace

const std::vector<CXCursor>& Members::find(const CXCursor& expression, std::string_view text) {
  if (expression.kind == kind::kCall) {
    const Children children = children_of(api_, expression);
    if (children.empty() || !is_reference(children.front().kind)) return kNoCursors;
    const CXCursor built = class_of(api_.getCursorType(expression), false);
    return is_class(built.kind) ? named(built, "", 0) : kNoCursors;
  }
  const std::string_view name = last_name(text);
  if (name.empty()) return kNoCursors;
  const CXCursor found = holder(expression, text, name);
  return is_class(found.kind) ? named(found, std::string(name), 0) : kNoCursors;
}

// The class whose member `object.name` or `Type<T>::name` is.
CXCursor Members::holder(const CXCursor& expression, std::string_view text, std::string_view name) {
  CXCursor nothing{};
  const Children children = children_of(api_, expression);
  if (children.empty()) return nothing;
  std::string_view before = text.substr(0, static_cast<std::size_t>(name.data() - text.data()));
  if (before = trimmed(before); before.ends_with(kTemplate))
    before = trimmed(before.substr(0, before.size() - kTemplate.size()));
  if (is_expression(children.front().kind)) {
    const bool arrow = before.ends_with("->");
    return class_of(type_of(children.front(), before.substr(0, before.size() - (arrow ? 2 : 1))), arrow);
  }
  if (!before.ends_with("::")) return nothing;
  before.remove_suffix(2);
  const bool is_instance = before.ends_with('>');
  CXCursor chosen = nothing;
  for (const CXCursor& child : children) {
    if (is_instance && child.kind == kind::kTemplateRef) {
      chosen = child;
      break;
    }
    if (!is_instance && child.kind == kind::kTypeRef) chosen = child;
  }
  if (chosen.kind == 0) return nothing;
  const CXCursor target = api_.getCursorReferenced(chosen);
  return is_class(target.kind) ? target : class_of(api_.getCursorType(target), false);
}

// The type of an expression; of one that depends on parameters, that of the member which it names.
CXType Members::type_of(const CXCursor& expression, std::string_view text) {
  const CXType type = api_.getCursorType(expression);
  if (type.kind != type_kind::kDependent || expression.kind != kind::kMemberRef) return type;
  const auto& members = find(expression, text);
  return members.size() == 1 && members.front().kind == kind::kField ? api_.getCursorType(members.front()) : type;
}

CXCursor Members::class_of(CXType type, bool through_pointer) const {
  for (int step = 0; step < kMaxTypes; ++step) {
    if (type.kind == type_kind::kLValueReference || type.kind == type_kind::kRValueReference) {
      type = api_.getPointeeType(type);
    } else if (type.kind == type_kind::kPointer) {
      if (!through_pointer) break;
      through_pointer = false;
      type = api_.getPointeeType(type);
    } else {
      const CXCursor declaration = api_.getTypeDeclaration(type);
      if (declaration.kind != kind::kTypedef && declaration.kind != kind::kTypeAlias) {
        return through_pointer ? CXCursor{} : declaration;
      }
      type = api_.getTypedefDeclUnderlyingType(declaration);
    }
  }
  return {};
}

// Members of `holder` called `name`, or else of its bases; its constructors for no name.
const std::vector<CXCursor>& Members::named(const CXCursor& holder, const std::string& name, int depth) {
  const auto [slot, fresh] = known_.try_emplace({holder.data[0], name});
  if (!fresh) return slot->second;
  const CXCursor definition = api_.getCursorDefinition(holder);
  const Children children = children_of(api_, is_class(definition.kind) ? definition : holder);
  std::vector<CXCursor> found;
  for (const CXCursor& child : children) {
    const bool fits = name.empty() ? child.kind == kind::kConstructor
                                   : is_member(child.kind) && api_.take(api_.getCursorSpelling(child)) == name;
    if (fits) found.push_back(child);
  }
  for (const CXCursor& child : children) {
    if (!found.empty() || name.empty() || depth >= kMaxBases) break;
    if (child.kind != kind::kBaseSpecifier) continue;
    const CXCursor base = class_of(api_.getCursorType(child), false);
    if (is_class(base.kind)) found = named(base, name, depth + 1);
  }
  return slot->second = std::move(found);
}

}  // namespace megacpp
