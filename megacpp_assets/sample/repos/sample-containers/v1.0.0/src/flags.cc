// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "granary/flags.h"

#include <algorithm>

#include "granary/flat_hash_map.h"
#include "granary/strings.h"

namespace granary {
namespace {

using FlagMap = FlatHashMap<std::string_view, FlagBase*>;

// Built on first use: flags register from static constructors.
Guarded<FlagMap>& Flags() {
  static auto* flags = new Guarded<FlagMap>;
  return *flags;
}

template <typename T>
Status StoreParsed(StatusOr<T> parsed, T* value) {
  if (!parsed.ok()) return parsed.status();
  *value = std::move(*parsed);
  return OkStatus();
}

Status ApplyArgument(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  FlagBase* flag = FindFlag(name);
  if (flag == nullptr) return NotFoundError(StrCat("no flag --", name));
  if (equals != std::string_view::npos) {
    return flag->SetFromText(argument.substr(equals + 1));
  }
  if (flag->is_switch()) return flag->SetFromText("true");
  return InvalidArgumentError(StrCat("flag --", name, " needs a value"));
}

}  // namespace

FlagBase::FlagBase(const char* name, const char* help)
    : name_(name), help_(help) {
  Flags().With([&](FlagMap& flags) { flags.try_emplace(name, this); });
}

FlagBase* FindFlag(std::string_view name) {
  return Flags().With([&](FlagMap& flags) -> FlagBase* {
    const auto it = flags.find(name);
    return it == flags.end() ? nullptr : it->second;
  });
}

Status ParseFlag(std::string_view text, std::int64_t* value) {
  return StoreParsed(ParseInt64(text), value);
}
Status ParseFlag(std::string_view text, bool* value) {
  return StoreParsed(ParseBool(text), value);
}
Status ParseFlag(std::string_view text, std::string* value) {
  value->assign(text);
  return OkStatus();
}
Status ParseFlag(std::string_view text, Duration* value) {
  return StoreParsed(ParseDuration(text), value);
}

std::string UnparseFlag(std::int64_t value) { return StrCat(value); }
std::string UnparseFlag(bool value) { return value ? "true" : "false"; }
std::string UnparseFlag(const std::string& value) { return value; }
std::string UnparseFlag(Duration value) { return FormatDuration(value); }

StatusOr<std::vector<std::string>> ParseCommandLine(int argc,
                                                    const char* const* argv) {
  std::vector<std::string> rest;
  bool flags_done = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (flags_done || !ConsumePrefix(&argument, "--")) {
      rest.emplace_back(argument);
    } else if (argument.empty()) {
      flags_done = true;
    } else {
      GRANARY_RETURN_IF_ERROR(ApplyArgument(argument));
    }
  }
  return rest;
}

std::string FlagsHelp() {
  std::vector<std::string> lines;
  Flags().With([&](FlagMap& flags) {
    for (const auto& entry : flags) {
      lines.push_back(StrCat("--", entry.first, "=",
                             entry.second->CurrentText(), "  ",
                             entry.second->help()));
    }
  });
  std::sort(lines.begin(), lines.end());
  return StrJoin(lines, "\n");
}

}  // namespace granary
