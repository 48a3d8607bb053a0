#include "page_header.hpp"

#include <stdexcept>

namespace megacpp {
namespace {

enum class Type : std::uint8_t {
  stop = 0,
  yes = 1,
  no = 2,
  byte = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  real = 7,
  binary = 8,
  list = 9,
  set = 10,
  map = 11,
  structure = 12,
};

struct Field {
  Type type;
  std::int64_t id;
};

constexpr int deepest = 8;  // structs within a header are two deep

class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }

  // The next field of a struct whose last field was `before`.
  Field field(std::int64_t before) {
    const std::uint8_t head = byte();
    const auto type = static_cast<Type>(head & 0x0F);
    if (type == Type::stop) return {type, 0};
    const std::int64_t step = head >> 4;
    return {type, step ? before + step : zigzag()};
  }

  std::int64_t zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }

  void skip(Type type, int depth = 0) {
    if (depth > deepest) throw std::invalid_argument("a page header of too many structs");
    switch (type) {
      case Type::yes:
      case Type::no: return;
      case Type::byte: return skip_bytes(1);
      case Type::i16:
      case Type::i32:
      case Type::i64: return static_cast<void>(varint());
      case Type::real: return skip_bytes(8);
      case Type::binary: return skip_bytes(varint());
      case Type::structure: return skip_struct(depth + 1);
      default: throw std::invalid_argument("a page header with a field of no known kind");
    }
  }

 private:
  void skip_struct(int depth) {
    for (Field next = field(0); next.type != Type::stop; next = field(next.id)) skip(next.type, depth);
  }

  void skip_bytes(std::uint64_t count) {
    if (count > bytes_.size() - at_) throw std::invalid_argument("a page header that is cut off");
    at_ += count;
  }

  std::uint8_t byte() {
    if (at_ == bytes_.size()) throw std::invalid_argument("a page header that is cut off");
    return bytes_[at_++];
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7F) << shift;
      if (next < 0x80) return value;
    }
    throw std::invalid_argument("a page header with a number that is too long");
  }

  Bytes bytes_;
  std::size_t at_ = 0;
};

// The struct of a data or a dictionary page: number of values and encoding are its first two fields. Of a page of the
// second version, which nothing here decodes, the second is another number.
void read_values(Reader& reader, PageHeader& header) {
  for (Field next = reader.field(0); next.type != Type::stop; next = reader.field(next.id)) {
    if (next.type == Type::i32 && next.id == 1) {
      header.values = reader.zigzag();
    } else if (next.type == Type::i32 && next.id == 2) {
      header.encoding = reader.zigzag();
    } else {
      reader.skip(next.type);
    }
  }
}

void read_field(Reader& reader, const Field& next, PageHeader& header) {
  const bool is_number = next.type == Type::i32;
  if (is_number && next.id == 1) {
    header.kind = reader.zigzag();
  } else if (is_number && next.id == 2) {
    header.whole_size = reader.zigzag();
  } else if (is_number && next.id == 3) {
    header.packed_size = reader.zigzag();
  } else if (is_number && next.id == 4) {
    header.checksum = reader.zigzag() & 0xFFFFFFFF;
  } else if (next.type == Type::structure && (next.id == 5 || next.id == 7 || next.id == 8)) {
    read_values(reader, header);
  } else {
    reader.skip(next.type);
  }
}

}  // namespace

PageHeader read_page_header(Bytes bytes) {
  PageHeader header;
  Reader reader(bytes);
  for (Field next = reader.field(0); next.type != Type::stop; next = reader.field(next.id)) {
    read_field(reader, next, header);
  }
  if (header.whole_size < 0 || header.packed_size < 0 || header.values < 0) {
    throw std::invalid_argument("a page header without sizes");
  }
  header.size = reader.at();
  return header;
}

}  // namespace megacpp
