// Members that a template names of a type it does not know yet: `m.run(x)` where `m` is a `Task<T>`.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clang_api.hpp"

namespace megacpp {

// What the primary template of such a type declares under a name. A specialisation may mean another: what is found is one
// of several, as an overload is. A type that is a parameter itself has no members to look at.
class Members {
 public:
  explicit Members(const ClangApi& api) : api_(api) {}

  // The members that `expression` may mean, which libclang leads nowhere: `object.name`, `Type<T>::name` or `Type<T>(x)`,
  // whose source is `text`. Empty if its type is unknown or has none of that name.
  const std::vector<CXCursor>& find(const CXCursor& expression, std::string_view text);

 private:
  using Key = std::pair<const void*, std::string>;

  CXCursor holder(const CXCursor& expression, std::string_view text, std::string_view name);
  CXCursor class_of(CXType type, bool through_pointer) const;
  CXType type_of(const CXCursor& expression, std::string_view text);
  const std::vector<CXCursor>& named(const CXCursor& holder, const std::string& name, int depth);

  const ClangApi& api_;
  std::map<Key, std::vector<CXCursor>> known_;
};

}  // namespace megacpp
