// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef EXPR_TRAITS_HPP
#define EXPR_TRAITS_HPP

#include <type_traits>
#include <utility>

namespace expr {
namespace detail {

template <typename Void, template <typename...> class Op, typename... Args>
struct detector : std::false_type {};
template <template <typename...> class Op, typename... Args>
struct detector<std::void_t<Op<Args...>>, Op, Args...> : std::true_type {};

template <typename T>
using shape_member = typename T::shape;
template <typename T>
using value_member = typename T::value_type;

}  // namespace detail

/// True when `Op<Args...>` is well formed.
template <template <typename...> class Op, typename... Args>
inline constexpr bool is_detected_v = detail::detector<void, Op, Args...>::value;

/// Tags that tell the two families of expressions apart.
struct vector_shape {};
struct matrix_shape {};

/// How element `i` of a node depends on the elements of its operands: on
/// element `i` alone, or on others too. Only the first kind may be assigned
/// to one of its own operands in place.
struct elementwise_access {};
struct scattered_access {};

/// Access of a node that combines several operands element by element.
template <typename... Es>
using combined_access = std::conditional_t<
    (std::is_same_v<typename Es::access, elementwise_access> && ...),
    elementwise_access, scattered_access>;

template <typename T>
inline constexpr bool is_expression_v =
    is_detected_v<detail::shape_member, T> && is_detected_v<detail::value_member, T>;

/// Anything arithmetic-like that is not itself an expression.
template <typename T>
inline constexpr bool is_scalar_v = std::is_arithmetic_v<T>;

template <typename T, typename Shape, bool = is_expression_v<T>>
struct has_shape : std::false_type {};
template <typename T, typename Shape>
struct has_shape<T, Shape, true> : std::is_same<typename T::shape, Shape> {};

template <typename T>
using enable_scalar = std::enable_if_t<is_scalar_v<T>, int>;

/// How an operand is held inside an expression node: terminals own storage
/// and are referenced, intermediate nodes are cheap and copied.
template <typename T>
using operand_t = std::conditional_t<T::is_terminal, const T &, const T>;

#define EXPR_DEFINE_FUNCTOR(name, op)                                 \
  struct name {                                                       \
    template <typename L, typename R>                                 \
    static constexpr auto apply(const L &l, const R &r) -> decltype(l op r) { \
      return l op r;                                                  \
    }                                                                 \
  };

EXPR_DEFINE_FUNCTOR(plus_op, +)
EXPR_DEFINE_FUNCTOR(minus_op, -)
EXPR_DEFINE_FUNCTOR(times_op, *)
EXPR_DEFINE_FUNCTOR(over_op, /)

#undef EXPR_DEFINE_FUNCTOR

template <typename Op, typename L, typename R>
using result_of_op = decltype(Op::apply(std::declval<L>(), std::declval<R>()));

}  // namespace expr

#endif  // EXPR_TRAITS_HPP
