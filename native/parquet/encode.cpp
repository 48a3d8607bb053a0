#include "encode.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "levels.hpp"
#include "place_table.hpp"
#include "run_writer.hpp"

namespace megacpp {
namespace {

constexpr std::size_t longest_bound = 4096;  // as Arrow has it
constexpr std::size_t largest_dictionary = 1 << 20;
constexpr std::size_t most_bytes = std::numeric_limits<std::int32_t>::max();

// Integers as parquet has them: at least four bytes.
template <std::integral Value>
constexpr std::size_t width = std::max<std::size_t>(sizeof(Value), 4);

template <std::integral Value>
std::size_t plain_size(Value) {
  return width<Value>;
}

std::size_t plain_size(std::string_view text) { return sizeof(std::uint32_t) + text.size(); }

template <std::integral Value>
void put_plain(Buffer& out, Value value) {
  out.put_number(static_cast<std::uint64_t>(value), width<Value>);
}

void put_plain(Buffer& out, std::string_view text) {
  out.put_number(text.size(), sizeof(std::uint32_t));
  out.put(text.data(), text.size());
}

template <std::integral Value>
void write_plain(Buffer& out, std::span<const Value> values) {
  std::uint8_t* at = out.extend(values.size() * width<Value>);
  if constexpr (sizeof(Value) == width<Value>) {
    if (!values.empty()) std::memcpy(at, values.data(), values.size_bytes());
  } else {
    for (std::size_t place = 0; place < values.size(); ++place) {
      const std::uint32_t value = values[place];
      std::memcpy(at + place * sizeof value, &value, sizeof value);
    }
  }
}

void write_plain(Buffer& out, std::span<const std::string_view> values) {
  for (const std::string_view value : values) put_plain(out, value);
}

// The lowest bytes of all values, then their second bytes, and so on.
template <std::integral Value>
void write_split(Buffer& out, std::span<const Value> values) {
  std::uint8_t* at = out.extend(values.size() * width<Value>);
  for (std::size_t byte = 0; byte < width<Value>; ++byte, at += values.size()) {
    if (byte >= sizeof(Value)) {
      std::fill_n(at, values.size(), std::uint8_t{0});
      continue;
    }
    for (std::size_t place = 0; place < values.size(); ++place) {
      at[place] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(values[place]) >> (8 * byte));
    }
  }
}

std::uint64_t zigzag(std::int32_t number) {
  return static_cast<std::uint32_t>(number) << 1 ^ static_cast<std::uint32_t>(number >> 31);
}

// Differences of 32 bits to the value before: blocks of four parts, each in packed bits of its own width, less the
// least difference of the block.
class DifferenceWriter {
 public:
  explicit DifferenceWriter(Buffer& out) : out_(out) {}

  template <typename Value>
  void write(std::span<const Value> values) {
    out_.put_varint(block);
    out_.put_varint(parts);
    out_.put_varint(values.size());
    out_.put_varint(values.empty() ? 0 : zigzag(static_cast<std::int32_t>(values[0])));
    for (std::size_t begin = 1; begin < values.size(); begin += block) {
      const std::size_t end = std::min(values.size(), begin + block);
      for (std::size_t place = begin; place < end; ++place) {
        const auto value = static_cast<std::uint32_t>(values[place]);
        steps_[place - begin] = static_cast<std::int32_t>(value - static_cast<std::uint32_t>(values[place - 1]));
      }
      write_block(end - begin);
    }
  }

 private:
  static constexpr std::size_t block = 128, parts = 4, part = block / parts;

  void write_block(std::size_t count) {
    const std::int32_t least = *std::min_element(steps_, steps_ + count);
    std::fill(steps_ + count, steps_ + block, least);
    out_.put_varint(zigzag(least));
    const std::size_t widths = out_.size();
    out_.extend(parts);
    for (std::size_t index = 0; index < parts; ++index) {
      // What no value is in has no bits.
      const bool is_used = index * part < count;
      out_.set(widths + index, is_used ? write_part(steps_ + index * part, least) : 0);
    }
  }

  std::uint8_t write_part(const std::int32_t* steps, std::int32_t least) {
    std::uint32_t all = 0;
    for (std::size_t place = 0; place < part; ++place) all |= over(steps[place], least);
    const auto bits = static_cast<int>(std::bit_width(all));
    std::uint64_t word = 0;
    int filled = 0;
    for (std::size_t place = 0; place < part; ++place) {
      word |= static_cast<std::uint64_t>(over(steps[place], least)) << filled;
      filled += bits;
      if (filled < 32) continue;
      out_.put_number(word, 4);
      word >>= 32;
      filled -= 32;
    }
    return static_cast<std::uint8_t>(bits);  // of 32 values: whole words
  }

  static std::uint32_t over(std::int32_t step, std::int32_t least) {
    return static_cast<std::uint32_t>(step) - static_cast<std::uint32_t>(least);
  }

  Buffer& out_;
  std::int32_t steps_[block] = {};
};

template <typename Value>
void write_bounds(Encoded& encoded, std::span<const Value> values) {
  if (values.empty()) return;
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  if constexpr (std::integral<Value>) {
    Buffer bytes;
    put_plain(bytes, *least);
    put_plain(bytes, *largest);
    const std::string_view both(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.size());
    encoded.bounds = {std::string(both.substr(0, width<Value>)), std::string(both.substr(width<Value>))};
  } else if (std::max(least->size(), largest->size()) <= longest_bound) {
    encoded.bounds = {std::string(*least), std::string(*largest)};
  }
}

struct Run {
  std::uint32_t place;
  std::uint32_t count;
};

// Writes values with a dictionary of them in order of appearance; false, with nothing written, where that is no gain.
template <typename Value>
bool write_dictionary(Encoded& encoded, std::span<const Value> values) {
  PlaceTable<Value> table;
  std::vector<Run> runs;
  Buffer& entries = encoded.dictionary.body;
  std::size_t plain = 0;
  for (std::size_t place = 0; place < values.size();) {
    const Value value = values[place];
    const std::size_t begin = place;
    while (place < values.size() && values[place] == value) ++place;
    const std::uint32_t known = table.size();
    runs.push_back({table.place(value), static_cast<std::uint32_t>(place - begin)});
    if (runs.back().place == known) put_plain(entries, value);
    plain += (place - begin) * plain_size(value);
    if (entries.size() > largest_dictionary) return false;
  }
  const int bits = std::max(1, static_cast<int>(std::bit_width(table.size() - 1U)));
  if (values.empty() || entries.size() + values.size() * static_cast<std::size_t>(bits) / 8 >= plain) return false;
  encoded.has_dictionary = true;
  encoded.dictionary.kind = PageKind::dictionary;
  encoded.dictionary.values = table.size();
  Buffer& out = encoded.data.body;
  out.put(static_cast<std::uint8_t>(bits));
  RunWriter writer(out, bits);
  for (const Run& run : runs) writer.put(run.place, run.count);
  writer.finish();
  return true;
}

template <typename Value>
void write_values(Encoded& encoded, std::span<const Value> values, Encoding encoding) {
  encoded.data.encoding = encoding;
  if (encoding == Encoding::dictionary && !write_dictionary(encoded, values)) encoded.data.encoding = Encoding::plain;
  if (encoded.data.encoding == Encoding::plain) return write_plain(encoded.data.body, values);
  if (encoding == Encoding::dictionary) return;
  if constexpr (std::integral<Value>) {
    if (encoding == Encoding::split) return write_split(encoded.data.body, values);
    if constexpr (width<Value> == 4) {
      if (encoding == Encoding::differences) return DifferenceWriter(encoded.data.body).write(values);
    }
  }
  throw std::invalid_argument("an encoding that values of this type cannot have");
}

template <std::integral Value>
void write_integers(Encoded& encoded, const Present& present, bool is_flat, Encoding encoding) {
  const Value* first = values_of<Value>(*present.values);
  std::span<const Value> values(first + (present.count ? present.first : 0), present.count);
  std::vector<Value> gathered;
  if (!present.whole) {
    gathered.reserve(present.count);
    present.each([&](std::int64_t place) { gathered.push_back(first[place]); });
    values = gathered;
  }
  if (is_flat) write_bounds(encoded, values);
  write_values(encoded, values, encoding);
}

void write_texts(Encoded& encoded, const Present& present, bool is_flat, Encoding encoding) {
  const auto* offsets = values_of<std::int32_t>(*present.values);
  const auto* bytes = static_cast<const char*>(present.values->buffers[2]);
  std::vector<std::string_view> gathered;
  gathered.reserve(present.count);
  present.each([&](std::int64_t place) {
    gathered.emplace_back(bytes + offsets[place], static_cast<std::size_t>(offsets[place + 1] - offsets[place]));
  });
  const std::span<const std::string_view> values(gathered);
  if (is_flat) write_bounds(encoded, values);
  write_values(encoded, values, encoding);
}

// A bit each, whatever encoding the column has: there is nothing that a dictionary could spare.
void write_booleans(Encoded& encoded, const Present& present) {
  encoded.data.encoding = Encoding::plain;
  const auto* bits = static_cast<const std::uint8_t*>(present.values->buffers[1]);
  std::uint8_t byte = 0;
  std::size_t filled = 0;
  present.each([&](std::int64_t place) {
    const std::int64_t bit = place + present.values->offset;
    byte |= (bits[bit >> 3] >> (bit & 7) & 1) << (filled % 8);
    if (++filled % 8) return;
    encoded.data.body.put(byte);
    byte = 0;
  });
  if (filled % 8) encoded.data.body.put(byte);
}

void write_typed(Encoded& encoded, const Leaf& leaf, const Present& present, Encoding encoding) {
  const bool is_flat = leaf.shape == Shape::flat;
  switch (leaf.type.format) {
    case 'b': return write_booleans(encoded, present);
    case 'C': return write_integers<std::uint8_t>(encoded, present, is_flat, encoding);
    case 'S': return write_integers<std::uint16_t>(encoded, present, is_flat, encoding);
    case 'I': return write_integers<std::uint32_t>(encoded, present, is_flat, encoding);
    case 'i': return write_integers<std::int32_t>(encoded, present, is_flat, encoding);
    case 'l': return write_integers<std::int64_t>(encoded, present, is_flat, encoding);
    case 'L': return write_integers<std::uint64_t>(encoded, present, is_flat, encoding);
    default: return write_texts(encoded, present, is_flat, encoding);
  }
}

}  // namespace

void encode_leaf(Encoded& encoded, const Leaf& leaf, const ArrowArray& batch, Encoding encoding) {
  encoded.dictionary.body.clear();
  encoded.data.body.clear();
  encoded.has_dictionary = false;
  encoded.bounds.reset();
  const Levels levels = write_levels(encoded.data.body, leaf, batch);
  encoded.entries = levels.entries;
  encoded.data.values = levels.entries;
  encoded.absent = levels.entries - levels.present.count;
  write_typed(encoded, leaf, levels.present, encoding);
  if (encoded.data.body.size() > most_bytes) throw std::length_error("a page of 2^31 bytes");
}

}  // namespace megacpp
