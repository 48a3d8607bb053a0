// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef EXPR_ONE_OF_HPP
#define EXPR_ONE_OF_HPP

#include <cassert>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "expr/type_list.hpp"

namespace expr {

/// Merges lambdas into one overload set for `visit`.
template <typename... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

/// A closed sum type. Unlike std::variant it is never valueless: alternatives
/// must be nothrow movable, and assignment goes through a move.
template <typename... Ts>
class one_of {
public:
  using alternatives = type_list<Ts...>;
  static_assert((std::is_nothrow_move_constructible_v<Ts> && ...),
                "alternatives must be nothrow movable");

  template <typename T, typename D = std::decay_t<T>,
            typename = std::enable_if_t<contains_v<D, alternatives>>>
  one_of(T &&value) : index_(index_of<D>(alternatives{})) {
    ::new (storage()) D(std::forward<T>(value));
  }

  one_of(one_of &&other) noexcept : index_(other.index_) {
    other.visit([this](auto &v) {
      using T = std::decay_t<decltype(v)>;
      ::new (storage()) T(std::move(v));
    });
  }

  one_of &operator=(one_of &&other) noexcept {
    if (this != &other) {
      this->~one_of();
      ::new (this) one_of(std::move(other));
    }
    return *this;
  }

  ~one_of() {
    visit([](auto &v) {
      using T = std::decay_t<decltype(v)>;
      v.~T();
    });
  }

  std::size_t index() const { return index_; }

  template <typename T>
  bool is() const {
    static_assert(contains_v<T, alternatives>, "not an alternative");
    return index_ == index_of<T>(alternatives{});
  }

  template <typename T>
  const T &as() const {
    assert(is<T>());
    return *static_cast<const T *>(storage());
  }

  template <typename F>
  decltype(auto) visit(F &&f) {
    return dispatch<0>(*this, f);
  }
  template <typename F>
  decltype(auto) visit(F &&f) const {
    return dispatch<0>(*this, f);
  }

private:
  template <std::size_t I, typename Self, typename F>
  static decltype(auto) dispatch(Self &self, F &f) {
    using T = at_t<I, alternatives>;
    using Q = std::conditional_t<std::is_const_v<Self>, const T, T>;
    if constexpr (I + 1 < sizeof...(Ts))
      if (self.index_ != I)
        return dispatch<I + 1>(self, f);
    return f(*static_cast<Q *>(self.storage()));
  }

  void *storage() { return &bytes_; }
  const void *storage() const { return &bytes_; }

  std::size_t index_;
  std::aligned_union_t<1, Ts...> bytes_;
};

}  // namespace expr

#endif  // EXPR_ONE_OF_HPP
