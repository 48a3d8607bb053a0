#include "shingles.hpp"

#include <Python.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace megacpp {
namespace {

constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ULL;

// What Python's re means by \w, \d and \s in a str.
bool is_ascii_digit(Py_UCS4 point) { return point - '0' < 10U; }
bool is_ascii_letter(Py_UCS4 point) { return (point | 0x20U) - 'a' < 26U; }
bool is_word(Py_UCS4 point) {
  // Python's table of all characters costs more than the rest of a token, and code is nearly all ASCII.
  if (point < 128) return is_ascii_letter(point) || is_ascii_digit(point) || point == '_';
  return Py_UNICODE_ISALNUM(point);
}
bool is_digit(Py_UCS4 point) { return point < 128 ? is_ascii_digit(point) : Py_UNICODE_ISDECIMAL(point); }
bool is_space(Py_UCS4 point) { return Py_UNICODE_ISSPACE(point); }
bool starts_name(Py_UCS4 point) { return point < 128 && (point == '_' || is_ascii_letter(point)); }

std::uint64_t mixed(std::uint64_t hash) {
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31U);
}

// Words that stay what they are where all names are alike; in order.
constexpr std::array<std::string_view, 36> kKeywords = {
    "auto",   "bool",      "break",  "case",     "char",     "class",    "const", "continue", "default",
    "delete", "do",        "double", "else",     "enum",     "float",    "for",   "if",       "int",
    "long",   "namespace", "new",    "private",  "public",   "return",   "short", "signed",   "sizeof",
    "static", "struct",    "switch", "template", "typename", "unsigned", "using", "void",     "while"};
constexpr std::size_t kLongestKeyword = 9;
constexpr std::uint64_t kAnyName = 0x6a09e667f3bcc908ULL;

template <typename Unit>
class Tokens {
 public:
  // With `alike`, every name that is no keyword is the same token.
  Tokens(std::span<const Unit> text, bool alike) : text_(text), alike_(alike) {}

  // Calls put(hash, start, end) for every token, in order.
  template <typename Put>
  void each(Put put) const {
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t comment = comment_end(at);
      if (comment != at) {
        at = comment;
      } else if (is_space(text_[at])) {
        ++at;
      } else {
        const std::size_t end = token_end(at);
        put(alike_ && starts_name(text_[at]) && !is_keyword(at, end) ? kAnyName : hash(at, end), at, end);
        at = end;
      }
    }
  }

 private:
  bool is_keyword(std::size_t start, std::size_t end) const {
    if (end - start > kLongestKeyword) return false;
    std::array<char, kLongestKeyword> word;
    for (std::size_t at = start; at < end; ++at) {
      if (text_[at] >= 128) return false;
      word[at - start] = static_cast<char>(text_[at]);
    }
    return std::binary_search(kKeywords.begin(), kKeywords.end(), std::string_view(word.data(), end - start));
  }

  bool is(std::size_t at, char wanted) const { return at < text_.size() && text_[at] == static_cast<Unit>(wanted); }

  // Behind the comment that begins at `at`, or `at` where none does.
  std::size_t comment_end(std::size_t at) const {
    if (!is(at, '/')) return at;
    if (is(at + 1, '/')) return find(at, '\n');
    if (!is(at + 1, '*')) return at;
    for (std::size_t end = at + 2; end < text_.size(); ++end) {
      if (is(end, '*') && is(end + 1, '/')) return end + 2;
    }
    return text_.size();
  }

  std::size_t find(std::size_t at, char wanted) const {
    while (at < text_.size() && !is(at, wanted)) ++at;
    return at;
  }

  std::size_t token_end(std::size_t at) const {
    const Py_UCS4 first = text_[at];
    if (starts_name(first)) return word_end(at + 1, '\0');
    if (is_digit(first)) return word_end(at + 1, '.');
    return first == '"' ? string_end(at) : at + 1;
  }

  std::size_t word_end(std::size_t at, char also) const {
    while (at < text_.size() && (is_word(text_[at]) || (also != '\0' && is(at, also)))) ++at;
    return at;
  }

  // A quote that nothing closes in its line is a token by itself.
  std::size_t string_end(std::size_t at) const {
    std::size_t end = at + 1;
    while (end < text_.size() && !is(end, '"') && !is(end, '\n')) end += is(end, '\\') ? 2 : 1;
    return is(end, '"') ? end + 1 : at + 1;
  }

  std::uint64_t hash(std::size_t start, std::size_t end) const {
    std::uint64_t hash = end - start;
    for (std::size_t at = start; at < end; ++at) hash = (hash ^ static_cast<std::uint64_t>(text_[at])) * kFactor;
    return mixed(hash);
  }

  std::span<const Unit> text_;
  bool alike_;
};

}  // namespace

template <typename Unit>
std::vector<std::uint64_t> token_hashes(std::span<const Unit> text, bool alike) {
  std::vector<std::uint64_t> found;
  found.reserve(text.size() / 3);
  Tokens<Unit>(text, alike).each([&](std::uint64_t hash, std::size_t, std::size_t) { found.push_back(hash); });
  return found;
}

template std::vector<std::uint64_t> token_hashes(std::span<const std::uint8_t> text, bool alike);
template std::vector<std::uint64_t> token_hashes(std::span<const std::uint16_t> text, bool alike);
template std::vector<std::uint64_t> token_hashes(std::span<const std::uint32_t> text, bool alike);

template <typename Unit>
std::vector<std::int64_t> token_places(std::span<const Unit> text) {
  std::vector<std::int64_t> places;
  places.reserve(2 * (text.size() / 3));
  Tokens<Unit>(text, false).each([&](std::uint64_t, std::size_t start, std::size_t end) {
    places.push_back(static_cast<std::int64_t>(start));
    places.push_back(static_cast<std::int64_t>(end));
  });
  return places;
}

template std::vector<std::int64_t> token_places(std::span<const std::uint8_t> text);
template std::vector<std::int64_t> token_places(std::span<const std::uint16_t> text);
template std::vector<std::int64_t> token_places(std::span<const std::uint32_t> text);

namespace {

// Calls put(run) for every run of `count` tokens, in order.
template <typename Put>
void each_run(std::span<const std::uint64_t> tokens, std::size_t count, Put put) {
  std::uint64_t leaving = 1;  // the weight of the token that leaves a run: one factor for each token of it
  for (std::size_t place = 0; place < count; ++place) leaving *= kFactor;
  std::uint64_t run = 0;
  for (std::size_t place = 0; place < tokens.size(); ++place) {
    if (place >= count) run -= tokens[place - count] * leaving;
    run = (run + tokens[place]) * kFactor;
    if (place + 1 >= count) put(run);
  }
}

}  // namespace

std::vector<std::uint64_t> runs_of(std::span<const std::uint64_t> tokens, std::size_t count) {
  std::vector<std::uint64_t> runs;
  if (count == 0 || tokens.size() < count) return runs;
  runs.reserve(tokens.size() - count + 1);
  each_run(tokens, count, [&](std::uint64_t run) { runs.push_back(run); });
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

std::vector<std::uint64_t> runs_in_order(std::span<const std::uint64_t> tokens, std::size_t count) {
  std::vector<std::uint64_t> runs;
  if (count == 0 || tokens.size() < count) return runs;
  runs.reserve(tokens.size() - count + 1);
  each_run(tokens, count, [&](std::uint64_t run) { runs.push_back(run); });
  return runs;
}

RunNumbers::RunNumbers(std::span<const std::uint64_t> runs) {
  if (runs.size() >= none) throw std::invalid_argument("too many runs to be numbered");
  std::size_t room = 16;
  while (room < 2 * runs.size()) room *= 2;
  slots_.resize(room);
  for (const std::uint64_t run : runs) {
    Slot& slot = slots_[find(run)];
    if (slot.number == none) slot = {run, static_cast<std::uint32_t>(size_++)};
  }
}

// Where `run` lies, or the free slot where it would.
std::size_t RunNumbers::find(std::uint64_t run) const {
  const std::size_t mask = slots_.size() - 1;
  // Runs are products, whose high bits are the mixed ones.
  std::size_t place = (run ^ (run >> 32U)) & mask;
  while (slots_[place].number != none && slots_[place].run != run) place = (place + 1) & mask;
  return place;
}

SeenRuns::SeenRuns(std::span<const std::uint64_t> runs)
    : runs_(runs.begin(), runs.end()), numbers_(runs), seen_(numbers_.size()) {}

void SeenRuns::see(std::span<const std::uint64_t> tokens, std::size_t width) {
  each_run(tokens, width, [&](std::uint64_t run) {
    if (const std::uint32_t number = numbers_.of(run); number != RunNumbers::none) seen_[number] = 1;
  });
}

std::vector<std::uint8_t> SeenRuns::seen() const {
  std::vector<std::uint8_t> flags;
  flags.reserve(runs_.size());
  for (const std::uint64_t run : runs_) flags.push_back(seen_[numbers_.of(run)]);
  return flags;
}

SharedRuns::SharedRuns(std::span<const std::uint64_t> runs, std::span<const std::int64_t> owners)
    : numbers_(runs), owners_(owners.begin(), owners.end()), asked_(numbers_.size()) {
  if (runs.size() != owners.size()) throw std::invalid_argument("an owner for each run");
  for (std::size_t place = 0; place < runs.size(); ++place) {
    if (place && runs[place] < runs[place - 1]) throw std::invalid_argument("runs that ascend");
    if (!place || runs[place] != runs[place - 1]) first_.push_back(place);
    if (owners[place] < 0) throw std::invalid_argument("owners from 0");
    shared_.resize(std::max(shared_.size(), static_cast<std::size_t>(owners[place]) + 1));
  }
  first_.push_back(runs.size());
}

SharedRuns::Found SharedRuns::with(std::span<const std::uint64_t> tokens, std::size_t width) {
  Found found;
  if (++question_ == 0) {  // numbers of questions begin anew
    std::fill(asked_.begin(), asked_.end(), 0);
    question_ = 1;
  }
  each_run(tokens, width, [&](std::uint64_t run) {
    const std::uint32_t number = numbers_.of(run);
    if (number == RunNumbers::none || asked_[number] == question_) return;
    asked_[number] = question_;
    ++found.runs;
    for (std::size_t place = first_[number]; place < first_[number + 1]; ++place) {
      if (!shared_[owners_[place]]++) found.texts.push_back(owners_[place]);
    }
  });
  found.counts.reserve(found.texts.size());
  for (const std::int64_t text : found.texts) found.counts.push_back(std::exchange(shared_[text], 0));
  return found;
}

}  // namespace megacpp
