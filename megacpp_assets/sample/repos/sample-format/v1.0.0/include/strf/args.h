// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef STRF_ARGS_H
#define STRF_ARGS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "strf/buffer.h"
#include "strf/spec.h"

namespace strf {

class format_context;

/// Specialise for user types with
///   constexpr void parse(parse_context&);
///   void format(const T&, format_context&) const;
template <typename T, typename Enable = void>
struct formatter {
  formatter() = delete;
};

enum class arg_type : unsigned char {
  none, signed_int, unsigned_int, boolean, character, floating, string, pointer, custom
};

namespace detail {

template <typename T>
inline constexpr bool is_string_v = std::is_convertible_v<const T&, std::string_view> &&
                                    !std::is_same_v<T, std::nullptr_t>;

/// Which built-in representation stands for a `T`.
template <typename T>
constexpr arg_type classify() {
  if constexpr (std::is_same_v<T, bool>)
    return arg_type::boolean;
  else if constexpr (std::is_same_v<T, char>)
    return arg_type::character;
  else if constexpr (std::is_integral_v<T>)
    return std::is_signed_v<T> ? arg_type::signed_int : arg_type::unsigned_int;
  else if constexpr (std::is_floating_point_v<T>)
    return arg_type::floating;
  else if constexpr (is_string_v<T>)
    return arg_type::string;
  else if constexpr (std::is_same_v<T, void*> || std::is_same_v<T, const void*> ||
                     std::is_same_v<T, std::nullptr_t>)
    return arg_type::pointer;
  else
    return arg_type::custom;
}

template <typename T>
inline constexpr bool is_builtin_v = classify<T>() != arg_type::custom;

struct custom_value {
  const void* object;
  void (*format)(const void* object, parse_context&, format_context&);
};

template <typename T>
void format_custom(const void* object, parse_context& parse, format_context& out) {
  formatter<T> f;
  f.parse(parse);
  f.format(*static_cast<const T*>(object), out);
}

/// Rejects specifications that make no sense for the type of the value.
constexpr void check_spec(arg_type type, const format_spec& spec) {
  const auto one_of = [&spec](std::string_view allowed) {
    return spec.type == 0 || allowed.find(spec.type) != std::string_view::npos;
  };
  bool ok = true;
  bool numeric = true;
  switch (type) {
    case arg_type::signed_int:
    case arg_type::unsigned_int: ok = one_of("dxXobc"); break;
    case arg_type::boolean: ok = one_of("sdxXob"); break;
    case arg_type::floating: ok = one_of("eEfFgG"); break;
    case arg_type::character:
      ok = one_of("cd?");
      numeric = spec.type == 'd';
      break;
    case arg_type::string:
      ok = one_of("s?");
      numeric = false;
      break;
    case arg_type::pointer:
      ok = one_of("p");
      numeric = false;
      break;
    default: break;
  }
  if (!ok) fail("invalid presentation type for this argument");
  if (!numeric && (spec.sign != sign::minus || spec.alternate || spec.zero_pad))
    fail("numeric option for a non-numeric argument");
  if (spec.precision >= 0 && type != arg_type::floating && type != arg_type::string)
    fail("precision is not allowed for this argument");
}

}  // namespace detail

/// A type-erased reference to one argument.
class format_arg {
 public:
  constexpr format_arg() : type_(arg_type::none), value_{} {}

  template <typename T>
  static format_arg from(const T& v) {
    format_arg a;
    a.type_ = detail::classify<T>();
    if constexpr (detail::classify<T>() == arg_type::signed_int)
      a.value_.i = v;
    else if constexpr (detail::classify<T>() == arg_type::unsigned_int)
      a.value_.u = v;
    else if constexpr (detail::classify<T>() == arg_type::boolean)
      a.value_.b = v;
    else if constexpr (detail::classify<T>() == arg_type::character)
      a.value_.c = v;
    else if constexpr (detail::classify<T>() == arg_type::floating)
      a.value_.d = static_cast<double>(v);
    else if constexpr (detail::classify<T>() == arg_type::string)
      a.value_.s = v;
    else if constexpr (detail::classify<T>() == arg_type::pointer)
      a.value_.p = v;
    else
      a.value_.custom = {&v, detail::format_custom<T>};
    return a;
  }

  arg_type type() const { return type_; }

  /// Calls `f` with the value in its widened built-in type.
  template <typename F>
  decltype(auto) visit(F&& f) const {
    switch (type_) {
      case arg_type::signed_int: return f(value_.i);
      case arg_type::unsigned_int: return f(value_.u);
      case arg_type::boolean: return f(value_.b);
      case arg_type::character: return f(value_.c);
      case arg_type::floating: return f(value_.d);
      case arg_type::string: return f(value_.s);
      case arg_type::pointer: return f(value_.p);
      case arg_type::custom: return f(value_.custom);
      case arg_type::none: break;
    }
    fail("argument not found");
  }

 private:
  union storage {
    std::int64_t i;
    std::uint64_t u;
    bool b;
    char c;
    double d;
    std::string_view s;
    const void* p;
    detail::custom_value custom;
    constexpr storage() : i(0) {}
  };

  arg_type type_;
  storage value_;
};

/// Non-owning view of an argument array.
struct format_args {
  const format_arg* data;
  int size;
};

/// Where formatters write, and what else was passed to the call.
class format_context {
 public:
  format_context(buffer& out, format_args args) : out_(out), args_(args) {}
  buffer& out() { return out_; }
  format_arg arg(int id) const {
    return id < args_.size ? args_.data[id] : format_arg();
  }

 private:
  buffer& out_;
  format_args args_;
};

}  // namespace strf

#endif  // STRF_ARGS_H
