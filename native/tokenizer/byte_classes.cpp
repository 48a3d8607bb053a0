// The same classes three ways: 32 bytes at once, 16, and one by one; the processor decides when the module is loaded.
#include "byte_classes.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace megacpp {

namespace {

bool is_between(Byte c, char low, unsigned width) { return static_cast<Byte>(c - low) < width; }

void add(GeneralClasses& in, Byte c, unsigned at) {
  const auto bit = [at](bool is_set) { return std::uint64_t{is_set} << at; };
  in.letters |= bit(is_between(c | 0x20, 'a', 26));
  in.digits |= bit(is_between(c, '0', 10));
  in.spaces |= bit(c == ' ');
  in.newlines |= bit(c == '\n' || c == '\r');
  in.blanks |= bit(is_between(c, '\t', 5));
  in.quotes |= bit(c == '\'');
}

void add(CodeClasses& in, Byte c, unsigned at) {
  const auto bit = [at](bool is_set) { return std::uint64_t{is_set} << at; };
  in.letters |= bit(is_between(c | 0x20, 'a', 26) || c == '_');
  in.digits |= bit(is_between(c, '0', 10));
  in.spaces |= bit(c == ' ');
  in.tabs |= bit(c == '\t');
  in.linefeeds |= bit(c == '\n');
  in.returns |= bit(c == '\r');
  in.colons |= bit(c == ':');
  in.operators |= bit(is_between(c, '!', 94) && c != '>');
  in.rare |= bit(c == '#' || c == '\\');
}

// Of 64 bytes, of which `high` are not ASCII.
void complete(GeneralClasses& in, std::uint64_t high) {
  in.blanks &= ~in.newlines;
  in.symbols = ~(high | in.letters | in.digits | in.spaces | in.newlines | in.blanks);
}

void complete(CodeClasses& in, std::uint64_t high) {
  const std::uint64_t words = in.letters | in.digits | in.colons | in.rare;
  in.operators &= ~words;
  in.others = ~(high | words | in.operators | in.spaces | in.tabs | in.linefeeds | in.returns);
}

}  // namespace

template <class Classes>
const ByteClasses<Classes>::Classify ByteClasses<Classes>::classify_ = ByteClasses<Classes>::fastest();

template <class Classes>
void ByteClasses<Classes>::classify_portable(const Byte* p, std::size_t first, std::size_t count, ByteClasses& out) {
  for (std::size_t block = first; block < first + count; ++block, p += 64) {
    Classes classes{};
    std::uint64_t high = 0;
    for (unsigned at = 0; at < 64; ++at) {
      add(classes, p[at], at);
      high |= std::uint64_t{p[at] >= 0x80} << at;
    }
    complete(classes, high);
    out.set(block, classes);
  }
}

#if defined(__x86_64__)

namespace {

// The functions of both widths stand twice: one compiled for AVX2 cannot be shared with processors that lack it.
using Bytes16 = __m128i;
using Bytes32 = __m256i;

std::uint64_t bits(Bytes16 mask, unsigned at) {
  return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(mask))) << at;
}
Bytes16 either(Bytes16 a, Bytes16 b) { return _mm_or_si128(a, b); }
Bytes16 equal(Bytes16 text, char c) { return _mm_cmpeq_epi8(text, _mm_set1_epi8(c)); }
Bytes16 between(Bytes16 text, char low, char width) {  // unsigned low <= text < low + width
  const Bytes16 shifted = _mm_sub_epi8(text, _mm_set1_epi8(low));
  return _mm_cmpeq_epi8(_mm_min_epu8(shifted, _mm_set1_epi8(static_cast<char>(width - 1))), shifted);
}
Bytes16 letter(Bytes16 text) { return between(either(text, _mm_set1_epi8(0x20)), 'a', 26); }

void add(GeneralClasses& in, Bytes16 text, unsigned at) {
  in.letters |= bits(letter(text), at);
  in.digits |= bits(between(text, '0', 10), at);
  in.spaces |= bits(equal(text, ' '), at);
  in.newlines |= bits(either(equal(text, '\n'), equal(text, '\r')), at);
  in.blanks |= bits(between(text, '\t', 5), at);
  in.quotes |= bits(equal(text, '\''), at);
}

void add(CodeClasses& in, Bytes16 text, unsigned at) {
  in.letters |= bits(either(letter(text), equal(text, '_')), at);
  in.digits |= bits(between(text, '0', 10), at);
  in.spaces |= bits(equal(text, ' '), at);
  in.tabs |= bits(equal(text, '\t'), at);
  in.linefeeds |= bits(equal(text, '\n'), at);
  in.returns |= bits(equal(text, '\r'), at);
  in.colons |= bits(equal(text, ':'), at);
  in.operators |= bits(_mm_andnot_si128(equal(text, '>'), between(text, '!', 94)), at);
  in.rare |= bits(either(equal(text, '#'), equal(text, '\\')), at);
}

[[gnu::target("avx2")]] std::uint64_t bits(Bytes32 mask, unsigned at) {
  return static_cast<std::uint64_t>(static_cast<unsigned>(_mm256_movemask_epi8(mask))) << at;
}
[[gnu::target("avx2")]] Bytes32 either(Bytes32 a, Bytes32 b) { return _mm256_or_si256(a, b); }
[[gnu::target("avx2")]] Bytes32 equal(Bytes32 text, char c) { return _mm256_cmpeq_epi8(text, _mm256_set1_epi8(c)); }
[[gnu::target("avx2")]] Bytes32 between(Bytes32 text, char low, char width) {
  const Bytes32 shifted = _mm256_sub_epi8(text, _mm256_set1_epi8(low));
  return _mm256_cmpeq_epi8(_mm256_min_epu8(shifted, _mm256_set1_epi8(static_cast<char>(width - 1))), shifted);
}
[[gnu::target("avx2")]] Bytes32 letter(Bytes32 text) { return between(either(text, _mm256_set1_epi8(0x20)), 'a', 26); }

[[gnu::target("avx2")]] void add(GeneralClasses& in, Bytes32 text, unsigned at) {
  in.letters |= bits(letter(text), at);
  in.digits |= bits(between(text, '0', 10), at);
  in.spaces |= bits(equal(text, ' '), at);
  in.newlines |= bits(either(equal(text, '\n'), equal(text, '\r')), at);
  in.blanks |= bits(between(text, '\t', 5), at);
  in.quotes |= bits(equal(text, '\''), at);
}

[[gnu::target("avx2")]] void add(CodeClasses& in, Bytes32 text, unsigned at) {
  in.letters |= bits(either(letter(text), equal(text, '_')), at);
  in.digits |= bits(between(text, '0', 10), at);
  in.spaces |= bits(equal(text, ' '), at);
  in.tabs |= bits(equal(text, '\t'), at);
  in.linefeeds |= bits(equal(text, '\n'), at);
  in.returns |= bits(equal(text, '\r'), at);
  in.colons |= bits(equal(text, ':'), at);
  in.operators |= bits(_mm256_andnot_si256(equal(text, '>'), between(text, '!', 94)), at);
  in.rare |= bits(either(equal(text, '#'), equal(text, '\\')), at);
}

}  // namespace

template <class Classes>
void ByteClasses<Classes>::classify_sse2(const Byte* p, std::size_t first, std::size_t count, ByteClasses& out) {
  for (std::size_t block = first; block < first + count; ++block, p += 64) {
    Classes classes{};
    std::uint64_t high = 0;
    for (unsigned at = 0; at < 64; at += 16) {
      const Bytes16 text = _mm_loadu_si128(reinterpret_cast<const Bytes16*>(p + at));
      add(classes, text, at);
      high |= bits(text, at);
    }
    complete(classes, high);
    out.set(block, classes);
  }
}

template <class Classes>
[[gnu::target("avx2")]] void ByteClasses<Classes>::classify_avx2(const Byte* p, std::size_t first, std::size_t count,
                                                                 ByteClasses& out) {
  for (std::size_t block = first; block < first + count; ++block, p += 64) {
    Classes classes{};
    std::uint64_t high = 0;
    for (unsigned at = 0; at < 64; at += 32) {
      const Bytes32 text = _mm256_loadu_si256(reinterpret_cast<const Bytes32*>(p + at));
      add(classes, text, at);
      high |= bits(text, at);
    }
    complete(classes, high);
    out.set(block, classes);
  }
}

template <class Classes>
ByteClasses<Classes>::Classify ByteClasses<Classes>::fastest() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") ? classify_avx2 : classify_sse2;
}

#else

template <class Classes>
ByteClasses<Classes>::Classify ByteClasses<Classes>::fastest() {
  return classify_portable;
}

#endif

template class ByteClasses<GeneralClasses>;
template class ByteClasses<CodeClasses>;

}  // namespace megacpp
