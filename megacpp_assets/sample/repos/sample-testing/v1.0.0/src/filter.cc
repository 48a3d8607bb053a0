// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "verity/runner.h"

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
  std::size_t begin = 0;
  while (begin <= spec.size()) {
    std::size_t end = spec.find(':', begin);
    if (end == std::string::npos) end = spec.size();
    if (end > begin) patterns.push_back(spec.substr(begin, end - begin));
    begin = end + 1;
  }
  return patterns;
}

}  // namespace

Filter::Filter(const std::string& spec) : patterns_(SplitPatterns(spec)) {}

bool Filter::Matches(const std::string& full_name) const {
  if (patterns_.empty()) return true;
  for (const std::string& pattern : patterns_) {
    if (GlobMatches(pattern.c_str(), full_name.c_str())) return true;
  }
  return false;
}

}  // namespace verity
