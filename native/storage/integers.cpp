#include "integers.hpp"

#include <cstdint>
#include <limits>

namespace megacpp {
namespace {

constexpr bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

}  // namespace

template <typename Value>
std::optional<List<Value>> read_list(std::string_view json, std::size_t at) {
  if (at >= json.size() || json[at] != '[') return std::nullopt;
  List<Value> list{{}, at + 2};
  if (at + 1 < json.size() && json[at + 1] == ']') return list;
  list.values.reserve((json.size() - at) / 32);
  const char* byte = json.data() + at + 1;
  const char* const stop = json.data() + json.size();
  for (;; ++byte) {
    if (byte == stop || !is_digit(*byte)) return std::nullopt;
    const char* const first = byte;
    std::uint64_t value = 0;
    for (; byte != stop && is_digit(*byte); ++byte) {
      value = 10 * value + static_cast<std::uint64_t>(*byte - '0');
      if (value > std::numeric_limits<Value>::max()) return std::nullopt;
    }
    if ((*first == '0' && byte - first > 1) || byte == stop) return std::nullopt;
    list.values.push_back(static_cast<Value>(value));
    if (*byte == ']') break;
    if (*byte != ',') return std::nullopt;
  }
  list.end = static_cast<std::size_t>(byte + 1 - json.data());
  return list;
}

template std::optional<List<std::uint8_t>> read_list(std::string_view json, std::size_t at);
template std::optional<List<std::uint16_t>> read_list(std::string_view json, std::size_t at);
template std::optional<List<std::uint32_t>> read_list(std::string_view json, std::size_t at);

}  // namespace megacpp
