// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <vector>

#include "strf/ranges.h"

namespace {

enum class severity { info, warning, error };

struct record {
  severity level;
  const char* source;
  std::vector<int> codes;
  double seconds;
};

}  // namespace

template <>
struct strf::formatter<severity> : strf::formatter<std::string_view> {
  void format(severity s, format_context& ctx) const {
    static constexpr std::string_view names[] = {"info", "warning", "error"};
    formatter<std::string_view>::format(names[static_cast<int>(s)], ctx);
  }
};

namespace {

std::size_t report(strf::buffer& out, const std::vector<record>& log) {
  const std::size_t before = out.size();
  for (const record& r : log)
    strf::format_to(out, STRF_STRING("{:>9.3f}s {:<8}{:.<12}{::#06x}\n"), r.seconds,
                    r.level, r.source, r.codes);
  return out.size() - before;
}

}  // namespace

int main() {
  const std::vector<record> log = {
      {severity::info, "boot", {}, 0.0125},
      {severity::warning, "disk", {17, 4096}, 2.5},
      {severity::error, "net", {65535}, 12.0},
  };
  strf::memory_buffer out;
  const std::size_t written = report(out, log);
  strf::print("{}{:-^40}\n", out.view(), " end of log ");
  strf::print(stdout, "{} bytes at {}\n", written,
              static_cast<const void*>(out.data()));
  const bool ok = out.view().find("2.500s warning disk........[0x0011, 0x1000]") !=
                  std::string_view::npos;
  return ok ? 0 : 1;
}
