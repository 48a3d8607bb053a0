// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0

// Counts the words of text files and prints the most frequent ones.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "granary/flags.h"
#include "granary/flat_hash_map.h"
#include "granary/span.h"
#include "granary/strings.h"

GRANARY_FLAG(std::int64_t, top, 10, "how many words to print");
GRANARY_FLAG(std::int64_t, min_count, 1, "drop words seen less often");
GRANARY_FLAG(bool, timing, false, "also print how long the count took");

namespace {

using Counts = granary::FlatHashMap<std::string, int>;
using Ranked = std::pair<std::string, int>;

granary::StatusOr<std::string> ReadFile(const std::string& path) {
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return granary::NotFoundError(granary::StrCat("cannot open ", path));
  }
  std::string text;
  char buffer[4096];
  while (std::size_t n = std::fread(buffer, 1, sizeof(buffer), file.get())) {
    text.append(buffer, n);
  }
  return text;
}

bool IsBreak(char c) {
  return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_');
}

void CountWords(std::string_view text, Counts* counts) {
  for (std::string_view word :
       granary::SplitIf(text, IsBreak, granary::EmptyPieces::kSkip)) {
    ++(*counts)[granary::AsciiToLower(word)];
  }
}

std::vector<Ranked> Rank(const Counts& counts) {
  std::vector<Ranked> ranked;
  for (const auto& entry : counts) {
    if (entry.second >= FLAGS_min_count.Get()) ranked.push_back(entry);
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const Ranked& a, const Ranked& b) {
              return a.second != b.second ? a.second > b.second
                                          : a.first < b.first;
            });
  return ranked;
}

granary::Status Run(int argc, char** argv) {
  GRANARY_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                           granary::ParseCommandLine(argc, argv));
  if (paths.empty()) {
    return granary::InvalidArgumentError(
        granary::StrCat("no files given\n", granary::FlagsHelp()));
  }
  const granary::Duration start = granary::MonotonicNow();
  Counts counts;
  for (const std::string& path : paths) {
    GRANARY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    CountWords(text, &counts);
  }
  const std::vector<Ranked> ranked = Rank(counts);
  const granary::Span<const Ranked> all(ranked);
  for (const Ranked& entry :
       all.first(static_cast<std::size_t>(FLAGS_top.Get()))) {
    std::printf("%6d %s\n", entry.second, entry.first.c_str());
  }
  if (FLAGS_timing.Get()) {
    const granary::Duration took = granary::MonotonicNow() - start;
    std::printf("took %s\n", granary::FormatDuration(took).c_str());
  }
  return granary::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const granary::Status status = Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "wordcount: %s\n", status.ToString().c_str());
  return 1;
}
