// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "granary/duration.h"

#include <chrono>

#include "granary/strings.h"

namespace granary {
namespace {

struct Unit {
  std::string_view suffix;
  Duration length;
};

// From long to short, the order in which FormatDuration uses them.
constexpr Unit kUnits[] = {
    {"m", Minutes(1)},       {"s", Seconds(1)},      {"ms", Milliseconds(1)},
    {"us", Microseconds(1)}, {"ns", Nanoseconds(1)},
};

const Unit* FindUnit(std::string_view suffix) {
  for (const Unit& unit : kUnits) {
    if (unit.suffix == suffix) return &unit;
  }
  return nullptr;
}

std::string_view TakeWhile(std::string_view* text, bool digits) {
  std::size_t n = 0;
  while (n < text->size() &&
         ((*text)[n] >= '0' && (*text)[n] <= '9') == digits) {
    ++n;
  }
  const std::string_view taken = text->substr(0, n);
  text->remove_prefix(n);
  return taken;
}

}  // namespace

Duration MonotonicNow() {
  using std::chrono::nanoseconds;
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Nanoseconds(std::chrono::duration_cast<nanoseconds>(since).count());
}

std::string FormatDuration(Duration duration) {
  if (duration == Duration()) return "0s";
  std::string out;
  if (duration < Duration()) {
    out = "-";
    duration = Duration() - duration;
  }
  for (const Unit& unit : kUnits) {
    const std::int64_t count = duration.nanos() / unit.length.nanos();
    if (count == 0) continue;
    StrAppend(&out, count, unit.suffix);
    duration = duration - unit.length * count;
  }
  return out;
}

StatusOr<Duration> ParseDuration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = ConsumePrefix(&rest, "-");
  if (rest.empty()) return InvalidArgumentError("empty duration");
  Duration total;
  while (!rest.empty()) {
    GRANARY_ASSIGN_OR_RETURN(const std::int64_t count,
                             ParseInt64(TakeWhile(&rest, true)));
    const Unit* unit = FindUnit(TakeWhile(&rest, false));
    if (unit == nullptr) {
      return InvalidArgumentError(StrCat("bad unit in duration: ", text));
    }
    total = total + unit->length * count;
  }
  return negative ? Duration() - total : total;
}

}  // namespace granary
