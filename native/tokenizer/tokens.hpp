// Tokens of documents laid end to end, in arrays that numpy takes over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "memory.hpp"

namespace megacpp {

// A growing array that never initialises its tail and can be handed to numpy.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept : data_(other.release()) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Buffer() { ResultMemory::free(data_); }

  // Room for `capacity` values, of which the first `size` are kept.
  void resize(std::size_t capacity, std::size_t size) {
    auto* data = static_cast<T*>(ResultMemory::allocate(capacity * sizeof(T)));
    if (size != 0) std::memcpy(data, data_, size * sizeof(T));
    ResultMemory::free(data_);
    data_ = data;
  }
  T& operator[](std::size_t i) { return data_[i]; }
  T* data() { return data_; }
  // The memory, which the caller gives back to `ResultMemory`.
  T* release() { return std::exchange(data_, nullptr); }

 private:
  T* data_ = nullptr;
};

// Tokens of documents laid end to end; `starts` and `ends` stay empty without `spans`.
struct Tokens {
  explicit Tokens(bool with_spans) : spans(with_spans) {}

  bool spans;
  Buffer<std::uint32_t> ids;
  Buffer<std::int32_t> starts, ends;
  std::vector<std::int64_t> offsets{0};
  std::size_t size = 0, capacity = 0;

  // No tokens; the memory stays.
  void clear() {
    size = 0;
    offsets.assign(1, 0);
  }

  void reserve(std::size_t more) {
    if (size + more > capacity) [[unlikely]]
      grow(size + more);
  }
  void push(std::uint32_t id, std::size_t start, std::size_t end) {
    ids[size] = id;
    if (spans) {
      starts[size] = static_cast<std::int32_t>(start);
      ends[size] = static_cast<std::int32_t>(end);
    }
    ++size;
  }

 private:
  void grow(std::size_t needed) {
    capacity = std::max(needed, capacity + capacity / 2 + 1024);
    ids.resize(capacity, size);
    if (!spans) return;
    starts.resize(capacity, size);
    ends.resize(capacity, size);
  }
};

// Tokens that `bytes` of texts hardly exceed: code has more bytes a token. Untouched memory costs nothing.
inline std::size_t expected_tokens(std::size_t bytes, std::size_t texts) { return bytes / 3 + texts; }

}  // namespace megacpp
