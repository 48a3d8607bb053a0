#include "list_column.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "runs.hpp"

namespace megacpp {
namespace {

constexpr std::uint8_t empty_list = 1;
constexpr std::uint8_t value = 3;

// The levels at the start of `page`, which is moved behind them.
Bytes take_levels(Bytes& page) {
  std::uint32_t size = 0;
  if (page.size() < sizeof size) throw std::invalid_argument("levels of a page that are cut off");
  std::memcpy(&size, page.data(), sizeof size);
  page = page.subspan(sizeof size);
  if (size > page.size()) throw std::invalid_argument("levels of a page that are cut off");
  const Bytes levels = page.first(size);
  page = page.subspan(size);
  return levels;
}

// Calls put(level, how often) for `count` levels of `width` bits.
template <typename Put>
void each_level(Bytes levels, int width, std::size_t count, Put put) {
  each_run(levels, width, count, put, [&](Bytes packed, std::size_t many) {
    each_packed(packed, width, many, [&](std::uint32_t level) { put(level, 1); });
  });
}

std::uint64_t zigzag(std::uint64_t number) { return (number >> 1) ^ (0 - (number & 1)); }

}  // namespace

template <typename Value>
void ListColumn<Value>::dictionary(Bytes page, std::size_t count) {
  if (page.size() / 4 < count) throw std::invalid_argument("a dictionary that is cut off");
  dictionary_.resize(count);
  for (std::size_t place = 0; place < count; ++place) {
    std::uint32_t entry = 0;
    std::memcpy(&entry, page.data() + 4 * place, 4);
    dictionary_[place] = static_cast<Value>(entry);
  }
}

template <typename Value>
void ListColumn<Value>::data(Bytes page, std::size_t count, Encoding encoding) {
  if (count > values_.size()) throw std::invalid_argument("a page of more values than its column");
  const std::size_t held = levels(page, count);
  if (held > values_.size() - filled_) throw std::invalid_argument("a column of more values than it says");
  switch (encoding) {
    case Encoding::plain: plain(page, held); break;
    case Encoding::old_dictionary:
    case Encoding::dictionary: places(page, held); break;
    case Encoding::differences: differences(page, held); break;
    case Encoding::split: split(page, held); break;
    default: throw std::invalid_argument("a page of an unknown encoding");
  }
  filled_ += held;
}

template <typename Value>
std::size_t ListColumn<Value>::finish() {
  if (rows_ + 1 != offsets_.size()) throw std::invalid_argument("a column of other rows than its row group");
  offsets_[rows_] = static_cast<std::int32_t>(filled_);
  return filled_;
}

// The rows that begin in the page; how many of its `count` entries are values.
template <typename Value>
std::size_t ListColumn<Value>::levels(Bytes& page, std::size_t count) {
  const Bytes repetition = take_levels(page), definition = take_levels(page);
  std::size_t entry = 0;
  empty_.clear();
  each_level(definition, 2, count, [&](std::uint32_t level, std::size_t many) {
    if (level == empty_list) {
      for (std::size_t place = 0; place < many; ++place) empty_.push_back(entry + place);
    } else if (level != value) {
      throw Absent();
    }
    entry += many;
  });
  entry = 0;
  auto empty = empty_.begin();
  each_level(repetition, 1, count, [&](std::uint32_t level, std::size_t many) {
    for (std::size_t place = 0; !level && place < many; ++place) {
      while (empty != empty_.end() && *empty < entry + place) ++empty;
      begin_row(entry + place - static_cast<std::size_t>(empty - empty_.begin()));
    }
    entry += many;
  });
  if (count && !rows_) throw std::invalid_argument("a column that begins within a row");
  return count - empty_.size();
}

// A row begins with the value `place` of the page.
template <typename Value>
void ListColumn<Value>::begin_row(std::size_t place) {
  if (rows_ + 1 >= offsets_.size()) throw std::invalid_argument("a column of more rows than its row group");
  offsets_[rows_++] = static_cast<std::int32_t>(filled_ + place);
}

template <typename Value>
void ListColumn<Value>::places(Bytes page, std::size_t count) {
  if (!count) return;
  if (page.empty()) throw std::invalid_argument("a page without places");
  const int width = page[0];
  const std::vector<Value>& entries = dictionary_;
  Value* out = values_.data() + filled_;
  std::uint32_t largest = 0;
  each_run(
      page.subspan(1), width, count,
      [&](std::uint32_t place, std::size_t repeated) {
        if (place >= entries.size()) throw std::invalid_argument("a place behind its dictionary");
        out = std::fill_n(out, repeated, entries[place]);
      },
      [&](Bytes packed, std::size_t many) {
        each_packed(packed, width, many, [&](std::uint32_t place) {
          largest = std::max(largest, place);
          *out++ = place < entries.size() ? entries[place] : Value{};
        });
      });
  if (largest >= entries.size()) throw std::invalid_argument("a place behind its dictionary");
}

// Blocks of differences to the number before, less the least of a block, in packed bits of a width for each part of it.
template <typename Value>
void ListColumn<Value>::differences(Bytes page, std::size_t count) {
  std::size_t at = 0;
  const std::uint64_t block = read_varint(page, at), parts = read_varint(page, at), stated = read_varint(page, at);
  std::uint64_t last = zigzag(read_varint(page, at));
  if (stated != count || !parts || parts > 64 || block > 1 << 16 || block % parts || !block) {
    throw std::invalid_argument("differences of other values than their page");
  }
  if (!count) return;
  Value* out = values_.data() + filled_;
  *out++ = static_cast<Value>(last);
  const std::size_t part = block / parts;
  for (std::size_t left = count - 1; left;) {
    const std::uint64_t least = zigzag(read_varint(page, at));
    if (parts > page.size() - at) throw std::invalid_argument("differences that are cut off");
    const Bytes widths = page.subspan(at, parts);
    at += parts;
    for (std::size_t index = 0; index < parts && left; ++index) {
      const int width = widths[index];
      const std::size_t taken = std::min(part, left);
      if (width > 32 || (taken * width + 7) / 8 > page.size() - at) {
        throw std::invalid_argument("differences that are cut off");
      }
      each_packed(page.subspan(at), width, taken, [&](std::uint32_t step) {
        last += least + step;
        *out++ = static_cast<Value>(last);
      });
      at += std::min<std::size_t>(part * width / 8, page.size() - at);
      left -= taken;
    }
  }
}

template <typename Value>
void ListColumn<Value>::plain(Bytes page, std::size_t count) {
  if (page.size() / 4 < count) throw std::invalid_argument("values of a page that are cut off");
  Value* out = values_.data() + filled_;
  for (std::size_t place = 0; place < count; ++place) {
    std::uint32_t entry = 0;
    std::memcpy(&entry, page.data() + 4 * place, 4);
    out[place] = static_cast<Value>(entry);
  }
}

// The lowest bytes of all values, then their second bytes, and so on.
template <typename Value>
void ListColumn<Value>::split(Bytes page, std::size_t count) {
  if (page.size() / 4 < count) throw std::invalid_argument("values of a page that are cut off");
  Value* out = values_.data() + filled_;
  for (std::size_t place = 0; place < count; ++place) {
    std::uint32_t entry = 0;
    for (std::size_t byte = 0; byte < sizeof(Value); ++byte) {
      entry |= std::uint32_t{page[byte * count + place]} << (8 * byte);
    }
    out[place] = static_cast<Value>(entry);
  }
}

template class ListColumn<std::uint8_t>;
template class ListColumn<std::uint16_t>;
template class ListColumn<std::uint32_t>;

}  // namespace megacpp
