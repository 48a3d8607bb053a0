#include "identifiers.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace megacpp {
namespace {

constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15ULL;
constexpr std::int64_t kPowers = 1 << 12;  // bytes behind so many have one weight

constexpr bool is_digit(unsigned char byte) { return byte >= '0' && byte <= '9'; }

constexpr std::array<bool, 256> word_bytes() {
  std::array<bool, 256> word{};
  for (int byte = 0; byte < 256; ++byte) {
    word[byte] = is_digit(byte) || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_' ||
                 byte == '$' || byte >= 128;
  }
  return word;
}
constexpr std::array<bool, 256> kWord = word_bytes();

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0;
  std::uint64_t power = kBase;
  std::int64_t weighed = 0;
  for (const char byte : text) {
    hash += (static_cast<unsigned char>(byte) + 1ULL) * power;
    if (++weighed < kPowers) power *= kBase;
  }
  return hash;
}

}  // namespace

Words find_words(std::string_view code) {
  Words words;
  for (std::size_t at = 0; at < code.size();) {
    if (!kWord[static_cast<unsigned char>(code[at])]) {
      ++at;
      continue;
    }
    const std::size_t start = at;
    while (at < code.size() && kWord[static_cast<unsigned char>(code[at])]) ++at;
    if (is_digit(static_cast<unsigned char>(code[start]))) continue;
    words.starts.push_back(static_cast<std::int64_t>(start));
    words.ends.push_back(static_cast<std::int64_t>(at));
  }
  return words;
}

std::vector<std::uint64_t> hash_spans(std::string_view text, Offsets starts, Offsets ends) {
  if (starts.size() != ends.size()) throw std::invalid_argument("unequal columns");
  std::vector<std::uint64_t> hashes;
  hashes.reserve(starts.size());
  for (std::size_t index = 0; index < starts.size(); ++index) {
    if (starts[index] < 0 || ends[index] < starts[index] || static_cast<std::size_t>(ends[index]) > text.size()) {
      throw std::invalid_argument("a range lies outside the text");
    }
    const auto start = static_cast<std::size_t>(starts[index]);
    hashes.push_back(hash_of(text.substr(start, static_cast<std::size_t>(ends[index]) - start)));
  }
  return hashes;
}

bool is_operator(std::string_view spelling) { return spelling.starts_with("operator"); }

std::uint64_t hash_name(std::string_view spelling) {
  if (is_operator(spelling)) return hash_of(spelling);
  const std::string_view plain = spelling.substr(0, spelling.find('<'));
  return hash_of(plain.substr(std::min(plain.find_first_not_of('~'), plain.size())));
}

}  // namespace megacpp
