#include "clang_api.hpp"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace megacpp {
namespace {

void* resolve(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (!symbol) throw std::runtime_error(std::string("libclang lacks the function ") + name);
  return symbol;
}

std::unique_ptr<ClangApi> open_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(std::string("libclang cannot be loaded: ") + dlerror());
  auto api = std::make_unique<ClangApi>();
// NOLINTBEGIN(bugprone-macro-parentheses): the parameters bring their own.
#define X(result, name, parameters) \
  api->name = reinterpret_cast<result(*) parameters>(resolve(library, "clang_" #name));
  // NOLINTEND(bugprone-macro-parentheses)
  MEGACPP_CLANG_FUNCTIONS(X)
#undef X
  // A parser that has crashed once is not to be trusted with the next file: let the process die, the caller bisects.
  api->toggleCrashRecovery(0);
  return api;
}

}  // namespace

const ClangApi& load_clang(const std::string& path) {
  static std::mutex guard;
  const std::lock_guard lock(guard);
  static std::map<std::string, std::unique_ptr<ClangApi>> loaded;
  auto& api = loaded[path];
  if (!api) api = open_library(path);
  return *api;
}

}  // namespace megacpp
