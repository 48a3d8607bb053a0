#include "lexer.hpp"

#include <algorithm>
#include <string>

namespace megacpp {
namespace {

constexpr std::size_t kMaxMark = 16;  // of a raw string's delimiter, by the standard

bool is_hex(char byte) { return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F'); }

class Lexer {
 public:
  explicit Lexer(std::string_view code) : code_(code) {
    found_.commented.resize(code.size());
    found_.quoted.resize(code.size());
  }

  Tokens run() {
    std::size_t at = 0;
    while ((at = next_candidate(at)) < code_.size()) at = token(at);
    return std::move(found_);
  }

 private:
  std::size_t next_candidate(std::size_t at) const {
    for (; at < code_.size(); ++at) {
      const char byte = code_[at];
      if (byte == '/' || byte == '"' || byte == '\'' || byte == '#') break;
    }
    return at;
  }

  // Behind the token that begins at `at`, or the next byte if none does.
  std::size_t token(std::size_t at) {
    switch (code_[at]) {
      case '/': return comment(at);
      case '"': return literal(at, string_end(at));
      case '\'': return quote(at);
      default: hash(at); return at + 1;
    }
  }

  std::size_t comment(std::size_t at) {
    const char second = byte(at + 1);
    if (second != '/' && second != '*') return at + 1;
    const std::size_t end = second == '/' ? line_end(at + 2) : behind("*/", at + 2);
    found_.comments.insert(found_.comments.end(), {static_cast<std::int64_t>(at), static_cast<std::int64_t>(end)});
    std::fill_n(found_.commented.data() + at, end - at, 1);
    return end;
  }

  std::size_t literal(std::size_t at, std::size_t end) {
    found_.literals.insert(found_.literals.end(), {static_cast<std::int64_t>(at), static_cast<std::int64_t>(end)});
    std::fill_n(found_.quoted.data() + at, end - at, 1);
    return end;
  }

  // 1'000 holds no literal, and one character behind a quote that nothing closes is none either.
  std::size_t quote(std::size_t at) {
    if (separates(at)) {
      separated_ = at + 1;
      return at + 2;
    }
    const std::size_t end = closed(at + 1, '\'');
    return end - at == 2 && code_[end - 1] != '\'' ? end : literal(at, end);
  }

  // Whether the quote at `at` stands inside a number: what is before it began with a digit, or behind such a quote or a
  // point. The word before a literal (u8'a', case'0') begins with a letter.
  bool separates(std::size_t at) const {
    if (at == 0 || !is_hex(code_[at - 1]) || !is_hex(byte(at + 1))) return false;
    std::size_t first = at;
    while (first > 0 && is_word(code_[first - 1])) --first;
    return is_digit(code_[first]) || first == separated_ || (first > 0 && code_[first - 1] == '.');
  }

  void hash(std::size_t at) {
    while (at > 0 && (code_[at - 1] == ' ' || code_[at - 1] == '\t')) --at;
    if (at == 0 || code_[at - 1] == '\n') found_.directive_lines.push_back(static_cast<std::int64_t>(at));
  }

  std::size_t string_end(std::size_t at) const {
    if (opens_raw(at)) {
      std::size_t open = at + 1;
      while (open - at - 1 <= kMaxMark && in_mark(byte(open)) && open < code_.size()) ++open;
      const std::size_t length = open - at - 1;
      if (length <= kMaxMark && byte(open) == '(') {
        const std::string closing = std::string(1, ')').append(code_.substr(at + 1, length)).append(1, '"');
        return behind(closing, open + 1);
      }
    }
    return closed(at + 1, '"');
  }

  // R" that is not the end of a longer name; u8, u, U and L may stand before it.
  bool opens_raw(std::size_t at) const {
    if (at == 0 || code_[at - 1] != 'R') return false;
    if (at == 1 || !is_word(code_[at - 2])) return true;
    const char before = code_[at - 2];
    return before == 'u' || before == 'U' || before == 'L' || (at >= 3 && code_.substr(at - 3, 2) == "u8");
  }

  static bool in_mark(char byte) { return std::string_view(" ()\\\t\v\f\n\"").find(byte) == std::string_view::npos; }

  // Behind `closing`, which a backslash hides; at the line's end, or the last byte, where it is missing.
  std::size_t closed(std::size_t at, char closing) const {
    while (at < code_.size() && code_[at] != closing && code_[at] != '\n') {
      if (code_[at] != '\\') {
        ++at;
      } else if (at + 1 == code_.size()) {
        return at;
      } else {
        at = escaped(at);
      }
    }
    return at < code_.size() && code_[at] == closing ? at + 1 : at;
  }

  std::size_t line_end(std::size_t at) const {
    while (at < code_.size() && code_[at] != '\n') at = code_[at] == '\\' ? escaped(at) : at + 1;
    return at;
  }

  // Behind the backslash at `at` and what it escapes.
  std::size_t escaped(std::size_t at) const {
    return std::min(at + (code_.substr(at + 1, 2) == "\r\n" ? 3 : 2), code_.size());
  }

  std::size_t behind(std::string_view mark, std::size_t from) const {
    const std::size_t found = from < code_.size() ? code_.find(mark, from) : std::string_view::npos;
    return found == std::string_view::npos ? code_.size() : found + mark.size();
  }

  // 0 behind the end, which is part of no token.
  char byte(std::size_t at) const { return at < code_.size() ? code_[at] : '\0'; }

  std::string_view code_;
  Tokens found_;
  std::size_t separated_ = std::string_view::npos;  // behind the last quote inside a number
};

}  // namespace

Tokens find_tokens(std::string_view code) { return Lexer(code).run(); }

bool may_hold_condition(std::string_view code) {
  // A line may go on behind a backslash, also one spelled `??/`, and a comment may stand before the name.
  constexpr std::string_view kBetween = " \t\v\f\\\r\n", kInName = "f\\?", kDoubtful = "/?";
  for (const std::string_view mark : {"#", "%:",
                                      "??"
                                      "="}) {
    for (std::size_t at = code.find(mark); at != std::string_view::npos; at = code.find(mark, at)) {
      at = std::min(code.find_first_not_of(kBetween, at + mark.size()), code.size());
      const std::string_view name = code.substr(at, 2);
      if (name.size() == 2 && name[0] == 'i' && kInName.find(name[1]) != std::string_view::npos) return true;
      if (!name.empty() && kDoubtful.find(name[0]) != std::string_view::npos) return true;
    }
  }
  return false;
}

}  // namespace megacpp
