// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef GRANARY_SPAN_H_
#define GRANARY_SPAN_H_

#include <cassert>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace granary {

/// A view of `size()` contiguous elements owned by somebody else.
template <typename T>
class Span {
 public:
  using value_type = std::remove_cv_t<T>;
  using iterator = T*;
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  constexpr Span() = default;
  constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}

  template <std::size_t N>
  constexpr Span(T (&array)[N]) : Span(array, N) {}  // NOLINT

  /// Views any container that offers data() and size().
  template <typename C, typename = std::enable_if_t<std::is_convertible_v<
                            decltype(std::declval<C&>().data()), T*>>>
  constexpr Span(C& container)  // NOLINT(google-explicit-constructor)
      : Span(container.data(), container.size()) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr T& front() const { return (*this)[0]; }
  constexpr T& back() const { return (*this)[size_ - 1]; }

  constexpr T& operator[](std::size_t i) const {
    assert(i < size_);
    return data_[i];
  }

  /// The part from `pos`, at most `length` long; both are cut to fit.
  constexpr Span subspan(std::size_t pos, std::size_t length = npos) const {
    if (pos > size_) pos = size_;
    const std::size_t rest = size_ - pos;
    return Span(data_ + pos, length < rest ? length : rest);
  }
  constexpr Span first(std::size_t n) const { return subspan(0, n); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <typename C>
Span(C&) -> Span<std::remove_pointer_t<decltype(std::declval<C&>().data())>>;

template <typename T>
bool operator==(Span<T> a, Span<T> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) return false;
  }
  return true;
}

}  // namespace granary

#endif  // GRANARY_SPAN_H_
