// Starts of words over a window of bytes. The window begins with a word, and a word depends on nothing before it.
// `Splitter::word_end` decides the same, one word at a time.
#include "code_words.hpp"

#include <bit>
#include <cstring>

#include "splitter.hpp"

namespace megacpp {

namespace {

constexpr std::uint64_t kOne = 1;
constexpr std::size_t kWindow = ByteClasses<CodeClasses>::kWindow;
constexpr std::size_t kAhead = 2;  // bytes behind one that decide whether a word begins with it

std::uint64_t below(std::size_t bit) { return (kOne << bit) - 1; }
std::uint64_t firsts(std::uint64_t runs) { return runs & ~(runs << 1); }
// The bit behind each run of `runs` whose first bit is in `first`.
std::uint64_t behind(std::uint64_t first, std::uint64_t runs) { return (first + runs) & ~runs; }

}  // namespace

std::size_t CodeWords::next(const Byte* p, const Byte* stop, const Byte** ends) {
  std::size_t count = 0;
  while (p < stop && count + 64 <= kMost) {
    if (chunk_end_ - p < 64 && (chunk_end_ < end_ || chunk_end_ <= p)) {
      chunk_ = p;
      chunk_end_ = classes_.read(p, end_);
    }
    std::uint64_t found = borders(p, static_cast<std::size_t>(stop - p));
    if (found == 0) {
      p = splitter_.word_end(p, stop);
      ends[count++] = p;
      continue;
    }
    const Byte* start = p;
    p += 63 - std::countl_zero(found);
    for (; found != 0; found &= found - 1) ends[count++] = start + std::countr_zero(found);
  }
  return count;
}

// Bits of the places behind `p` where one word ends and the next one begins, as far as they are certain; `room` bytes are
// left. None if the first word needs another look.
std::uint64_t CodeWords::borders(const Byte* p, std::size_t room) const {
  CodeClasses in = classes_.at(static_cast<std::size_t>(p - chunk_));
  const std::size_t size = std::min(room, kWindow);
  const std::uint64_t ascii = below(size) & (in.letters | in.digits | in.spaces | in.tabs | in.linefeeds | in.returns |
                                             in.colons | in.operators | in.rare | in.others);
  std::uint64_t inside = ascii & ~(ascii + 1);  // up to the first byte that is not ASCII
  std::uint64_t certain = room <= kWindow && inside == below(room) ? below(room + 1) : inside >> kAhead;

  // Three colons in a row are seldom: they are left to the slow path, as are '#' and '\\'.
  const std::uint64_t slow = (in.rare | (firsts(in.colons) & in.colons >> 1 & in.colons >> 2)) & inside;
  if (slow != 0) {
    const auto at = static_cast<unsigned>(std::countr_zero(slow));
    inside = below(at);
    certain = below(at + 1);
    if (p[at] == ':' || (at != 0 && p[at] == '\\' && p[at - 1] == ' '))
      certain = inside;  // with what is before it, maybe
  }
  for (auto* bits : {&in.letters, &in.digits, &in.spaces, &in.tabs, &in.linefeeds, &in.returns, &in.colons,
                     &in.operators, &in.others})
    *bits &= inside;

  const std::uint64_t words = in.letters | in.digits, word_starts = firsts(words);
  std::uint64_t pairs = firsts(in.colons) & in.colons >> 1;
  std::uint64_t operators = in.operators | (in.colons & ~pairs & ~(pairs << 1));
  std::uint64_t own = in.others;  // each is a word of its own
  for (std::uint64_t left = pairs & words << 1 & words << 2 & word_starts << 3; left != 0; left &= left - 1) {
    const auto at = static_cast<unsigned>(std::countr_zero(left));
    if (std::memcmp(p + at - 3, "std", 3) == 0) pairs &= ~(kOne << at);
  }
  for (std::uint64_t left = operators & words << 1 & word_starts << 8; left != 0; left &= left - 1) {
    const auto at = static_cast<unsigned>(std::countr_zero(left));
    if (std::memcmp(p + at - 8, "template<", 9) == 0) operators &= ~(kOne << at);
  }

  const std::uint64_t windows_ends = in.returns & in.linefeeds >> 1;
  own |= in.returns & ~windows_ends;
  const std::uint64_t newlines = in.linefeeds | windows_ends, white = newlines | in.spaces | in.tabs;
  const std::uint64_t taken = in.spaces & operators << 1;  // by the run of operators before it
  const std::uint64_t rest = white & ~taken, blanks = rest & ~newlines;
  const std::uint64_t white_starts = firsts(rest) & ~(newlines & operators << 1);  // a run takes the lines behind it
  // Blanks that begin a run of white space are a word: lines that follow are the next one, and so are operators, unless
  // there was but one space, which is theirs.
  const std::uint64_t leading = firsts(rest) & blanks;
  const std::uint64_t after = behind(leading, blanks);
  const std::uint64_t single = (leading & in.spaces) << 1;
  const std::uint64_t operator_starts = (firsts(operators) & ~(white << 1)) | (after & operators & ~single);

  const std::uint64_t numbers = behind(word_starts & in.digits, words) & operators & words >> 1;
  std::uint64_t starts =
      word_starts | pairs | own | white_starts | (after & newlines) | operator_starts | (certain & ~inside);
  if (numbers != 0) [[unlikely]]
    certain &= up_to_number(p, numbers, word_starts);
  return starts & certain & ~kOne;
}

// All bits up to the start of the first number that goes on behind a '.', a '\'' or the sign of an exponent. `behind`: the
// bits behind numbers that a letter or digit follows.
std::uint64_t CodeWords::up_to_number(const Byte* p, std::uint64_t behind, std::uint64_t starts) {
  for (; behind != 0; behind &= behind - 1) {
    const auto at = static_cast<unsigned>(std::countr_zero(behind));
    const Byte exponent = p[at - 1] | 0x20;
    const bool goes_on =
        p[at] == '.' || p[at] == '\'' || ((p[at] == '+' || p[at] == '-') && (exponent == 'e' || exponent == 'p'));
    if (goes_on) return below(64 - static_cast<unsigned>(std::countl_zero(starts & below(at))));
  }
  return ~std::uint64_t{0};
}

}  // namespace megacpp
