// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef STRF_RANGES_H
#define STRF_RANGES_H

#include <iterator>
#include <tuple>
#include <utility>

#include "strf/format.h"

namespace strf {
namespace detail {

template <typename T, typename = void>
struct is_range : std::false_type {};
template <typename T>
struct is_range<T, std::void_t<decltype(std::begin(std::declval<const T&>())),
                               decltype(std::end(std::declval<const T&>()))>>
    : std::bool_constant<!is_string_v<T>> {};

template <typename T, typename = void>
struct is_tuple_like : std::false_type {};
template <typename T>
struct is_tuple_like<T, std::void_t<decltype(std::tuple_size<T>::value)>>
    : std::bool_constant<!is_range<T>::value> {};

template <typename R>
using element_t = std::decay_t<decltype(*std::begin(std::declval<const R&>()))>;

template <typename F>
using has_set_debug = decltype(std::declval<F&>().set_debug());

template <typename F, typename = void>
struct supports_debug : std::false_type {};
template <typename F>
struct supports_debug<F, std::void_t<has_set_debug<F>>> : std::true_type {};

template <typename F>
constexpr void enable_debug(F& f) {
  if constexpr (supports_debug<F>::value) f.set_debug();
}

}  // namespace detail

/// `{}` gives `[a, b]`, `{:n}` drops the brackets, and whatever follows a
/// second colon applies to the elements: `{::#x}`.
template <typename R>
struct formatter<R, std::enable_if_t<detail::is_range<R>::value>> {
  constexpr void parse(parse_context& ctx) {
    brackets_ = !ctx.consume('n');
    if (ctx.consume(':'))
      element_.parse(ctx);
    else
      set_debug();
  }

  constexpr void set_debug() { detail::enable_debug(element_); }

  void format(const R& range, format_context& ctx) const {
    if (brackets_) ctx.out().push_back('[');
    bool first = true;
    for (const auto& element : range) {
      if (!first) ctx.out().append(", ");
      first = false;
      element_.format(element, ctx);
    }
    if (brackets_) ctx.out().push_back(']');
  }

 private:
  formatter<detail::element_t<R>> element_{};
  bool brackets_ = true;
};

/// Pairs and tuples: `(a, b)`. They take no specification.
template <typename T>
struct formatter<T, std::enable_if_t<detail::is_tuple_like<T>::value>> {
  constexpr void parse(parse_context&) {}

  void format(const T& tuple, format_context& ctx) const {
    ctx.out().push_back('(');
    std::apply([&](const auto&... each) {
      bool first = true;
      (write_element(each, first, ctx), ...);
    }, tuple);
    ctx.out().push_back(')');
  }

 private:
  template <typename E>
  static void write_element(const E& element, bool& first, format_context& ctx) {
    if (!first) ctx.out().append(", ");
    first = false;
    formatter<E> f{};
    detail::enable_debug(f);
    f.format(element, ctx);
  }
};

template <typename It>
struct join_view {
  It first, last;
  std::string_view separator;
};

/// Elements with `separator` in between; the specification is theirs.
template <typename R>
auto join(const R& range, std::string_view separator) {
  return join_view<decltype(std::begin(range))>{std::begin(range), std::end(range),
                                                separator};
}

template <typename It>
struct formatter<join_view<It>>
    : formatter<std::decay_t<typename std::iterator_traits<It>::reference>> {
  void format(const join_view<It>& view, format_context& ctx) const {
    using element = std::decay_t<typename std::iterator_traits<It>::reference>;
    for (It it = view.first; it != view.last; ++it) {
      if (it != view.first) ctx.out().append(view.separator);
      formatter<element>::format(*it, ctx);
    }
  }
};

}  // namespace strf

#endif  // STRF_RANGES_H
