#include "entities.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace megacpp {
namespace {

constexpr int kMaxNesting = 64;
constexpr unsigned kMaxCandidates = 256;
constexpr std::size_t kMaxName = 4096;

std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

// "(lambda at include/a.h:3:1)" -> "(lambda)": a name must not hold a place.
std::string without_places(std::string name) {
  std::size_t from = 0;
  while ((from = name.find(" at ", from)) != std::string::npos) {
    const std::size_t open = name.rfind('(', from);
    const std::size_t close = name.find(')', from);
    if (open == std::string::npos || close == std::string::npos) break;
    name.erase(from, close - from);
  }
  if (name.size() > kMaxName) name.resize(kMaxName);
  for (char& byte : name) {
    if (static_cast<unsigned char>(byte) < 0x20) byte = ' ';
  }
  return name;
}

bool is_library_version(const std::string& name) {
  return name == "__1" || name == "__2" || name == "__3" || name == "__cxx11";
}

// Members that libclang does not lead back to their template by itself.
bool is_plain_member(int k) {
  return k == kind::kField || k == kind::kEnumConstant || k == kind::kTypedef || k == kind::kTypeAlias ||
         k == kind::kVariable || k == kind::kEnum;
}

}  // namespace

std::uint64_t hash_text(const std::string& text) {
  std::uint64_t state = 0xcbf29ce484222325ULL;
  for (const char byte : text) state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  const std::uint64_t hash = mix(state);
  return hash ? hash : 1;
}

std::uint64_t check_text(const std::string& text) {
  std::uint64_t state = text.size();
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    state = mix(state + 0x9e3779b97f4a7c15ULL + word);
  }
  return state ? state : 1;
}

Entities::Entities(const ClangApi& api) : api_(api), root_(std::filesystem::current_path()) {}

std::int32_t Entities::declared(CXCursor declaration) { return known(declaration); }

std::int32_t Entities::referenced(CXCursor target) {
  const auto seen = referenced_.find(target.data[0]);
  if (seen != referenced_.end()) return seen->second;
  const std::int32_t entity = known(primary(target));
  referenced_.emplace(target.data[0], entity);
  return entity;
}

// One object of libclang's stands for one declaration, and the first of those that declare the same for all: the USRs of
// `int f(int)` and of its definition `int f(const int)` differ.
std::int32_t Entities::known(CXCursor cursor) {
  const auto seen = known_.find(cursor.data[0]);
  if (seen != known_.end()) return seen->second;
  const CXCursor first = api_.getCanonicalCursor(cursor);
  const std::int32_t entity = first.data[0] == cursor.data[0] ? remember(cursor) : known(first);
  known_.emplace(cursor.data[0], entity);
  return entity;
}

std::pair<std::vector<Entity>, std::vector<std::int32_t>> Entities::take_all() {
  std::vector<std::int32_t> order(entities_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return entities_[a].usr < entities_[b].usr; });
  std::vector<Entity> sorted;
  sorted.reserve(order.size());
  std::vector<std::int32_t> row(order.size());
  for (const std::int32_t number : order) {
    row[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(sorted.size());
    sorted.push_back(std::move(entities_[static_cast<std::size_t>(number)]));
  }
  entities_.clear();
  cursors_.clear();
  by_usr_.clear();
  return {std::move(sorted), std::move(row)};
}

CXCursor Entities::choose(CXCursor overloads, int arguments) const {
  const unsigned count = std::min(api_.getNumOverloadedDecls(overloads), kMaxCandidates);
  std::vector<CXCursor> candidates;
  candidates.reserve(count);
  for (unsigned index = 0; index < count; ++index) candidates.push_back(api_.getOverloadedDecl(overloads, index));
  return candidates.empty() ? overloads : choose(candidates, arguments);
}

// Candidates come in no stable order (it changes with precompiled headers): ties go to the first place in path order.
CXCursor Entities::choose(const std::vector<CXCursor>& candidates, int arguments) const {
  CXCursor best = candidates.front();
  std::optional<std::tuple<int, std::string, unsigned>> best_rank;
  for (const CXCursor& candidate : candidates) {
    const int parameters = api_.Cursor_getNumArguments(candidate);
    CXFile file = nullptr;
    unsigned offset = 0;
    api_.getFileLocation(api_.getCursorLocation(candidate), &file, nullptr, nullptr, &offset);
    const std::string path = file ? tree_path(file) : "";
    int misfit = path.empty() ? 1 : 0;
    if (arguments < 0 || parameters < 0)
      misfit += 2;
    else if (parameters != arguments)
      misfit += 4;
    std::tuple<int, std::string, unsigned> rank{misfit, path.empty() && file ? base_name(file) : path, offset};
    if (!best_rank || rank < *best_rank) {
      best = candidate;
      best_rank = std::move(rank);
    }
  }
  return best;
}

std::string Entities::name_of(CXFile file) const {
  const std::string& inside = tree_path(file);
  return inside.empty() ? api_.take(api_.getFileName(file)) : inside;
}

std::string Entities::base_name(CXFile file) const {
  return std::filesystem::path(api_.take(api_.getFileName(file))).filename().string();
}

const std::string& Entities::tree_path(CXFile file) const {
  auto [slot, fresh] = tree_paths_.try_emplace(file);
  if (fresh) {
    // A header that comes out of a precompiled one has its absolute name.
    auto path = std::filesystem::path(api_.take(api_.getFileName(file))).lexically_normal();
    if (path.is_absolute()) path = path.lexically_relative(root_);
    if (path.is_relative() && !path.empty() && *path.begin() != "..") slot->second = path.string();
  }
  return slot->second;
}

// An explicit specialisation has a place of its own; an implicit instantiation has its template's.
bool Entities::same_place(CXCursor instance, CXCursor pattern) const {
  const unsigned place = api_.getCursorLocation(instance).int_data;
  if (api_.getCursorLocation(pattern).int_data == place) return true;
  if (api_.getCursorLocation(api_.getCanonicalCursor(pattern)).int_data == place) return true;
  const CXCursor definition = api_.getCursorDefinition(pattern);
  return !is_null(definition) && api_.getCursorLocation(definition).int_data == place;
}

bool Entities::is_implicit_instance(CXCursor declaration) const {
  const CXCursor pattern = api_.getSpecializedCursorTemplate(declaration);
  return !is_null(pattern) && same_place(declaration, pattern);
}

CXCursor Entities::primary(CXCursor cursor) const {
  for (int step = 0; step < kMaxNesting; ++step) {
    const CXCursor pattern = api_.getSpecializedCursorTemplate(cursor);
    if (is_null(pattern) || !same_place(cursor, pattern)) break;
    cursor = pattern;
  }
  return cursor;
}

std::string Entities::identity(CXCursor cursor) {
  std::string usr = template_usr(cursor, 0);
  return usr.size() <= 2 ? "" : with_file(cursor, std::move(usr));
}

// The USR, in which a member of an implicit instantiation is the template's member of the same name.
std::string Entities::template_usr(CXCursor cursor, int depth) {
  std::string usr = api_.take(api_.getCursorUSR(cursor));
  if (depth >= kMaxNesting || !is_plain_member(cursor.kind)) return usr;
  const CXCursor parent = api_.getCursorSemanticParent(cursor);
  if (!is_class(parent.kind) && parent.kind != kind::kEnum) return usr;
  const HolderUsr& holder = holder_usr(parent, depth + 1);
  if (usr.compare(0, holder.instance.size(), holder.instance) != 0) return usr;
  return holder.pattern + usr.substr(holder.instance.size());
}

const Entities::HolderUsr& Entities::holder_usr(CXCursor holder, int depth) {
  const auto seen = holder_usrs_.find(holder.data[0]);
  if (seen != holder_usrs_.end()) return seen->second;
  HolderUsr usrs{api_.take(api_.getCursorUSR(holder)), template_usr(primary(holder), depth)};
  return holder_usrs_.emplace(holder.data[0], std::move(usrs)).first->second;
}

// libclang writes a file's base name into the USR of what only that file can see; two files may share that name.
std::string Entities::with_file(CXCursor cursor, std::string usr) const {
  if (usr[2] == '@') return usr;
  CXFile file = nullptr;
  api_.getFileLocation(api_.getCursorLocation(cursor), &file, nullptr, nullptr, nullptr);
  if (file && !tree_path(file).empty()) usr.append(1, '\n').append(tree_path(file));
  return usr;
}

const std::string& Entities::scope(CXCursor parent, int depth) {
  static const std::string outermost;
  if (depth > kMaxNesting || is_null(parent) || parent.kind == kind::kTranslationUnit) return outermost;
  const auto known = scopes_.find(parent.data[0]);
  if (known != scopes_.end()) return known->second;
  std::string text = scope(api_.getCursorSemanticParent(parent), depth + 1);
  if (parent.kind != kind::kLinkageSpec && parent.kind != kind::kUnexposedDecl) {
    const std::string name = without_places(api_.take(api_.getCursorSpelling(parent)));
    if (!is_library_version(name)) text += (name.empty() ? "(anonymous)" : name) + "::";
  }
  return scopes_.emplace(parent.data[0], std::move(text)).first->second;
}

std::int32_t Entities::remember(CXCursor cursor) {
  const std::string text = identity(cursor);
  if (text.empty()) return kNoEntity;
  const std::uint64_t usr = hash_text(text);
  const std::uint64_t check = check_text(text);
  const auto [slot, fresh] = by_usr_.try_emplace(usr, static_cast<std::int32_t>(entities_.size()));
  const std::int32_t number = slot->second;
  if (!fresh) {
    if (entities_[number].check != check) throw std::runtime_error("two symbols share one 64-bit hash");
    return number;
  }
  std::string spelling = without_places(api_.take(api_.getCursorSpelling(cursor)));
  if (spelling.empty()) spelling = "(anonymous)";
  std::string qualified = scope(api_.getCursorSemanticParent(cursor), 0) + spelling;
  cursors_.push_back(cursor);
  entities_.push_back({usr, check, cursor.kind, std::move(qualified), std::move(spelling)});
  return number;
}

}  // namespace megacpp
