// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef STRF_BUFFER_H
#define STRF_BUFFER_H

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace strf {

/// A contiguous, growing character sink. Derived classes decide on storage.
class buffer {
 public:
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  const char* data() const { return data_; }
  std::string_view view() const { return {data_, size_}; }
  void clear() { size_ = 0; }

  void reserve(std::size_t n) {
    if (n > capacity_) grow(n);
  }

  void push_back(char c) {
    reserve(size_ + 1);
    data_[size_++] = c;
  }

  void append(std::string_view text) {
    if (text.empty()) return;
    reserve(size_ + text.size());
    std::memcpy(data_ + size_, text.data(), text.size());
    size_ += text.size();
  }

  void fill(std::size_t n, char c) {
    reserve(size_ + n);
    std::memset(data_ + size_, c, n);
    size_ += n;
  }

 protected:
  buffer(char* data, std::size_t capacity) : data_(data), capacity_(capacity) {}
  ~buffer() = default;

  void set(char* data, std::size_t capacity) {
    data_ = data;
    capacity_ = capacity;
  }

  /// Makes room for at least `wanted` characters, keeping the contents.
  virtual void grow(std::size_t wanted) = 0;

 private:
  char* data_;
  std::size_t size_ = 0;
  std::size_t capacity_;
};

/// Starts in a fixed inline area and moves to the heap when that is full.
template <std::size_t Inline = 256>
class basic_memory_buffer final : public buffer {
 public:
  basic_memory_buffer() : buffer(store_, Inline) {}

  bool on_heap() const { return heap_ != nullptr; }

 private:
  void grow(std::size_t wanted) override {
    std::size_t next = capacity() + capacity() / 2;
    if (next < wanted) next = wanted;
    std::unique_ptr<char[]> fresh(new char[next]);
    std::memcpy(fresh.get(), data(), size());
    heap_ = std::move(fresh);
    set(heap_.get(), next);
  }

  std::unique_ptr<char[]> heap_;
  char store_[Inline];
};

using memory_buffer = basic_memory_buffer<>;

}  // namespace strf

#endif  // STRF_BUFFER_H
