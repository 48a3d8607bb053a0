// Names of entities: USR hashes that join a use to its definition, and qualified names for people.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clang_api.hpp"

namespace megacpp {

// Two independent 64-bit hashes of a byte string; never 0.
std::uint64_t hash_text(const std::string& text);
std::uint64_t check_text(const std::string& text);

constexpr std::int32_t kNoEntity = -1;

struct Entity {
  std::uint64_t usr;    // hash_text of the identity
  std::uint64_t check;  // check_text of the identity: equal `usr` with another `check` is a collision
  int kind;
  std::string qualified_name;
  std::string spelling;
};

// All entities met in one translation unit. An implicit instantiation stands for its template, so that a call of
// f<int> joins the definition of f. An entity that only its file can see carries that file's path in its identity.
class Entities {
 public:
  explicit Entities(const ClangApi& api);

  // The number of the entity that `declaration` declares, kNoEntity if it has no USR; remembers the entity.
  std::int32_t declared(CXCursor declaration);
  // The same for a reference, after undoing implicit instantiation.
  std::int32_t referenced(CXCursor target);
  // Whether nothing in the source declares this: the compiler made it from a template.
  bool is_implicit_instance(CXCursor declaration) const;
  // One of the candidates of an overload set, by fit to `arguments` (-1: unknown), then nearness, then order.
  CXCursor choose(CXCursor overloads, int arguments) const;
  // The same of `candidates`, which are not none.
  CXCursor choose(const std::vector<CXCursor>& candidates, int arguments) const;
  // The path of `file` relative to the working directory, which is the tree's root; "" if it lies outside.
  const std::string& tree_path(CXFile file) const;
  // That path, or else the name libclang has for the file.
  std::string name_of(CXFile file) const;

  // How many entities there are, and the first cursor that stands for the one of that number.
  std::size_t size() const { return entities_.size(); }
  const CXCursor& cursor(std::int32_t number) const { return cursors_[static_cast<std::size_t>(number)]; }

  // All of them, ascending by `usr`, and the row there of each by its number; leaves nothing behind.
  std::pair<std::vector<Entity>, std::vector<std::int32_t>> take_all();

 private:
  // USRs of a class or enumeration: its own, and that of the template behind it.
  struct HolderUsr {
    std::string instance, pattern;
  };

  CXCursor primary(CXCursor cursor) const;
  std::string base_name(CXFile file) const;
  bool same_place(CXCursor instance, CXCursor pattern) const;
  std::string identity(CXCursor cursor);
  std::string template_usr(CXCursor cursor, int depth);
  const HolderUsr& holder_usr(CXCursor holder, int depth);
  std::string with_file(CXCursor cursor, std::string usr) const;
  const std::string& scope(CXCursor parent, int depth);
  std::int32_t known(CXCursor cursor);
  std::int32_t remember(CXCursor cursor);

  const ClangApi& api_;
  std::filesystem::path root_;
  std::vector<Entity> entities_;
  std::vector<CXCursor> cursors_;
  std::unordered_map<std::uint64_t, std::int32_t> by_usr_;
  std::unordered_map<const void*, std::int32_t> known_, referenced_;
  std::unordered_map<const void*, std::string> scopes_;
  std::unordered_map<const void*, HolderUsr> holder_usrs_;
  mutable std::unordered_map<CXFile, std::string> tree_paths_;
};

}  // namespace megacpp
