// The same classes four ways: 32 bytes at once, 16, and one by one; the processor decides when the module is loaded.
#include "byte_classes.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace megacpp {

const ByteClasses::Classify ByteClasses::classify_ = ByteClasses::fastest();

void ByteClasses::classify_one(const Byte* p, std::size_t block, ByteClasses& out) {
  Window window{};
  for (unsigned i = 0; i < 64; ++i) {
    const Byte c = p[i];
    const std::uint64_t bit = std::uint64_t{1} << i;
    const Byte letter = c | 0x20;
    if (letter >= 'a' && letter <= 'z')
      window.letters |= bit;
    else if (c >= '0' && c <= '9')
      window.digits |= bit;
    else if (c == ' ')
      window.spaces |= bit;
    else if (c == '\n' || c == '\r')
      window.newlines |= bit;
    else if (c >= '\t' && c <= '\r')
      window.blanks |= bit;
    else if (c < 0x80)
      window.symbols |= bit;
    if (c == '\'') window.quotes |= bit;
  }
  out.set(block, window);
}

void ByteClasses::classify_portable(const Byte* p, std::size_t blocks, ByteClasses& out) {
  for (std::size_t block = 0; block < blocks; ++block) classify_one(p + 64 * block, block, out);
}

#if defined(__x86_64__)

namespace {

using Bytes16 = __m128i;
using Bytes32 = __m256i;

inline Bytes16 equal(Bytes16 text, char c) { return _mm_cmpeq_epi8(text, _mm_set1_epi8(c)); }
inline Bytes16 between(Bytes16 text, char low, char width) {  // unsigned low <= text < low + width
  const Bytes16 shifted = _mm_sub_epi8(text, _mm_set1_epi8(low));
  return _mm_cmpeq_epi8(_mm_min_epu8(shifted, _mm_set1_epi8(static_cast<char>(width - 1))), shifted);
}

[[gnu::target("avx2")]] inline Bytes32 equal(Bytes32 text, char c) {
  return _mm256_cmpeq_epi8(text, _mm256_set1_epi8(c));
}
[[gnu::target("avx2")]] inline Bytes32 between(Bytes32 text, char low, char width) {
  const Bytes32 shifted = _mm256_sub_epi8(text, _mm256_set1_epi8(low));
  return _mm256_cmpeq_epi8(_mm256_min_epu8(shifted, _mm256_set1_epi8(static_cast<char>(width - 1))), shifted);
}

}  // namespace

void ByteClasses::classify_sse2(const Byte* p, std::size_t blocks, ByteClasses& out) {
  for (std::size_t block = 0; block < blocks; ++block) {
    Window window{};
    for (unsigned at = 0; at < 64; at += 16) {
      const Bytes16 text = _mm_loadu_si128(reinterpret_cast<const Bytes16*>(p + 64 * block + at));
      const auto bits = [at](Bytes16 mask) {
        return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(mask))) << at;
      };
      window.letters |= bits(between(_mm_or_si128(text, _mm_set1_epi8(0x20)), 'a', 26));
      window.digits |= bits(between(text, '0', 10));
      window.spaces |= bits(equal(text, ' '));
      window.newlines |= bits(_mm_or_si128(equal(text, '\n'), equal(text, '\r')));
      window.blanks |= bits(between(text, '\t', 5));
      window.quotes |= bits(equal(text, '\''));
      window.symbols |= bits(text);  // so far: the bytes that are not ASCII
    }
    window.blanks &= ~window.newlines;
    window.symbols =
        ~(window.symbols | window.letters | window.digits | window.spaces | window.newlines | window.blanks);
    out.set(block, window);
  }
}

[[gnu::target("avx2")]] void ByteClasses::classify_avx2(const Byte* p, std::size_t blocks, ByteClasses& out) {
  for (std::size_t block = 0; block < blocks; ++block) {
    Window window{};
    for (unsigned at = 0; at < 64; at += 32) {
      const Bytes32 text = _mm256_loadu_si256(reinterpret_cast<const Bytes32*>(p + 64 * block + at));
      const auto bits = [at](int mask) { return static_cast<std::uint64_t>(static_cast<unsigned>(mask)) << at; };
      const Bytes32 lower = _mm256_or_si256(text, _mm256_set1_epi8(0x20));
      window.letters |= bits(_mm256_movemask_epi8(between(lower, 'a', 26)));
      window.digits |= bits(_mm256_movemask_epi8(between(text, '0', 10)));
      window.spaces |= bits(_mm256_movemask_epi8(equal(text, ' ')));
      window.newlines |= bits(_mm256_movemask_epi8(_mm256_or_si256(equal(text, '\n'), equal(text, '\r'))));
      window.blanks |= bits(_mm256_movemask_epi8(between(text, '\t', 5)));
      window.quotes |= bits(_mm256_movemask_epi8(equal(text, '\'')));
      window.symbols |= bits(_mm256_movemask_epi8(text));  // so far: the bytes that are not ASCII
    }
    window.blanks &= ~window.newlines;
    window.symbols =
        ~(window.symbols | window.letters | window.digits | window.spaces | window.newlines | window.blanks);
    out.set(block, window);
  }
}

ByteClasses::Classify ByteClasses::fastest() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") ? classify_avx2 : classify_sse2;
}

#else

ByteClasses::Classify ByteClasses::fastest() { return classify_portable; }

#endif

}  // namespace megacpp
