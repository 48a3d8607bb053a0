// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/runner.h"

#include <utility>

namespace verity {
namespace {

/* Glob matching without recursion: on a mismatch, fall back to the last star
   and let it swallow one more character. */
bool GlobMatches(const char* pattern, const char* text) {
  const char* star = nullptr;
  const char* resume = nullptr;
  while (*text != '\0') {
    if (*pattern == '*') {
      star = pattern++;
      resume = text;
    } else if (*pattern == '?' || *pattern == *text) {
      ++pattern;
      ++text;
    } else if (star != nullptr) {
      pattern = star + 1;
      text = ++resume;
    } else {
      return false;
    }
  }
  while (*pattern == '*') ++pattern;
  return *pattern == '\0';
}

std::vector<std::string> SplitPatterns(const std::string& spec) {
  std::vector<std::string> patterns;
  std::string current;
  const auto flush = [&] {
    if (!current.empty()) patterns.push_back(std::exchange(current, {}));
  };
  for (char c : spec) {
    if (c == ':') {
      flush();
    } else {
      current.push_back(c);
    }
  }
  flush();
  return patterns;
}

bool MatchesAny(const std::vector<std::string>& patterns,
                const std::string& text) {
  for (const std::string& pattern : patterns) {
    if (GlobMatches(pattern.c_str(), text.c_str())) return true;
  }
  return false;
}

}  // namespace

Filter::Filter(const std::string& spec) {
  // Test names are C++ identifiers, so a '-' can only start the exclusions.
  const std::size_t dash = spec.find('-');
  included_ = SplitPatterns(spec.substr(0, dash));
  if (dash != std::string::npos) {
    excluded_ = SplitPatterns(spec.substr(dash + 1));
  }
}

bool Filter::Matches(const std::string& full_name) const {
  if (MatchesAny(excluded_, full_name)) return false;
  return included_.empty() || MatchesAny(included_, full_name);
}

}  // namespace verity
