// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef EXPR_PARSE_HPP
#define EXPR_PARSE_HPP

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace expr {
namespace parse {

/// What is left of the text after a successful parse, and the value.
template <typename T>
struct success {
  T value;
  std::string_view rest;
};

template <typename T>
using result = std::optional<success<T>>;

template <typename P>
using parsed_t =
    std::decay_t<decltype(std::declval<P>()(std::string_view()) -> value)>;

inline std::string_view skip_space(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\n");
  return start == std::string_view::npos ? std::string_view()
                                         : text.substr(start);
}

/// Accepts any one character of `set`, after blanks.
constexpr auto one_char(std::string_view set) {
  return [set](std::string_view in) -> result<char> {
    in = skip_space(in);
    if (in.empty() || set.find(in.front()) == std::string_view::npos)
      return std::nullopt;
    return success<char>{in.front(), in.substr(1)};
  };
}

/// Accepts the longest non-empty run of characters satisfying `pred`.
template <typename Pred>
constexpr auto run_of(Pred pred) {
  return [pred](std::string_view in) -> result<std::string_view> {
    in = skip_space(in);
    std::size_t n = 0;
    while (n < in.size() && pred(in[n]))
      ++n;
    if (n == 0)
      return std::nullopt;
    return success<std::string_view>{in.substr(0, n), in.substr(n)};
  };
}

/// Applies `f` to the parsed value.
template <typename P, typename F>
constexpr auto map(P p, F f) {
  using T = std::decay_t<std::invoke_result_t<F, parsed_t<P>>>;
  return [p, f](std::string_view in) -> result<T> {
    auto r = p(in);
    if (!r)
      return std::nullopt;
    return success<T>{f(std::move(r->value)), r->rest};
  };
}

/// Runs both parsers and pairs their values.
template <typename P, typename Q>
constexpr auto both(P p, Q q) {
  using T = std::pair<parsed_t<P>, parsed_t<Q>>;
  return [p, q](std::string_view in) -> result<T> {
    auto first = p(in);
    if (!first)
      return std::nullopt;
    auto second = q(first->rest);
    if (!second)
      return std::nullopt;
    return success<T>{{std::move(first->value), std::move(second->value)},
                      second->rest};
  };
}

/// The first alternative that succeeds; all must agree on the value type.
template <typename P, typename... Rest>
constexpr auto either(P p, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    return p;
  } else {
    auto tail = either(rest...);
    return [p, tail](std::string_view in) -> result<parsed_t<P>> {
      if (auto r = p(in))
        return r;
      return tail(in);
    };
  }
}

/// `open p close`, yielding what `p` yields.
template <typename P>
constexpr auto between(char open, P p, char close) {
  return [=](std::string_view in) -> result<parsed_t<P>> {
    auto o = one_char({&open, 1})(in);
    if (!o)
      return std::nullopt;
    auto r = p(o->rest);
    if (!r)
      return std::nullopt;
    auto c = one_char({&close, 1})(r->rest);
    if (!c)
      return std::nullopt;
    r->rest = c->rest;
    return r;
  };
}

/// Left-associative `p (op p)*`, folded with `f(lhs, op, rhs)`.
template <typename P, typename Op, typename F>
constexpr auto chain_left(P p, Op op, F f) {
  return [=](std::string_view in) -> result<parsed_t<P>> {
    auto acc = p(in);
    while (acc) {
      auto next = both(op, p)(acc->rest);
      if (!next)
        break;
      auto &[sign, rhs] = next->value;
      acc = success<parsed_t<P>>{f(std::move(acc->value), sign, std::move(rhs)),
                                 next->rest};
    }
    return acc;
  };
}

}  // namespace parse
}  // namespace expr

#endif  // EXPR_PARSE_HPP
