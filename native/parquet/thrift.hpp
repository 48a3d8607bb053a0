// Thrift's compact protocol, as parquet's headers and footers are written in it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "buffer.hpp"

namespace megacpp {

enum class Kind : std::uint8_t {
  yes = 1,
  no = 2,
  byte = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  binary = 8,
  list = 9,
  structure = 12
};

// Writes one struct, field by field with rising ids; `end` closes the innermost struct that is open.
class Thrift {
 public:
  explicit Thrift(Buffer& out) : out_(out) {}

  void number(int id, Kind kind, std::int64_t value) {
    field(id, kind);
    if (kind == Kind::byte) return out_.put(static_cast<std::uint8_t>(value));
    item(value);
  }

  void flag(int id, bool value) { field(id, value ? Kind::yes : Kind::no); }

  void text(int id, std::string_view value) {
    field(id, Kind::binary);
    item(value);
  }

  // `count` items follow: by `item`, or structs by `begin` and `end`.
  void list(int id, Kind kind, std::size_t count) {
    field(id, Kind::list);
    const auto type = static_cast<std::uint8_t>(kind);
    out_.put(count < 15 ? static_cast<std::uint8_t>(count << 4 | type) : 0xF0 | type);
    if (count >= 15) out_.put_varint(count);
  }

  void item(std::int64_t value) {
    out_.put_varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }

  void item(std::string_view value) {
    out_.put_varint(value.size());
    out_.put(value.data(), value.size());
  }

  void begin() { last_.push_back(0); }

  void begin(int id) {
    field(id, Kind::structure);
    begin();
  }

  void end() {
    out_.put(0);
    last_.pop_back();
  }

 private:
  void field(int id, Kind kind) {
    out_.put(static_cast<std::uint8_t>((id - last_.back()) << 4 | static_cast<int>(kind)));
    last_.back() = id;
  }

  Buffer& out_;
  std::vector<int> last_{0};
};

}  // namespace megacpp
