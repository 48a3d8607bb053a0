// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef GRANARY_INLINED_VECTOR_H_
#define GRANARY_INLINED_VECTOR_H_

#include <cstddef>
#include <initializer_list>
#include <new>
#include <utility>

namespace granary {

/// A vector whose first N elements live inside the object itself.
template <typename T, std::size_t N>
class InlinedVector {
  static_assert(N > 0, "use std::vector if nothing is to be inline");

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlinedVector() = default;
  InlinedVector(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }
  InlinedVector(const InlinedVector& other) {
    reserve(other.size_);
    for (const T& value : other) push_back(value);
  }
  InlinedVector(InlinedVector&& other) noexcept { TakeFrom(&other); }
  InlinedVector& operator=(InlinedVector other) noexcept {
    Reset();
    TakeFrom(&other);
    return *this;
  }
  ~InlinedVector() { Reset(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  bool is_inline() const { return data_ == InlineData(); }

  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  iterator begin() { return data_; }
  iterator end() { return data_ + size_; }
  const_iterator begin() const { return data_; }
  const_iterator end() const { return data_ + size_; }

  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }

  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ < capacity_) {
      return *::new (data_ + size_++) T(std::forward<Args>(args)...);
    }
    // Build first: an argument may point into the storage to be replaced.
    T value(std::forward<Args>(args)...);
    reserve(capacity_ * 2);
    return *::new (data_ + size_++) T(std::move(value));
  }

  void pop_back() { data_[--size_].~T(); }

  void clear() {
    while (size_ > 0) pop_back();
  }

  void reserve(std::size_t wanted) {
    if (wanted <= capacity_) return;
    T* const grown = static_cast<T*>(
        ::operator new(wanted * sizeof(T), std::align_val_t(alignof(T))));
    Relocate(data_, size_, grown);
    FreeHeap();
    data_ = grown;
    capacity_ = wanted;
  }

 private:
  T* InlineData() const {
    return reinterpret_cast<T*>(const_cast<unsigned char*>(inline_));
  }

  static void Relocate(T* from, std::size_t count, T* to) {
    for (std::size_t i = 0; i < count; ++i) {
      ::new (to + i) T(std::move(from[i]));
      from[i].~T();
    }
  }

  void FreeHeap() {
    if (!is_inline()) {
      ::operator delete(data_, std::align_val_t(alignof(T)));
    }
  }

  void Reset() {
    clear();
    FreeHeap();
    data_ = InlineData();
    capacity_ = N;
  }

  // Steals a heap block; inline elements have to be moved one by one.
  void TakeFrom(InlinedVector* other) {
    if (other->is_inline()) {
      Relocate(other->data_, other->size_, data_);
    } else {
      data_ = std::exchange(other->data_, other->InlineData());
      capacity_ = std::exchange(other->capacity_, N);
    }
    size_ = std::exchange(other->size_, 0);
  }

  alignas(T) unsigned char inline_[N * sizeof(T)];
  T* data_ = InlineData();
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
};

}  // namespace granary

#endif  // GRANARY_INLINED_VECTOR_H_
