// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef PASSES_CASTING_H
#define PASSES_CASTING_H

#include <cassert>
#include <type_traits>

namespace tir {

/// Hand-rolled RTTI: a class opts in with a static `classof(const Base *)`.
template <typename To, typename From>
bool isa(const From *Val) {
  assert(Val && "isa<> on a null pointer");
  if constexpr (std::is_base_of_v<To, From>)
    return true;
  else
    return To::classof(Val);
}

namespace detail {
template <typename To, typename From>
using cast_result = std::conditional_t<std::is_const_v<From>, const To *, To *>;
}  // namespace detail

/// Checked downcast; the caller knows the dynamic type.
template <typename To, typename From>
detail::cast_result<To, From> cast(From *Val) {
  assert(isa<To>(Val) && "cast<> to an incompatible type");
  return static_cast<detail::cast_result<To, From>>(Val);
}

/// Downcast that yields null when the dynamic type differs.
template <typename To, typename From>
detail::cast_result<To, From> dyn_cast(From *Val) {
  return isa<To>(Val) ? static_cast<detail::cast_result<To, From>>(Val) : nullptr;
}

}  // namespace tir

#endif  // PASSES_CASTING_H
