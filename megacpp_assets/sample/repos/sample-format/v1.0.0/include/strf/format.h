// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef STRF_FORMAT_H
#define STRF_FORMAT_H

#include <cstdio>
#include <string>

#include "strf/args.h"

namespace strf {

namespace detail {

/// Formats a built-in value; custom ones never get here.
void write_arg(format_context& ctx, const format_arg& arg, const format_spec& spec);

/// Decayed arguments: arrays of char become pointers and thereby strings.
template <typename T>
using arg_t = std::decay_t<const T&>;

struct compiled_string {};

}  // namespace detail

/// Built-in types share one formatter, usable as a base for custom ones.
template <typename T>
struct formatter<T, std::enable_if_t<detail::is_builtin_v<T>>> {
  constexpr void parse(parse_context& ctx) {
    spec_ = parse_spec(ctx);
    detail::check_spec(detail::classify<T>(), spec_);
  }

  void format(const T& v, format_context& ctx) const {
    detail::write_arg(ctx, format_arg::from(v), spec_);
  }

  /// Inside containers, text shows up quoted unless asked otherwise.
  constexpr void set_debug() {
    constexpr arg_type type = detail::classify<T>();
    if (spec_.type == 0 && (type == arg_type::string || type == arg_type::character))
      spec_.type = '?';
  }

 private:
  format_spec spec_;
};

/// Enumerations print as their underlying value unless specialised.
template <typename E>
struct formatter<E, std::enable_if_t<std::is_enum_v<E>>>
    : formatter<std::underlying_type_t<E>> {
  void format(E v, format_context& ctx) const {
    using U = std::underlying_type_t<E>;
    formatter<U>::format(static_cast<U>(v), ctx);
  }
};

void vformat_to(buffer& out, std::string_view fmt, format_args args);
std::string vformat(std::string_view fmt, format_args args);
void vprint(std::FILE* file, std::string_view fmt, format_args args);

namespace detail {

/// Runs `f` with the erased arguments while they are alive.
template <typename F, typename... Ts>
decltype(auto) with_args(F&& f, const Ts&... values) {
  const format_arg array[sizeof...(Ts) + 1] = {format_arg::from<arg_t<Ts>>(values)...};
  return f(format_args{array, static_cast<int>(sizeof...(Ts))});
}

/// Walks a format string during constant evaluation.
template <typename... Ts>
struct checker {
  constexpr void on_text(const char*, const char*) {}

  constexpr void on_field(int id, parse_context& ctx) {
    int index = 0;
    ((index++ == id ? parse_one<Ts>(ctx) : void()), ...);
  }

  template <typename T>
  static constexpr void parse_one(parse_context& ctx) {
    formatter<T> f{};
    f.parse(ctx);
  }
};

template <typename... Ts>
constexpr bool check_format_string(std::string_view text) {
  parse_context ctx(text, static_cast<int>(sizeof...(Ts)));
  checker<Ts...> handler;
  parse_format_string(ctx, handler);
  return true;
}

template <typename S, typename... Ts>
constexpr std::string_view to_format_string(const S& s) {
  if constexpr (std::is_base_of_v<compiled_string, S>)
    static_assert(check_format_string<Ts...>(S::text()), "bad format string");
  return std::string_view(s);
}

}  // namespace detail

/// A format string literal that is verified at compile time.
#define STRF_STRING(literal)                                            \
  [] {                                                                  \
    struct checked : ::strf::detail::compiled_string {                  \
      static constexpr std::string_view text() { return literal; }      \
      constexpr operator std::string_view() const { return text(); }    \
    };                                                                  \
    return checked{};                                                   \
  }()

template <typename S, typename... Ts>
void format_to(buffer& out, const S& fmt, const Ts&... values) {
  const auto text = detail::to_format_string<S, detail::arg_t<Ts>...>(fmt);
  detail::with_args([&](format_args args) { vformat_to(out, text, args); }, values...);
}

template <typename S, typename... Ts>
std::string format(const S& fmt, const Ts&... values) {
  const auto text = detail::to_format_string<S, detail::arg_t<Ts>...>(fmt);
  return detail::with_args([&](format_args args) { return vformat(text, args); },
                           values...);
}

template <typename S, typename... Ts>
void print(std::FILE* file, const S& fmt, const Ts&... values) {
  const auto text = detail::to_format_string<S, detail::arg_t<Ts>...>(fmt);
  detail::with_args([&](format_args args) { vprint(file, text, args); }, values...);
}

template <typename S, typename... Ts,
          typename = std::enable_if_t<!std::is_convertible_v<S, std::FILE*>>>
void print(const S& fmt, const Ts&... values) {
  print(stdout, fmt, values...);
}

}  // namespace strf

#endif  // STRF_FORMAT_H
