// Starts of words of the general split over a window of bytes. The window begins with a word, so nothing before it counts;
// its last word is never trusted, since it may go on behind the window, and begins the next window.
#include "general_words.hpp"

#include <bit>

#include "splitter.hpp"

namespace megacpp {

namespace {

std::uint64_t below(unsigned bit) { return (std::uint64_t{1} << bit) - 1; }

// First digits of threes: every third of a run from its start on.
std::uint64_t digit_starts(std::uint64_t digits) {
  std::uint64_t starts = digits & ~(digits << 1);
  const std::uint64_t fourth = digits & digits << 1 & digits << 2 & digits << 3;
  for (std::uint64_t next = starts << 3 & fourth; next != 0; next = next << 3 & fourth) starts |= next;
  return starts;
}

// Starts in runs of white space: of the run; behind its last newline; of its last character, unless that is a newline.
std::uint64_t space_starts(std::uint64_t space, std::uint64_t newlines, std::uint64_t blank) {
  std::uint64_t behind = blank & newlines << 1;
  for (std::uint64_t later = newlines & blank << 1; later != 0; later &= later - 1) {
    const auto newline = static_cast<unsigned>(std::countr_zero(later));
    const std::uint64_t solid =
        ~blank & below(newline);  // a newline follows these blanks: they are not behind the last
    behind &=
        solid == 0 ? ~below(newline) : ~below(newline) | below(64 - static_cast<unsigned>(std::countl_zero(solid)));
  }
  return (space & ~(space << 1)) | behind | (space & ~(space >> 1) & ~newlines);
}

Byte lower(Byte c) { return c | 0x20; }

}  // namespace

std::size_t GeneralWords::next(const Byte** ends) {
  std::size_t count = 0;
  while (p_ < end_ && count + 64 <= kMost) {
    if (chunk_end_ - p_ < 64 && (chunk_end_ < end_ || chunk_end_ <= p_)) {
      chunk_ = p_;
      chunk_end_ = classes_.read(p_, end_);
    }
    std::uint64_t found = starts(static_cast<std::size_t>(p_ - chunk_));
    found &= found - 1;  // the first one begins here and ends nothing
    if (found == 0) {
      p_ = splitter_.general_word(p_, end_);
      ends[count++] = p_;
      continue;
    }
    const Byte* start = p_;
    p_ += 63 - std::countl_zero(found);
    for (; found != 0; found &= found - 1) ends[count++] = start + std::countr_zero(found);
  }
  return count;
}

// Bits of the starts of words from the window's first byte on; at most the first bit if no word ends for certain.
std::uint64_t GeneralWords::starts(std::size_t place) const {
  GeneralClasses in = classes_.at(place);
  const std::uint64_t known = in.letters | in.digits | in.spaces | in.blanks | in.newlines | in.symbols;
  if ((known & 1) == 0) return 0;
  const std::uint64_t inside = known & ~(known + 1);  // up to the first byte that is not ASCII
  for (auto* bits : {&in.letters, &in.digits, &in.spaces, &in.blanks, &in.newlines, &in.symbols}) *bits &= inside;

  // A run of symbols takes one space before it and the newlines behind it; letters take one character before them that
  // begins a word of its own otherwise: a symbol, or the last of some blanks.
  const std::uint64_t symbols = in.symbols & ~((in.symbols | in.spaces) << 1);
  const std::uint64_t letters = in.letters & ~((in.letters | in.spaces | in.blanks | symbols) << 1);
  const std::uint64_t taken = in.newlines & ~(in.newlines + (in.newlines & in.symbols << 1));
  const std::uint64_t newlines = in.newlines & ~taken, blank = in.spaces | in.blanks, space = blank | newlines;
  std::uint64_t starts = symbols | letters | digit_starts(in.digits) | space_starts(space, newlines, blank);

  if (const std::uint64_t candidates = in.quotes & symbols & in.letters >> 1; candidates != 0) [[unlikely]]
    starts = cut_contractions(candidates, starts, inside);
  if ((space & ~(inside >> 1)) != 0) {  // white space that may go on: only its start is certain
    const std::uint64_t solid = inside & ~space;
    if (solid == 0) return 1;
    starts &= below(64 - static_cast<unsigned>(std::countl_zero(solid))) * 2 + 1;
  }
  return starts;
}

// '(?i:[sdmt]|ll|ve|re) at an apostrophe that begins a word and has a letter behind it.
std::uint64_t GeneralWords::cut_contractions(std::uint64_t candidates, std::uint64_t starts,
                                             std::uint64_t inside) const {
  for (; candidates != 0; candidates &= candidates - 1) {
    const auto at = static_cast<unsigned>(std::countr_zero(candidates));
    if ((inside >> at & 7) != 7) return starts & (below(at) * 2 + 1);
    const Byte first = lower(p_[at + 1]), second = lower(p_[at + 2]);
    if (first == 's' || first == 'd' || first == 'm' || first == 't')
      starts |= std::uint64_t{4} << at;
    else if ((first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e'))
      starts |= std::uint64_t{8} << at & inside;
  }
  return starts;
}

}  // namespace megacpp
