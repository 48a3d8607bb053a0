// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef EXPR_TYPE_LIST_HPP
#define EXPR_TYPE_LIST_HPP

#include <cstddef>
#include <type_traits>

namespace expr {

/// An ordered pack of types; never instantiated with members.
template <typename... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);
};

/// Carries a type through a value, for deduction in generic lambdas.
template <typename T>
struct type_tag {
  using type = T;
};

namespace detail {

template <std::size_t I, typename List>
struct at_impl;
template <typename Head, typename... Tail>
struct at_impl<0, type_list<Head, Tail...>> {
  using type = Head;
};
template <std::size_t I, typename Head, typename... Tail>
struct at_impl<I, type_list<Head, Tail...>> : at_impl<I - 1, type_list<Tail...>> {};

template <typename... Lists>
struct concat_impl {
  using type = type_list<>;
};
template <typename... Ts>
struct concat_impl<type_list<Ts...>> {
  using type = type_list<Ts...>;
};
template <typename... Ts, typename... Us, typename... Rest>
struct concat_impl<type_list<Ts...>, type_list<Us...>, Rest...>
    : concat_impl<type_list<Ts..., Us...>, Rest...> {};

template <template <typename> class F, typename List>
struct transform_impl;
template <template <typename> class F, typename... Ts>
struct transform_impl<F, type_list<Ts...>> {
  using type = type_list<typename F<Ts>::type...>;
};

template <template <typename> class Pred, typename List>
struct filter_impl;
template <template <typename> class Pred, typename... Ts>
struct filter_impl<Pred, type_list<Ts...>>
    : concat_impl<
          std::conditional_t<Pred<Ts>::value, type_list<Ts>, type_list<>>...> {};

}  // namespace detail

template <std::size_t I, typename List>
using at_t = typename detail::at_impl<I, List>::type;

template <typename... Lists>
using concat_t = typename detail::concat_impl<Lists...>::type;

template <template <typename> class F, typename List>
using transform_t = typename detail::transform_impl<F, List>::type;

/// Keeps the types for which `Pred<T>::value` holds.
template <template <typename> class Pred, typename List>
using filter_t = typename detail::filter_impl<Pred, List>::type;

/// Position of `T`, or the size of the list when it is absent.
template <typename T, typename... Ts>
constexpr std::size_t index_of(type_list<Ts...>) {
  constexpr bool match[] = {std::is_same_v<T, Ts>..., true};
  std::size_t i = 0;
  while (!match[i])
    ++i;
  return i;
}

template <typename T, typename List>
inline constexpr bool contains_v = index_of<T>(List{}) < List::size;

/// Calls `f(type_tag<T>{})` for each type in order.
template <typename... Ts, typename F>
constexpr void for_each_type(type_list<Ts...>, F &&f) {
  (f(type_tag<Ts>{}), ...);
}

}  // namespace expr

#endif  // EXPR_TYPE_LIST_HPP
