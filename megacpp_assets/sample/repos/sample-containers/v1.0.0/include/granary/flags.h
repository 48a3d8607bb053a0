// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef GRANARY_FLAGS_H_
#define GRANARY_FLAGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "granary/duration.h"
#include "granary/mutex.h"
#include "granary/status.h"

namespace granary {

/// What the registry knows of a flag, whatever its type.
class FlagBase {
 public:
  FlagBase(const char* name, const char* help);
  virtual ~FlagBase() = default;

  const char* name() const { return name_; }
  const char* help() const { return help_; }
  virtual Status SetFromText(std::string_view text) = 0;
  virtual std::string CurrentText() const = 0;
  /// True if `--name` alone means `--name=true`.
  virtual bool is_switch() const { return false; }

 private:
  const char* name_;
  const char* help_;
};

// How each type of flag is read and shown; overload both for a new type.
Status ParseFlag(std::string_view text, std::int64_t* value);
Status ParseFlag(std::string_view text, bool* value);
Status ParseFlag(std::string_view text, std::string* value);
Status ParseFlag(std::string_view text, Duration* value);
std::string UnparseFlag(std::int64_t value);
std::string UnparseFlag(bool value);
std::string UnparseFlag(const std::string& value);
std::string UnparseFlag(Duration value);

template <typename T>
class Flag : public FlagBase {
 public:
  Flag(const char* name, T initial, const char* help)
      : FlagBase(name, help) {
    value_.With([&](T& value) { value = std::move(initial); });
  }

  T Get() const {
    return value_.With([](T& value) { return value; });
  }
  void Set(T replacement) {
    value_.With([&](T& value) { value = std::move(replacement); });
  }

  Status SetFromText(std::string_view text) override {
    T parsed;
    GRANARY_RETURN_IF_ERROR(ParseFlag(text, &parsed));
    Set(std::move(parsed));
    return OkStatus();
  }
  std::string CurrentText() const override { return UnparseFlag(Get()); }
  bool is_switch() const override { return std::is_same_v<T, bool>; }

 private:
  mutable Guarded<T> value_;
};

FlagBase* FindFlag(std::string_view name);

/// Sets flags from `--name=value` and `--switch`; gives back the other
/// arguments. Everything after a bare `--` counts as an argument.
StatusOr<std::vector<std::string>> ParseCommandLine(int argc,
                                                    const char* const* argv);

/// One line per flag, sorted by name.
std::string FlagsHelp();

}  // namespace granary

#define GRANARY_FLAG(Type, name, initial, help) \
  ::granary::Flag<Type> FLAGS_##name(#name, initial, help)

#endif  // GRANARY_FLAGS_H_
