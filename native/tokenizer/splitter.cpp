// The rarer branches of the splitter; each function mirrors one alternative of the recipe's regular expression.
#include "splitter.hpp"

namespace megacpp {

namespace {
constexpr std::string_view kPunctuation = "!\"$%&'()*+,-./;<=?@[]^`{|}~";
constexpr std::string_view kEscapes = "abefnrtv0'\"?\\";
constexpr std::string_view kBanners = "=-*/";
}  // namespace

Splitter::Splitter(Rules rules, const std::vector<std::array<std::uint32_t, 3>>& classes,
                   std::vector<std::string> guards, const std::vector<std::string>& directives,
                   const std::vector<std::string>& commands, std::vector<std::string> operators)
    : rules_(rules),
      guards_(std::move(guards)),
      directives_(directives.begin(), directives.end()),
      commands_(commands.begin(), commands.end()),
      operators_(std::move(operators)) {
  for (const auto& range : classes) classes_.add(range[0], range[1], static_cast<Byte>(range[2]));
  kind_.fill(Kind::other);
  for (unsigned c = 0; c < 128; ++c) {
    ascii_[c] = classes_[c];
    if (ascii_[c] & kStart) kind_[c] = Kind::word;
    if (ascii_[c] & kNumber) kind_[c] = Kind::digit;
  }
  for (unsigned c = 128; c < 256; ++c) kind_[c] = Kind::wide;
  for (const char c : kPunctuation) kind_[static_cast<Byte>(c)] = Kind::punctuation;
  kind_[' '] = Kind::space;
  kind_['\t'] = Kind::tab;
  kind_['\n'] = kind_['\r'] = Kind::newline;
  kind_['#'] = Kind::hash;
  kind_['\\'] = Kind::backslash;
  kind_[':'] = Kind::colon;
  std::stable_sort(operators_.begin(), operators_.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  trie_.emplace_back();
  for (std::size_t index = 0; index < guards_.size(); ++index) add_guard(index);
}

void Splitter::add_guard(std::size_t index) {
  const std::size_t before = guards_[index].find('>');
  if (before == std::string::npos) throw std::invalid_argument("a guard string must hold '>'");
  lookbehind_ = std::max(lookbehind_, before);
  std::size_t node = 0;
  for (const char c : guards_[index]) {
    const auto byte = static_cast<Byte>(c);
    if (byte >= 0x80) throw std::invalid_argument("a guard string must be ASCII");
    if (trie_[node].child[byte] == 0) {
      trie_[node].child[byte] = static_cast<std::uint16_t>(trie_.size());
      trie_.emplace_back();
    }
    node = trie_[node].child[byte];
  }
  trie_[node].guard = static_cast<std::uint32_t>(index);
}

// The first '>' at or after `p` decides: every guard holds one, so the leftmost match starts at most at it. A guard has
// no '>' before its first one, so a walk that starts further left can only match with its first '>' there.
Splitter::GuardMatch Splitter::next_guard(const Byte* p, const Byte* end) const {
  for (const Byte* from = p; !guards_.empty();) {
    const auto* found = static_cast<const Byte*>(std::memchr(from, '>', static_cast<std::size_t>(end - from)));
    if (found == nullptr) break;
    const Byte* start = found - std::min(lookbehind_, static_cast<std::size_t>(found - p));
    for (; start <= found; ++start) {
      std::uint32_t guard = kNoGuard;
      std::size_t node = 0;
      for (const Byte* at = start; at < end && *at < 0x80; ++at) {
        node = trie_[node].child[*at];
        if (node == 0) break;
        if (trie_[node].guard != kNoGuard) guard = trie_[node].guard;
      }
      if (guard != kNoGuard) return {start, guard, guards_[guard].size()};
    }
    from = found + 1;
  }
  return {end, 0, 0};
}

// \p{N}(?:[eEpP][+\-](?=[0-9])|['.]?[\p{L}\p{M}\p{N}_])*
const Byte* Splitter::number(const Byte* p, const Byte* end) const {
  p += char_length(*p);
  while (p < end) {
    const Byte c = *p;
    const bool exponent = c == 'e' || c == 'E' || c == 'p' || c == 'P';
    if (exponent && end - p >= 3 && (p[1] == '+' || p[1] == '-') && p[2] >= '0' && p[2] <= '9')
      p += 2;
    else if ((c == '\'' || c == '.') && continues(p + 1, end))
      p += 1 + char_length(p[1]);
    else if (continues(p, end))
      p += char_length(c);
    else
      break;
  }
  return p;
}

const Byte* Splitter::wide(const Byte* p, const Byte* end) const {
  const Byte bits = classes_[decode(p)];
  if (bits & kStart) return identifier(p, end);
  if (bits & kNumber) return number(p, end);
  return p + char_length(*p);
}

// A word that begins with a space.
const Byte* Splitter::spaced(const Byte* p, const Byte* end) const {
  const Byte* next = p + 1;
  if (next < end) {
    if (rules_.space_before_word && (classes_at(next) & (kStart | kNumber)) != 0)
      return classes_at(next) & kStart ? identifier(next, end) : number(next, end);
    if (rules_.space_before_operator && is_operator(next, end)) return operators(next, end);
    if (rules_.newline_indent && *next == '\\' && line_ending(next + 1, end) != next + 1)
      return indented_lines(next + 1, end);
  }
  if (!rules_.newline_indent) return repeated(p, end, 64);
  if (rules_.space_before_word) {
    // Of several spaces before a word, the last one is the word's.
    const Byte* stop = p;
    while (stop < end && *stop == ' ') ++stop;
    if (stop - p >= 2 && stop < end && (classes_at(stop) & (kStart | kNumber)) != 0) return stop - 1;
  }
  return blanks(p, end);
}

const Byte* Splitter::operators(const Byte* p, const Byte* end) const {
  if (!rules_.operator_runs) {
    if (kBanners.find(static_cast<char>(*p)) != std::string_view::npos) {
      const Byte* stop = repeated(p, end, 64);
      if (stop - p >= 4) return stop;
    }
    for (const std::string& op : operators_)
      if (static_cast<std::size_t>(end - p) >= op.size() && std::memcmp(p, op.data(), op.size()) == 0)
        return p + op.size();
    return p + 1;
  }
  for (;;) {
    while (p < end && is_operator(p, end)) ++p;
    if (rules_.space_within_run && end - p >= 2 && *p == ' ' && is_operator(p + 1, end)) {
      ++p;
      continue;
    }
    const Byte* stop = rules_.newline_indent ? indented_lines(p, end) : p;
    if (stop == p) return rules_.space_after_operator && p < end && *p == ' ' ? p + 1 : p;
    if (stop == end || !is_operator(stop, end)) return stop;
    p = stop;
  }
}

const Byte* Splitter::lines(const Byte* p, const Byte* end) const {
  const Byte* first = line_ending(p, end);
  if (first == p) return p + 1;  // a carriage return alone
  if (rules_.newline_indent) {
    const Byte* stop = indented_lines(p, end);
    return stop < end && is_operator(stop, end) ? operators(stop, end) : stop;
  }
  const std::ptrdiff_t width = first - p;
  for (int repeat = 1; repeat < 4 && end - first >= width && std::memcmp(first, p, width) == 0; ++repeat)
    first += width;
  return first;
}

const Byte* Splitter::directive(const Byte* p, const Byte* end) const {
  const Byte* name = blanks(p + 1, end);
  if (name < end) {
    const Byte* stop = known_name(directives_, name, end);
    if (stop != name) return stop;
  }
  return p + 1 < end && p[1] == '#' ? p + 2 : p + 1;
}

const Byte* Splitter::escape(const Byte* p, const Byte* end) const {
  const Byte* next = p + 1;
  if (next == end) return next;
  const Byte* stop = known_name(commands_, next, end);
  if (stop != next) return stop;
  if (kEscapes.find(static_cast<char>(*next)) != std::string_view::npos) return next + 1;
  if (rules_.newline_indent) return indented_lines(next, end);
  return next;
}

}  // namespace megacpp
